"""The bytes that a world's decision gives: for the reader, and for the auditor. It judges nothing itself."""

from __future__ import annotations

from discreet.policy.codec import CallRecord, Reply, audit_row, encode_check
from discreet.policy.decision import Decided
from discreet.policy.words import AuditAct
from discreet.v1 import audit_pb2, disclosure_pb2
from tests.policy.decide.world import NOW, World, token


def reply_bytes(world: World, decided: Decided | None = None) -> bytes:
    """The reply; request and decision ids are the same in every reply, so that only what was decided differs."""
    found = decided if decided is not None else world.ask()
    ids = tuple(f"decision-{i}" for i in range(len(found.results)))
    return encode_check(found, Reply(world.request, "request-1", token(), world.policy, "instance-1", ids))


def reply(world: World) -> disclosure_pb2.CheckResponse:
    """The reply as the client reads it."""
    return disclosure_pb2.CheckResponse.FromString(reply_bytes(world))


def row_bytes(world: World, decided: Decided | None = None) -> bytes:
    """The audit row, with fixed ids as above."""
    found = decided if decided is not None else world.ask()
    ids = tuple(f"decision-{i}" for i in range(len(found.results)))
    call = CallRecord(
        AuditAct.CHECK,
        world.request,
        "request-1",
        NOW,
        "instance-1",
        world.caller,
        world.policy,
        world.facts,
        token(),
        ids,
    )
    return audit_row(found, call)


def row(world: World) -> audit_pb2.AuditRow:
    """The audit row as the auditor reads it."""
    return audit_pb2.AuditRow.FromString(row_bytes(world))
