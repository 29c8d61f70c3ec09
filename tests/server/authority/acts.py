"""What operators and auditors say in these tests, each in one call, and what can be read of it. Knows no server."""

from __future__ import annotations

import time
from typing import Any, TypeVar

from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.facts import Standing
from discreet.server.ports import Store
from discreet.v1 import authority_pb2, common_pb2, index_pb2, purge_pb2
from tests.server.support import TENANT, Line, Running, check, verdicts

M = TypeVar("M", bound=Message)
ALLOWED = [("ALLOW", "NONE")]
PURGED = [("PURGE", "RETENTION_REVOKED")]
FAR = Timestamp(seconds=4_000_000_000)
SAID: dict[str, Any] = {"tenant": TENANT, "reason": "asked to"}
TICKETED: dict[str, Any] = {**SAID, "ticket": "T-1"}


def ahead(seconds: float) -> Timestamp:
    """A time so far ahead of now."""
    found = Timestamp()
    found.FromMicroseconds(time.time_ns() // 1_000 + int(seconds * 1_000_000))
    return found


async def answer(line: Line, request: Message, kind: type[M]) -> M:
    """The answer to a request, which is of a kind."""
    found = await line.call(request)
    assert isinstance(found, kind)
    return found


async def revoke(line: Line, **fields: Any) -> index_pb2.RevokeRetentionResponse:
    """RevokeRetention."""
    return await answer(
        line, index_pb2.RevokeRetentionRequest(**{**TICKETED, **fields}), index_pb2.RevokeRetentionResponse
    )


async def freeze(line: Line, **fields: Any) -> authority_pb2.FreezeResponse:
    """Freeze; for an hour unless another end is given."""
    request = authority_pb2.FreezeRequest(**{**SAID, "until": ahead(3_600), **fields})
    return await answer(line, request, authority_pb2.FreezeResponse)


async def unfreeze(line: Line, freeze_id: str, tenant: str = TENANT) -> authority_pb2.UnfreezeResponse:
    """Unfreeze."""
    request = authority_pb2.UnfreezeRequest(tenant=tenant, freeze_id=freeze_id, reason="over")
    return await answer(line, request, authority_pb2.UnfreezeResponse)


async def hold(line: Line, **fields: Any) -> purge_pb2.PlaceHoldResponse:
    """PlaceHold."""
    return await answer(line, purge_pb2.PlaceHoldRequest(**{**TICKETED, **fields}), purge_pb2.PlaceHoldResponse)


async def lift_hold(line: Line, hold_id: str) -> purge_pb2.LiftHoldResponse:
    """LiftHold."""
    return await answer(line, purge_pb2.LiftHoldRequest(hold_id=hold_id, **TICKETED), purge_pb2.LiftHoldResponse)


async def tombstones(line: Line, **fields: Any) -> list[authority_pb2.Tombstone]:
    """All tombstones that fit."""
    request = authority_pb2.ListTombstonesRequest(tenant=TENANT, **fields)
    return list((await answer(line, request, authority_pb2.ListTombstonesResponse)).tombstones)


async def lift(line: Line, tombstone_id: str) -> authority_pb2.LiftTombstoneResponse:
    """LiftTombstone."""
    request = authority_pb2.LiftTombstoneRequest(tombstone_id=tombstone_id, **TICKETED)
    return await answer(line, request, authority_pb2.LiftTombstoneResponse)


async def approvals(line: Line, *, settled: bool = False) -> list[authority_pb2.Approval]:
    """The first page of approvals."""
    request = authority_pb2.ListApprovalsRequest(tenant=TENANT, settled=settled)
    return list((await answer(line, request, authority_pb2.ListApprovalsResponse)).approvals)


async def standing(store: Store) -> Standing:
    """What stands for the tests' tenant."""
    return await store.look(lambda look: look.standing(TENANT))


async def seen(server: Running, *ledger_ids: str) -> list[list[tuple[str, str]]]:
    """What an agent reads of the document at RETRIEVE, at PUBLISH, and at REPLAY of each entry."""
    asked = [check(moment=common_pb2.MOMENT_RETRIEVE), check(), *(check(ledger_ids=[one]) for one in ledger_ids)]
    return [verdicts(await server.lines.agent.check(one)) for one in asked]
