"""Answers that came too late do not leave, whatever held them up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped]  # ships no types

from discreet.server.fleet.lease import TOO_LATE
from discreet.server.ports import StoreError
from discreet.server.stores import open_store
from discreet.v1 import disclosure_pb2, index_pb2
from tests.server.faults import FaultyStore
from tests.server.fleet.clocks import AheadClock
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    in_process,
    ref,
    verdicts,
)
from tests.server.watching import health

STREAM = "/discreet.v1.DisclosureService/CheckStream"
LEASE_S = 20.0
ALLOWED = [("ALLOW", "NONE")]
GONE = [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]


@dataclass(slots=True)
class Scene:
    """A server with one document, its store and its clock."""

    running: Running
    store: FaultyStore
    clock: AheadClock

    def hold(self, method: str) -> asyncio.Event:
        """Holds a method of the store back until the event is set."""
        gate = self.store.held[method] = asyncio.Event()
        self.store.calls.clear()
        return gate

    async def asked(self, method: str) -> None:
        """Waits until somebody waits for that method."""

        async def waits() -> bool:
            return method in self.store.calls

        await eventually(waits)

    def go_on(self, method: str) -> None:
        """Lets it go on."""
        self.store.held.pop(method).set()


@pytest.fixture
async def scene(place: Path, repo: PolicyRepo) -> AsyncIterator[Scene]:
    """A server that may hold an answer for LEASE_S."""
    config, clock = config_of(place, repo.path, lease_s=LEASE_S), AheadClock()
    store = FaultyStore(open_store(config.db))
    async with in_process(config, store=store, clock=clock) as running:
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(check())) == ALLOWED
        yield Scene(running, store, clock)


async def test_a_check_that_was_held_up_for_longer_than_the_lease_is_unavailable(scene: Scene) -> None:
    """F1: it says to ask again, and who does is answered; one that was held up for less long leaves."""
    agent = scene.running.lines.agent
    for seconds, leaves in ((LEASE_S / 2, True), (LEASE_S + 1, False)):
        scene.hold("record")
        answer = asyncio.create_task(agent.check(check()))
        await scene.asked("record")
        scene.clock.skip(seconds)
        scene.go_on("record")
        if leaves:
            assert verdicts(await answer) == ALLOWED
        else:
            with pytest.raises(grpc.aio.AioRpcError) as late:
                await answer
            assert (late.value.code(), late.value.details()) == (grpc.StatusCode.UNAVAILABLE, TOO_LATE)
    assert verdicts(await agent.check(check())) == ALLOWED
    assert scene.running.server.fleet.lease.late == 1


async def read(call: grpc.aio.StreamStreamCall[bytes, bytes]) -> bytes:
    """The next answer of a stream."""
    data = await call.read()
    assert isinstance(data, bytes)
    return data


async def test_a_frame_that_was_held_up_fails_alone(scene: Scene) -> None:
    """F1: of a stream, too, nothing leaves that is older than the lease; the stream goes on."""
    frames: asyncio.Queue[bytes] = asyncio.Queue()

    async def sent() -> AsyncIterator[bytes]:
        while data := await frames.get():
            yield data

    method: grpc.aio.StreamStreamMultiCallable[bytes, bytes]
    method = scene.running.lines.agent.channel.stream_stream(STREAM)
    call = method(sent(), timeout=60)
    scene.hold("record")
    frames.put_nowait(disclosure_pb2.CheckStreamRequest(frame_id=1, check=check()).SerializeToString())
    await scene.asked("record")
    scene.clock.skip(LEASE_S + 1)
    scene.go_on("record")
    late = disclosure_pb2.CheckStreamResponse.FromString(await read(call))
    assert (late.frame_id, late.error.code, late.error.message) == (1, 14, TOO_LATE)
    frames.put_nowait(disclosure_pb2.CheckStreamRequest(frame_id=2, check=check()).SerializeToString())
    again = disclosure_pb2.CheckStreamResponse.FromString(await read(call))
    assert (again.frame_id, verdicts(again.response)) == (2, ALLOWED)
    frames.put_nowait(b"")
    assert await call.read() == grpc.aio.EOF
    counts = scene.running.server.edge
    assert counts.running == 0
    calls = scene.running.server.metrics
    text = (await calls.text()).decode()
    assert 'discreet_calls_total{code="UNAVAILABLE",method="DisclosureService/CheckStream"} 1.0' in text
    assert 'discreet_calls_total{code="OK",method="DisclosureService/CheckStream"} 1.0' in text


async def test_a_commit_whose_answer_came_too_late_is_repeated_and_judged_anew(scene: Scene) -> None:
    """F1, B6: it stands, nobody was told so, and who asks again is told what holds now."""
    agent, operator = scene.running.lines.agent, scene.running.lines.operator
    scene.hold("record")
    answer = asyncio.create_task(agent.commit(commit()))
    await scene.asked("record")
    scene.clock.skip(LEASE_S + 1)
    scene.go_on("record")
    with pytest.raises(grpc.aio.AioRpcError) as late:
        await answer
    assert late.value.code() is grpc.StatusCode.UNAVAILABLE
    again = await agent.commit(commit())
    assert commit_verdicts(again) == ALLOWED
    assert again.results[0].order.kind == disclosure_pb2.CommitOrder.KIND_REPEATED
    await operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    assert commit_verdicts(await agent.commit(commit())) == [("WITHHOLD", "SUSPENDED")]


async def test_that_the_store_is_lost_is_said_however_long_it_took(scene: Scene) -> None:
    """A12: what rests on nothing that was read is no older for having waited."""
    scene.hold("head")
    answer = asyncio.create_task(scene.running.lines.agent.check(check()))
    await scene.asked("head")
    scene.clock.skip(LEASE_S + 1)
    scene.store.broken["head"] = StoreError("lost")
    scene.go_on("head")
    assert verdicts(await answer) == GONE


async def test_a_server_that_the_database_does_not_hear_from_decides_nothing(scene: Scene) -> None:
    """F1: once it may be taken for dead it withholds, says why, and goes on by itself when it is heard again."""
    running = scene.running
    scene.store.broken["beat"] = StoreError("lost")
    scene.clock.skip(LEASE_S + 1)
    assert verdicts(await running.lines.agent.check(check())) == GONE

    async def said() -> bool:
        problems = (await running.lines.operator.status()).problems
        return any(one.startswith("servers: the database does not hear from this one") for one in problems)

    await eventually(said)

    async def serving() -> bool:
        return bool(await health(running.lines) == health_pb2.HealthCheckResponse.SERVING)

    async def not_serving() -> bool:
        return not await serving()

    await eventually(not_serving)
    del scene.store.broken["beat"]
    assert verdicts(await running.lines.agent.check(check())) == ALLOWED

    async def well() -> bool:
        return not (await running.lines.operator.status()).problems

    await eventually(well)
    await eventually(serving)


async def test_what_a_slow_call_rests_on_is_not_acknowledged_over(scene: Scene) -> None:
    """F1: while an answer under the older state may still leave, the newer one is not acknowledged; then it is."""
    running, lease = scene.running, scene.running.server.fleet.lease
    scene.hold("record")
    answer = asyncio.create_task(running.lines.agent.check(check()))
    await scene.asked("record")
    before = running.server.methods
    assert before is not None
    old = (await running.server.store.head()).seq
    await running.lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    status = await running.lines.operator.status()
    assert lease.acknowledged().seq == old < (await running.server.store.head()).seq
    assert not answer.done()
    scene.go_on("record")
    assert verdicts(await answer) == ALLOWED
    assert lease.acknowledged().seq > old
    assert status.token
