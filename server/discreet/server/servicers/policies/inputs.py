"""The fields of PolicyService's requests, checked. Every problem names the field's path, never the value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from discreet.policy import idents
from discreet.policy.codec import Malformed
from discreet.server.calls import Call
from discreet.server.errors import Denied
from discreet.server.policies.errors import SourceRefused
from discreet.server.policies.origin import without_credentials
from discreet.server.policies.tree import DEPTH_MAX, FILE_BYTES_MAX, FILES_MAX, SUFFIXES, safe_name
from discreet.server.ports_policy import Origin
from discreet.server.servicers import fields
from discreet.v1 import policy_pb2 as pb

FILES_BYTES_MAX: Final = 3 * 1024 * 1024
PATH_BYTES_MAX: Final = 1_024
NUMBER_MAX: Final = (1 << 63) - 2
PAGE_DEFAULT, PAGE_MAX = 50, 200

_COMMIT = re.compile(r"[0-9a-f]{40}", re.ASCII)
_PINNED = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}", re.ASCII)
_OF_A_COMMIT: Final = ("author", "subject", "committed_at")


def require_all_tenants(call: Call) -> None:
    """Raises Denied where the caller is entitled to some tenants alone."""
    if call.caller.tenants is not None:
        raise Denied(f"{call.name}: a policy holds for every tenant; it is for identities that are entitled to all")


def files(given: Sequence[pb.PolicyFile]) -> dict[str, bytes]:
    """The files of a set by path: as many, as large and as named as a commit that is followed may hold."""
    fields.count("files", len(given), 1, FILES_MAX)
    for place, file in enumerate(given):
        _check_path(file.path, f"files[{place}].path")
        if len(file.content) > FILE_BYTES_MAX:
            raise Malformed(f"files[{place}].content", "is too large", f"at most {FILE_BYTES_MAX} bytes a file")
    fields.distinct("files", (file.path for file in given))
    paths = {file.path for file in given}
    for place, file in enumerate(given):
        if paths.intersection(_above(file.path)):
            raise Malformed(f"files[{place}].path", "lies below another file", "a path is a file or a directory")
    if sum(len(file.content) for file in given) > FILES_BYTES_MAX:
        raise Malformed(
            "files", "are too large together", f"at most {FILES_BYTES_MAX} bytes; let a server follow the ref"
        )
    return {file.path: file.content for file in given}


def _check_path(path: str, field: str) -> None:
    fields.check(idents.text_problem(path, PATH_BYTES_MAX), field)
    parts = path.split("/")
    try:
        for part in parts:
            safe_name("", part.encode())
    except SourceRefused:
        raise Malformed(field, "has an empty part, a dot segment, a backslash or an odd space") from None
    if any(part.startswith(".") for part in parts):
        raise Malformed(field, "has a hidden part", "leave hidden files out: they are no part of a set")
    if len(parts) - 1 > DEPTH_MAX:
        raise Malformed(field, f"is nested more than {DEPTH_MAX} directories deep")
    if not path.lower().endswith(SUFFIXES):
        raise Malformed(field, "is no YAML file", "send the policy files and their tests alone")


def _above(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def commit(text: str) -> str:
    """A commit id, or nothing."""
    if text and not _COMMIT.fullmatch(text):
        raise Malformed("commit", "must be 40 lower-case hex digits", "or empty for files of no commit")
    return text


def pinned(text: str) -> str:
    """What a pin names, or nothing for every pin."""
    if text and not _PINNED.fullmatch(text):
        raise Malformed("pinned", "must be a commit or a digest in lower-case hex digits", "or empty for every pin")
    return text


def origin(call: Call, request: pb.PublishRevisionRequest) -> Origin:
    """Where the files come from, with the caller as their publisher."""
    given = request.origin
    if given.publisher:
        raise Malformed("origin.publisher", "is set", "leave it out: it is the caller's identity")
    texts = {
        name: fields.optional_text(getattr(given, name), f"origin.{name}", fields.TEXT_BYTES_MAX)
        for name in ("source", "ref", "author", "subject")
    }
    committed_at = fields.optional_time(given, "committed_at", "origin.committed_at")
    for name, value in (*texts.items(), ("committed_at", committed_at)):
        if name in _OF_A_COMMIT and value and not request.commit:
            raise Malformed(f"origin.{name}", "is set without a commit", "name the commit, or leave it out")
    source = without_credentials(texts["source"])
    return Origin(call.caller.name, source, texts["ref"], texts["author"], texts["subject"], committed_at)


def number(given: int, field: str, *, required: bool = False) -> int:
    """The number of a revision, or 0."""
    if required and not given:
        raise Malformed(field, "is missing", "name a revision by its number")
    if given > NUMBER_MAX:
        raise Malformed(field, "is too large", "numbers of revisions count from 1")
    return given


def page_size(given: int) -> int:
    """How many revisions a page holds."""
    if given > PAGE_MAX:
        raise Malformed("page_size", "is too large", f"give 1 to {PAGE_MAX}, or 0 for {PAGE_DEFAULT}")
    return given or PAGE_DEFAULT
