"""The changes that clients of a history make: what is asked, and what it forbids or allows again. Must do no I/O."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from google.protobuf.message import Message

from discreet.v1 import authority_pb2, index_pb2, purge_pb2
from tests.history.events import NEVER, Change
from tests.history.world import (
    DESK,
    FOREVER_S,
    SUCCESSOR,
    TENANT,
    VERSION,
    block_of,
    document,
    label_of,
    record_of,
    records_of,
    ref_of,
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


def revoke(extent: index_pb2.RevokeRetentionRequest, keys: tuple[str, ...], mark: str, *, later: bool) -> Asked:
    """Revokes an extent for good; `later`: its purge is due only after a while."""
    extent.tenant, extent.reason, extent.ticket = TENANT, mark, "T-1"
    due = now_us() + SOON_US if later else 0
    if later:
        extent.purge_not_before.FromMicroseconds(due)
    return Asked("operator", extent, Change("revoked", keys, True, mark, due_us=due))


def one_version(ref: str) -> tuple[index_pb2.RevokeRetentionRequest, tuple[str, ...]]:
    """The extent of one version, and the keys that it covers."""
    request = index_pb2.RevokeRetentionRequest()
    request.record.record_id, request.record.version = record_of(ref), VERSION
    return request, (f"ref:{ref}",)


def all_versions(ref: str) -> tuple[index_pb2.RevokeRetentionRequest, tuple[str, ...]]:
    """All versions of a record."""
    return index_pb2.RevokeRetentionRequest(all_versions_of=record_of(ref)), (f"ref:{ref}",)


def several(refs: Sequence[str]) -> tuple[index_pb2.RevokeRetentionRequest, tuple[str, ...]]:
    """A list of versions."""
    request = index_pb2.RevokeRetentionRequest()
    for ref in dict.fromkeys(refs):
        request.records.records.add(record_id=record_of(ref), version=VERSION)
    return request, tuple(f"ref:{ref}" for ref in dict.fromkeys(refs))


def by_query(ref: str) -> tuple[index_pb2.RevokeRetentionRequest, tuple[str, ...]]:
    """All records of its block whose ids begin as this one's does."""
    prefix = record_of(ref)[:-1]
    request = index_pb2.RevokeRetentionRequest()
    request.query.record_id_prefix = prefix
    block = records_of(block_of(ref))
    return request, tuple(f"ref:{ref_of(record_id)}" for record_id in block if record_id.startswith(prefix))


def whole_source(ref: str) -> tuple[index_pb2.RevokeRetentionRequest, tuple[str, ...]]:
    """A source, as a standing fact."""
    label = label_of(record_of(ref))
    return index_pb2.RevokeRetentionRequest(source_label=label), (f"label:{label}",)


def freeze(label: str, mark: str, for_us: int) -> Asked:
    """Freezes a source, or with an empty label the tenant."""
    until = now_us() + for_us
    request = authority_pb2.FreezeRequest(tenant=TENANT, source_label=label, reason=mark)
    request.until.FromMicroseconds(until)
    key = f"label:{label}" if label else "tenant"
    return Asked("operator", request, Change("frozen", (key,), True, mark, until_us=until), "unfreeze")


def unfreeze(freeze_id: str, key: str, mark: str) -> Asked:
    """Ends a freeze."""
    request = authority_pb2.UnfreezeRequest(tenant=TENANT, freeze_id=freeze_id, reason=mark)
    return Asked("operator", request, Change("frozen", (key,), False, mark, freeze_id))


def hold(key: str, mark: str) -> Asked:
    """Places a legal hold on a version, or on a source."""
    request = purge_pb2.PlaceHoldRequest(tenant=TENANT, reason=mark, ticket=mark)
    kind, _, name = key.partition(":")
    if kind == "label":
        request.source_label = name
    else:
        request.record.record_id, request.record.version = record_of(name), VERSION
    return Asked("operator", request, Change("held", (key,), True, mark), "lift")


def lift(hold_id: str, key: str, mark: str) -> Asked:
    """Lifts a hold."""
    request = purge_pb2.LiftHoldRequest(tenant=TENANT, hold_id=hold_id, reason=mark, ticket=mark)
    return Asked("operator", request, Change("held", (key,), False, mark, hold_id))


def put_back(ref: str, mark: str) -> Asked:
    """Registers a record again as it was; where it was revoked it is refused, else nothing changes."""
    given = [document(record_of(ref))]
    request = index_pb2.PutDocumentsRequest(tenant=TENANT, documents=given)
    return Asked("collector", request, Change("put", (f"ref:{ref}",), False, mark))


class Block(NamedTuple):
    """A change that forbids, to be ended later. `instance`: the id that its answer gave it, where it has one."""

    undo: str
    ref: str
    key: str
    instance: str = ""


def undone(block: Block, principal: str, mark: str) -> Asked:
    """What ends a change that blocks a record, a source or a principal."""
    ref = block.ref
    match block.undo:
        case "unfreeze":
            return unfreeze(block.instance, block.key, mark)
        case "lift":
            return lift(block.instance, block.key, mark)
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
            raise ValueError(f"nothing ends {block.undo}")
