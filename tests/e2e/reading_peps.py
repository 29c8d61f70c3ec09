"""What a Check must say of the PEP data, worked out from the file alone: no part of the product is asked."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parents[2] / "server/discreet/cli/demo_data/peps-index.jsonl.gz"
# docs/data.md: settled statuses are public, without an end of the assessment; the rest is for drafts, for two years.
SETTLED = {
    "Final", "Active", "Accepted", "Rejected", "Withdrawn", "Withdrawal", "Superseded", "Replaced", "Complete",
    "Finished", "Approved", "April Fool!",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Expected:
    """A verdict and a reason."""

    verdict: str
    reason: str


def rows() -> list[dict[str, Any]]:
    """The file as it is."""
    with gzip.open(DATA, "rt", encoding="utf-8") as stream:
        return [json.loads(line) for line in stream]


def expected(
    versions: list[dict[str, Any]], version: int, digest: str, scopes: Iterable[str], now: datetime
) -> Expected:
    """What RETRIEVE says of a version of a document whose versions are given, in order, to a reader with these scopes.

    An empty list: the document is unknown. A version that does not exist is judged by the scope of the current one,
    and to who may read the current one a version out of scope looks like one that does not exist.
    """
    if not versions or not (_in_scope(versions[-1], scopes) or any(_named(versions, version, scopes))):
        return Expected("WITHHOLD", "NOT_AVAILABLE")
    current = versions[-1]
    if not any(_named(versions, version, scopes)):
        return Expected("WITHHOLD", "VERSION_MISMATCH")
    judged = next(row for row in versions if row["version"] == version)
    if judged is not current:
        return Expected("WITHHOLD", "SUPERSEDED")
    if judged["content_sha256"] != digest:
        return Expected("WITHHOLD", "CONTENT_MISMATCH")
    if judged["status"] not in SETTLED and _age_days(judged, now) >= 730:
        return Expected("WITHHOLD", "ASSESSMENT_EXPIRED")
    return Expected("ALLOW", "NONE")


def _named(versions: list[dict[str, Any]], version: int, scopes: Iterable[str]) -> list[bool]:
    """For each row of that version, whether it is in scope."""
    return [_in_scope(row, scopes) for row in versions if row["version"] == version]


def _in_scope(row: dict[str, Any], scopes: Iterable[str]) -> bool:
    return ("public" if row["status"] in SETTLED else "peps-drafts") in {"public", *scopes}


def _age_days(row: dict[str, Any], now: datetime) -> float:
    return (now.astimezone(UTC) - datetime.fromisoformat(row["committed_at"])).total_seconds() / 86_400
