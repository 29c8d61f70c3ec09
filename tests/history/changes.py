"""The changes that clients of a history make: what is asked, and what it forbids or allows again. Must do no I/O."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from google.protobuf.message import Message

from discreet.v1 import index_pb2
from tests.history.events import NEVER, Change
from tests.history.world import (
    DESK,
    FOREVER_S,
    SUCCESSOR,
    TENANT,
    VERSION,
    record_of,
    scopes_of,
)

SOON_US = 2_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """A change to ask for, as whom, and what it does. `undo`: how to end it, once it is known what it made."""

    identity: str
    request: Message
    change: Change
    undo: str = ""


def now_us() -> int:
    """The wall clock, in microseconds."""
    return time.time_ns() // 1_000


def _record(request: Message, ref: str, mark: str) -> Message:
    """The request with its tenant, record and reason."""
    fields = {"tenant": TENANT, "reason": mark}
    for name, value in fields.items():
        setattr(request, name, value)
    named = getattr(request, "record")  # noqa: B009 - the messages share fields, not a type
    named.record_id, named.version = record_of(ref), VERSION
    return request


def suspend(ref: str, mark: str, chance: random.Random) -> Asked:
    """Suspends a record, sometimes for a short time only."""
    request = index_pb2.SuspendRequest()
    until = NEVER
    if chance.random() < 0.2:
        until = now_us() + SOON_US
        request.until.FromMicroseconds(until)
    return Asked(
        "operator",
        _record(request, ref, mark),
        Change("suspended", (f"ref:{ref}",), True, mark, until_us=until),
        "resume",
    )


def resume(ref: str, mark: str) -> Asked:
    """Ends a suspension."""
    request = _record(index_pb2.ResumeRequest(), ref, mark)
    return Asked("operator", request, Change("suspended", (f"ref:{ref}",), False, mark))


def set_scopes(ref: str, mark: str, *, away: bool) -> Asked:
    """Takes all scopes from a record, or gives it its own back."""
    request = index_pb2.SetScopesRequest(scopes=[] if away else scopes_of(record_of(ref)))
    return Asked("operator", _record(request, ref, mark), Change("scopes", (f"ref:{ref}",), away, mark), "set_scopes")


def assess(ref: str, mark: str, *, ended: bool) -> Asked:
    """Ends a record's assessment, or renews it."""
    request = index_pb2.RecordAssessmentRequest()
    request.expires_at.FromSeconds(1_000_000_000 if ended else FOREVER_S)
    return Asked("operator", _record(request, ref, mark), Change("assessed", (f"ref:{ref}",), ended, mark), "assess")


def reach(ref: str, mark: str, *, lost: bool) -> Asked:
    """Says that a document cannot be reached, or that it can."""
    request = index_pb2.MarkUnreachableRequest(reachable=not lost)
    return Asked("operator", _record(request, ref, mark), Change("reached", (f"ref:{ref}",), lost, mark), "reach")


def supersede(ref: str, mark: str, *, named: bool) -> Asked:
    """Names a successor, or takes the name away."""
    request = index_pb2.SupersedeRequest(clear=not named)
    if named:
        request.successor.record_id, request.successor.version = SUCCESSOR, VERSION
    return Asked(
        "operator", _record(request, ref, mark), Change("superseded", (f"ref:{ref}",), named, mark), "supersede"
    )


def withdraw(principal: str, mark: str) -> Asked:
    """Takes the desk's scope from a principal."""
    request = index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id=principal, scope=DESK, reason=mark)
    return Asked("operator", request, Change("granted", (f"desk:{principal}",), True, mark), "grant")


def grant(principal: str, mark: str) -> Asked:
    """Gives it back."""
    request = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id=principal, scope=DESK, reason=mark)
    return Asked("operator", request, Change("granted", (f"desk:{principal}",), False, mark))


def revoke(ref: str, mark: str, *, later: bool) -> Asked:
    """Revokes a version for good; `later`: its purge is due only after a while."""
    request = _record(index_pb2.RevokeRetentionRequest(ticket="T-1"), ref, mark)
    assert isinstance(request, index_pb2.RevokeRetentionRequest)
    due = now_us() + SOON_US if later else 0
    if later:
        request.purge_not_before.FromMicroseconds(due)
    return Asked("operator", request, Change("revoked", (f"ref:{ref}",), True, mark, due_us=due))


def undone(kind: str, ref: str, principal: str, mark: str) -> Asked:
    """What ends a change that blocks a record, or a principal."""
    match kind:
        case "resume":
            return resume(ref, mark)
        case "set_scopes":
            return set_scopes(ref, mark, away=False)
        case "assess":
            return assess(ref, mark, ended=False)
        case "reach":
            return reach(ref, mark, lost=False)
        case "supersede":
            return supersede(ref, mark, named=False)
        case "grant":
            return grant(principal, mark)
        case _:
            raise ValueError(f"nothing ends {kind}")
