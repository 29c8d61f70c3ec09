"""A server whose clock the test moves, what is revoked on it, and holders that are asked for it. Tests nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc

from discreet.policy.facts import Micros
from discreet.policy.words import Role
from discreet.server.identity.callers import Identity
from discreet.server.stores.sqlite import SqliteStore
from discreet.v1 import index_pb2
from discreet.v1 import purge_pb2 as pb
from tests.server.support import (
    TENANT,
    Line,
    PolicyRepo,
    Running,
    commit,
    config_of,
    document,
    in_process,
    ref,
)

WAIT_S = 60
"""How long a message may take on a machine that does much else; what does not come fails the test then."""
MINUTE = 60.0
HOUR = 3_600.0
WATCH = "/discreet.v1.PurgeService/WatchPurgeOrders"
IDENTITIES = (
    *(Identity(role.short, role) for role in Role if role is not Role.HOLDER),
    Identity("threads", Role.HOLDER),
    Identity("vectors", Role.HOLDER, (TENANT,)),
    Identity("files", Role.HOLDER, (TENANT,)),
    Identity("stranger", Role.HOLDER, ("zeta",)),
)
SEGMENTS, DOCUMENTS = pb.HOLDER_KIND_SEGMENT_STORE, pb.HOLDER_KIND_DOCUMENT_STORE
Outcome = pb.PurgeOutcome
RETENTION = """apiVersion: discreet/v1
kind: RetentionPolicy
name: retention
recheck-after: 1h
purge-within: 1d
"""


class MovedClock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1_800_000_000_000_000

    def wall(self) -> Micros:
        """See the port, here and below."""
        return Micros(self.now)

    def monotonic_ns(self) -> int:
        return self.now * 1_000

    def move(self, seconds: float) -> None:
        """Later by so much."""
        self.now += int(seconds * 1e6)


@dataclass(slots=True)
class Scene:
    """A server with one document that was committed, and its clock."""

    running: Running
    clock: MovedClock

    def line(self, identity: str) -> Line:
        """The line of an identity."""
        return self.running.lines[identity]

    def later(self, seconds: float) -> None:
        """Moves the clock, and lets those who wait for a time look at it."""
        self.clock.move(seconds)
        assert self.running.server.methods is not None
        self.running.server.methods.purging.tide.news()

    async def register(
        self, holder: str, kind: pb.HolderKind.ValueType = SEGMENTS, labels: Sequence[str] = ()
    ) -> pb.RegisterHolderResponse:
        """The holder registers itself."""
        asked = pb.RegisterHolderRequest(tenant=TENANT, kind=kind, source_labels=labels)
        return await registered(self.line(holder), asked)

    async def revoke(self, record_id: str = "handbook/leave", *, in_s: float = 0) -> str:
        """The order's id of a revoke of the record's only version."""
        asked = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(record_id), reason="asked to", ticket="T-1")
        if in_s:
            asked.purge_not_before.FromMicroseconds(self.clock.now + int(in_s * 1e6))
        answer = await self.line("operator").call(asked)
        assert isinstance(answer, index_pb2.RevokeRetentionResponse)
        return answer.purge_order_id

    async def ack(
        self, holder: str, order_id: str, item: int, outcome: pb.PurgeOutcome.ValueType, reason: str = ""
    ) -> tuple[str, str]:
        """The state that one answer led to, in a short word, and why it was refused."""
        answer = pb.PurgeAck(order_id=order_id, item=item, outcome=outcome, reason=reason)
        (told,) = (await self.acks(holder, answer)).outcomes
        return state_of(told.state), told.refused

    async def acks(self, holder: str, *answers: pb.PurgeAck) -> pb.AckPurgeResponse:
        """What answers led to."""
        told = await self.line(holder).call(pb.AckPurgeRequest(tenant=TENANT, acks=answers))
        assert isinstance(told, pb.AckPurgeResponse)
        return told

    async def orders(self, **filters: bool) -> list[pb.PurgeOrder]:
        """All orders, newest first."""
        told = await self.line("operator").call(pb.ListPurgeOrdersRequest(tenant=TENANT, **filters))  # type: ignore[arg-type] # the filters of each test
        assert isinstance(told, pb.ListPurgeOrdersResponse)
        return list(told.orders)

    async def items(self, order_id: str, identity: str = "operator", holder: str = "") -> list[pb.PurgeItemStatus]:
        """The items of an order."""
        asked = pb.ListPurgeItemsRequest(tenant=TENANT, order_id=order_id, holder=holder)
        told = await self.line(identity).call(asked)
        assert isinstance(told, pb.ListPurgeItemsResponse)
        return list(told.items)

    async def states(self, order_id: str) -> dict[tuple[str, int], str]:
        """The state of each item of each holder, in short words."""
        return {(one.holder, one.item.item): state_of(one.state) for one in await self.items(order_id)}

    async def status(self) -> pb.GetPurgeStatusResponse:
        """Counts over all orders."""
        told = await self.line("auditor").call(pb.GetPurgeStatusRequest(tenant=TENANT))
        assert isinstance(told, pb.GetPurgeStatusResponse)
        return told

    async def hold(self, record_id: str = "handbook/leave") -> pb.PlaceHoldResponse:
        """A legal hold on all versions of a record."""
        asked = pb.PlaceHoldRequest(tenant=TENANT, reason="asked to", ticket="T-2")
        asked.record.record_id = record_id
        told = await self.line("operator").call(asked)
        assert isinstance(told, pb.PlaceHoldResponse)
        return told

    async def lift(self, hold_id: str) -> None:
        """Ends a hold."""
        asked = pb.LiftHoldRequest(tenant=TENANT, hold_id=hold_id, reason="over", ticket="T-2")
        await self.line("operator").call(asked)

    def watch(self, holder: str, resume_token: str = "") -> Watch:
        """A stream of the holder's items."""
        return Watch(self.line(holder), resume_token)


class Watch:
    """A stream of items, read message by message."""

    def __init__(self, line: Line, resume_token: str = "") -> None:
        call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = line.channel.unary_stream(WATCH)
        asked = pb.WatchPurgeOrdersRequest(tenant=TENANT, resume_token=resume_token)
        self._stream = call(asked.SerializeToString())

    async def next(self) -> pb.WatchPurgeOrdersResponse:
        """The next message; TimeoutError where none comes."""
        async with asyncio.timeout(WAIT_S):
            data = await self._stream.read()
        assert isinstance(data, bytes), "the stream has ended"
        return pb.WatchPurgeOrdersResponse.FromString(data)

    async def ended(self) -> grpc.StatusCode:
        """How the stream ended, once it has."""
        async with asyncio.timeout(WAIT_S):
            return await self._stream.code()

    def close(self) -> None:
        """Leaves."""
        self._stream.cancel()


async def registered(line: Line, asked: pb.RegisterHolderRequest) -> pb.RegisterHolderResponse:
    """The answer to a registration."""
    answer = await line.call(asked)
    assert isinstance(answer, pb.RegisterHolderResponse)
    return answer


def state_of(state: pb.PurgeState.ValueType) -> str:
    """The short word of a state; empty: none."""
    return pb.PurgeState.Name(state).removeprefix("PURGE_STATE_") if state else ""


def keys(message: pb.WatchPurgeOrdersResponse) -> list[tuple[str, int]]:
    """Order and item of what is to be deleted."""
    return [(one.order_id, one.item) for one in message.items]


@asynccontextmanager
async def scene(place: Path, repo: PolicyRepo) -> AsyncIterator[Scene]:
    """A server on SQLite with a clock of its own, and `handbook/leave` committed in one segment."""
    clock = MovedClock()
    store = SqliteStore(place / "discreet.db", clock)
    config = config_of(place, repo.path, identities=IDENTITIES, store_timeout_s=WAIT_S)
    async with in_process(config, store=store, clock=clock) as running:
        await running.lines.collector.put(document(), document("handbook/other"))
        await running.lines.agent.commit(commit())
        yield Scene(running, clock)
