"""Fields of the index's messages, checked.

Every problem names the field's path and what would be right, never the value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy import idents
from discreet.policy.codec import Malformed
from discreet.policy.codec.values import micros_of, stamp_of
from discreet.policy.facts import Micros, Ref
from discreet.server.calls import Call
from discreet.server.identity.access import tenant_of
from discreet.v1 import common_pb2

BATCH_MAX = 500
SCOPES_MAX = 64
REFS_MAX = 64
TEXT_BYTES_MAX = 1_024
BASIS_BYTES_MAX = 256
PAGE_DEFAULT, PAGE_MAX = 100, 1_000

__all__ = ["micros_of", "stamp_of"]


def tenant(call: Call, named: str) -> str:
    """The tenant that the request is for."""
    return tenant_of(call.caller, named)


def check(problem: str | None, path: str, hint: str = "") -> None:
    """Raises Malformed where there is a problem."""
    if problem is not None:
        raise Malformed(path, problem, hint)


def count(path: str, number: int, least: int, most: int) -> None:
    """Raises Malformed where a list is too short or too long."""
    if not least <= number <= most:
        raise Malformed(path, f"has {number} entries", f"give {least} to {most}")


def distinct(path: str, items: Iterable[object]) -> None:
    """Raises Malformed where something stands twice."""
    seen: dict[object, int] = {}
    for index, item in enumerate(items):
        first = seen.setdefault(item, index)
        if first != index:
            raise Malformed(f"{path}[{index}]", f"is the same as {path}[{first}]", "give each once")


def record_id(text: str, path: str) -> str:
    """A record id."""
    check(idents.exact_problem(text), path)
    return text


def version(text: str, path: str) -> str:
    """A record's version."""
    check(idents.text_problem(text, idents.SHORT_BYTES_MAX), path)
    return text


def digest(text: str, path: str) -> str:
    """A SHA-256 in lower-case hex digits."""
    check(idents.digest_problem(text), path, "give the SHA-256 of the content")
    return text


def label(text: str, path: str) -> str:
    """A source label."""
    check(idents.label_problem(text), path)
    return text


def principal(text: str, path: str) -> str:
    """A principal id."""
    check(idents.exact_problem(text), path)
    return text


def scope(text: str, path: str) -> str:
    """A scope."""
    check(idents.exact_problem(text), path)
    return text


def scopes(given: Sequence[str], path: str) -> tuple[str, ...]:
    """Scopes, each once; none at all means that nobody may read."""
    count(path, len(given), 0, SCOPES_MAX)
    for index, one in enumerate(given):
        scope(one, f"{path}[{index}]")
    distinct(path, given)
    return tuple(given)


def ref(holder: Message, field: str) -> Ref:
    """The record version in a message field that must be set."""
    if not holder.HasField(field):
        raise Malformed(field, "is missing", "name the record by record_id and version")
    return ref_of(getattr(holder, field), field)


def ref_of(given: common_pb2.RecordRef, path: str) -> Ref:
    """A record version."""
    return Ref(record_id(given.record_id, f"{path}.record_id"), version(given.version, f"{path}.version"))


def refs(given: Sequence[common_pb2.RecordRef], path: str) -> tuple[Ref, ...]:
    """Record versions, each once."""
    count(path, len(given), 0, REFS_MAX)
    found = tuple(ref_of(one, f"{path}[{index}]") for index, one in enumerate(given))
    distinct(path, found)
    return found


def reason(text: str, path: str = "reason") -> str:
    """Why an operator changes something; recorded."""
    check(idents.text_problem(text, TEXT_BYTES_MAX), path, "say why; it is recorded")
    return text


def optional_text(text: str, path: str, bytes_max: int) -> str:
    """A text that may be left out."""
    if text:
        check(idents.text_problem(text, bytes_max), path)
    return text


def optional_time(holder: Message, field: str, path: str | None = None) -> Micros | None:
    """A time that may be left out."""
    if not holder.HasField(field):
        return None
    stamp: Timestamp = getattr(holder, field)
    return micros_of(stamp, path or field)


def page_size(given: int) -> int:
    """How many entries a page holds."""
    if given > PAGE_MAX:
        raise Malformed("page_size", "is too large", f"give 1 to {PAGE_MAX}, or 0 for {PAGE_DEFAULT}")
    return given or PAGE_DEFAULT
