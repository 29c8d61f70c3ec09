"""Ids that the server gave, as callers give them back."""

from __future__ import annotations

from discreet.policy.idents import SHORT_BYTES_MAX, text_problem
from discreet.server.servicers import fields


def subject(text: str, path: str) -> str:
    """The id of a freeze, hold, tombstone or approval."""
    fields.check(text_problem(text, SHORT_BYTES_MAX), path, "give the id that the server gave")
    return text
