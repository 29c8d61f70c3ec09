"""Whole messages with every field set, and the ways to reach into them by path. It judges nothing itself."""

from __future__ import annotations

import re
from typing import Any

from google.protobuf.message import Message

from discreet.policy.token import Token, encode
from discreet.v1 import common_pb2, disclosure_pb2

TOKEN = encode(Token("0f" * 16, 7, 3))
DIGEST = "a" * 64
STEP = re.compile(r"(\w+)(?:\[(\w+)\])?")


def value() -> common_pb2.Value:
    """A value with every kind in it."""
    kinds = [
        common_pb2.Value(null_value=True),
        common_pb2.Value(bool_value=True),
        common_pb2.Value(int_value=-7),
        common_pb2.Value(double_value=0.5),
        common_pb2.Value(string_value="line\n\ttwo"),
    ]
    inner = common_pb2.MapValue(fields={"inner": common_pb2.Value(list_value=common_pb2.ListValue(values=kinds))})
    return common_pb2.Value(map_value=inner)


def principal() -> disclosure_pb2.Principal:
    """A principal with every field set."""
    return disclosure_pb2.Principal(id="ana", claimed_scopes=["staff", "board"], attributes={"desk": value()})


def segment(segment_id: str = "s1", record_id: str = "kb-1") -> disclosure_pb2.Segment:
    """A bound segment with every field set, twice bound."""
    binding = disclosure_pb2.Binding(
        record_id=record_id,
        version="1",
        digest=DIGEST,
        locator="p. 3",
        granted_under=TOKEN,
        receipt="k1.abc",
        claimed_label="wiki",
        claimed_basis="adjusted",
    )
    binding.claimed_as_of.FromSeconds(1_700_000_000)
    other = disclosure_pb2.Binding()
    other.CopyFrom(binding)
    other.locator = "p. 4"
    claim = disclosure_pb2.Claim(basis="adjusted", required_fields=["value", "unit"])
    claim.about.start.FromSeconds(1_600_000_000)
    claim.about.end.FromSeconds(1_700_000_000)
    return disclosure_pb2.Segment(
        id=segment_id,
        kind="answer",
        digest=DIGEST,
        grounding=common_pb2.GROUNDING_BOUND,
        bindings=[binding, other],
        claim=claim,
        parents=["L-1", "L-2"],
    )


def check() -> disclosure_pb2.CheckRequest:
    """A CheckRequest at PUBLISH with every field set that it may have there."""
    return disclosure_pb2.CheckRequest(
        tenant="marlowe",
        moment=common_pb2.MOMENT_PUBLISH,
        principal=principal(),
        session_id="session-1",
        locale="zh-Hans",
        need_numbers=True,
        need_advice=True,
        consistency=common_pb2.CONSISTENCY_AUTHORITATIVE,
        min_token=TOKEN,
        segments=[segment("s1"), segment("s2", "kb-2")],
    )


def replay() -> disclosure_pb2.CheckRequest:
    """A CheckRequest at REPLAY."""
    return disclosure_pb2.CheckRequest(
        moment=common_pb2.MOMENT_REPLAY, principal=principal(), session_id="session-1", ledger_ids=["L1", "L2"]
    )


def commit() -> disclosure_pb2.CommitRequest:
    """A CommitRequest with every field set."""
    return disclosure_pb2.CommitRequest(
        tenant="marlowe",
        principal=principal(),
        session_id="session-1",
        answer_id="answer-1",
        locale="en",
        need_numbers=True,
        need_advice=True,
        min_token=TOKEN,
        segments=[segment("s1"), segment("s2", "kb-2")],
    )


def holder(message: Message, path: str) -> tuple[Any, str]:
    """The message that holds the last step of a path, and that step: `segments[0].bindings[1].digest`."""
    *ahead, last = path.split(".")
    for step in ahead:
        message = reach(message, step)
    return message, last


def reach(message: Any, step: str) -> Any:
    """What one step of a path leads to."""
    found = STEP.fullmatch(step)
    assert found is not None
    inner = getattr(message, found[1])
    if found[2] is None:
        return inner
    return inner[int(found[2])] if found[2].isdigit() else inner[found[2]]


def put(message: Message, path: str, given: object) -> None:
    """Sets the field at a path."""
    held, last = holder(message, path)
    found = STEP.fullmatch(last)
    assert found is not None
    if found[2] is None:
        setattr(held, found[1], given)
    else:
        getattr(held, found[1])[int(found[2])] = given
