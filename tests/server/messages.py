"""Messages as the server's tests send them, and answers in short words. Knows no server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from discreet.v1 import common_pb2, disclosure_pb2, index_pb2

TENANT = "acme"


def digest(text: str) -> str:
    """The SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def document(record_id: str = "handbook/leave", version: str = "1", **changes: Any) -> index_pb2.DocumentInput:
    """A document that every principal may read, assessed for a long time."""
    given = index_pb2.DocumentInput(
        record_id=record_id,
        version=version,
        digest=digest(f"{record_id}@{version}"),
        source_label="handbook",
        scopes=["public"],
    )
    given.assessment_expires_at.FromSeconds(4_000_000_000)
    for name, value in changes.items():
        _set(given, name, value)
    return given


def _set(message: Message, name: str, value: object) -> None:
    if isinstance(value, list | tuple):
        message.ClearField(name)
        getattr(message, name).extend(value)
    elif isinstance(value, Message):
        getattr(message, name).CopyFrom(value)
    elif isinstance(value, dict):
        for key, inner in value.items():
            getattr(message, name)[key].CopyFrom(inner)
    else:
        setattr(message, name, value)


def binding(record_id: str = "handbook/leave", version: str = "1", **changes: Any) -> disclosure_pb2.Binding:
    """A binding to what `document` makes."""
    bound = disclosure_pb2.Binding(record_id=record_id, version=version, digest=digest(f"{record_id}@{version}"))
    for name, value in changes.items():
        _set(bound, name, value)
    return bound


def segment(segment_id: str = "s1", *bindings: disclosure_pb2.Binding, **changes: Any) -> disclosure_pb2.Segment:
    """A bound segment."""
    made = disclosure_pb2.Segment(
        id=segment_id,
        kind="answer",
        digest=digest(segment_id),
        grounding=common_pb2.GROUNDING_BOUND,
        bindings=bindings or (binding(),),
    )
    for name, value in changes.items():
        _set(made, name, value)
    return made


def check(
    *segments: disclosure_pb2.Segment, moment: common_pb2.Moment.ValueType = common_pb2.MOMENT_PUBLISH,
    principal: str = "ana", ledger_ids: Iterable[str] = (), **changes: Any,
) -> disclosure_pb2.CheckRequest:  # fmt: skip
    """A check for one principal; one segment where none is given and no ledger id is."""
    ids = list(ledger_ids)
    request = disclosure_pb2.CheckRequest(
        tenant=TENANT,
        moment=common_pb2.MOMENT_REPLAY if ids else moment,
        principal=disclosure_pb2.Principal(id=principal),
        session_id="session-1",
        segments=segments or (() if ids else (segment(),)),
        ledger_ids=ids,
    )
    for name, value in changes.items():
        _set(request, name, value)
    return request


def commit(
    *segments: disclosure_pb2.Segment, answer: str = "answer-1", principal: str = "ana", **changes: Any
) -> disclosure_pb2.CommitRequest:
    """A commit for one principal."""
    request = disclosure_pb2.CommitRequest(
        tenant=TENANT,
        principal=disclosure_pb2.Principal(id=principal),
        session_id="session-1",
        answer_id=answer,
        segments=segments or (segment(),),
    )
    for name, value in changes.items():
        _set(request, name, value)
    return request


def ref(record_id: str = "handbook/leave", version: str = "1") -> common_pb2.RecordRef:
    """A record version's name."""
    return common_pb2.RecordRef(record_id=record_id, version=version)


def verdicts(response: disclosure_pb2.CheckResponse) -> list[tuple[str, str]]:
    """Verdict and reason of each result, in short words."""
    return [_verdict(result) for result in response.results]


def commit_verdicts(response: disclosure_pb2.CommitResponse) -> list[tuple[str, str]]:
    """Verdict and reason of each result of a commit."""
    return [_verdict(one.result) for one in response.results]


def _verdict(result: disclosure_pb2.SegmentResult) -> tuple[str, str]:
    verdict = common_pb2.Verdict.Name(result.verdict).removeprefix("VERDICT_")
    return verdict, common_pb2.Reason.Name(result.reason).removeprefix("REASON_")
