"""Stopping: health first, calls under way finished, exit code 0, nothing lost."""

from __future__ import annotations

import asyncio
import io
import signal
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped] # ships no types

from discreet.server.app import Server
from discreet.server.identity.access import METHODS
from discreet.server.logs import make_log
from discreet.server.stores import open_store
from discreet.server.wire.health import SERVICES
from tests.server.faults import FaultyStore
from tests.server.support import (
    Lines,
    PolicyRepo,
    Running,
    Spawned,
    audit_rows,
    check,
    config_of,
    document,
    eventually,
    spawn,
    verdicts,
)
from tests.server.watching import health


def watched(lines: Lines) -> grpc.aio.UnaryStreamCall[bytes, bytes]:
    """A watch of the server's health."""
    call: grpc.aio.UnaryStreamMultiCallable[bytes, bytes]
    call = lines.agent.channel.unary_stream("/grpc.health.v1.Health/Watch")
    return call(b"")


async def test_health_says_not_serving_first_and_calls_under_way_finish(place: Path, repo: PolicyRepo) -> None:
    """RPC-09: NOT_SERVING while still answering; then no new calls; those under way are answered and on record."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    server = Server(config_of(place, repo.path, drain_s=0.3), make_log("json", "info", io.StringIO()), store=store)
    await server.start()
    lines = Lines(server.listeners.sockets)
    await lines.collector.put(document())
    assert await health(lines) == health_pb2.HealthCheckResponse.SERVING
    gate = store.held["record"] = asyncio.Event()
    under_way = [asyncio.create_task(lines.agent.check(check())) for _ in range(5)]
    await eventually(lambda: _true(store.calls.count("record") >= 5))
    stopping = asyncio.create_task(server.stop())

    async def not_serving() -> bool:
        return bool(await health(lines) == health_pb2.HealthCheckResponse.NOT_SERVING)

    await eventually(not_serving)
    gate.set()
    for answer in await asyncio.gather(*under_way):
        assert verdicts(answer) == [("ALLOW", "NONE")]
    await stopping
    await lines.close()
    assert sum(len(row.decisions) for row in audit_rows(str(place / "discreet.db"))) == 5


async def _true(value: bool) -> bool:
    return value


async def test_a_stop_under_load_loses_no_answer_and_no_row(place: Path, repo: PolicyRepo) -> None:
    """RPC-09, AUD-01: SIGTERM under load: every answer that arrived is on record, the exit code is 0."""
    server = await spawn(place, repo.path, drain_s=0.2)
    await server.lines.collector.put(document())
    got: list[str] = []
    stopping = asyncio.Event()

    async def load() -> None:
        while not stopping.is_set():
            try:
                got.append((await server.lines.agent.check(check())).results[0].decision_id)
            except grpc.aio.AioRpcError:
                return

    loads = [asyncio.create_task(load()) for _ in range(8)]
    await eventually(lambda: _true(len(got) > 50))
    server.process.send_signal(signal.SIGTERM)
    code = await asyncio.wait_for(server.process.wait(), 20)
    stopping.set()
    await asyncio.gather(*loads)
    await server.lines.close()
    assert code == 0
    rows = {one.decision_id for row in audit_rows(str(place / "discreet.db")) for one in row.decisions}
    assert set(got) <= rows


async def test_a_second_signal_ends_the_waiting(spawned: Spawned) -> None:
    """RPC-09: with a call that never ends, the first signal waits for it and the second does not; both end with 0."""
    watch = watched(spawned.lines)
    await watch.read()
    spawned.process.send_signal(signal.SIGTERM)
    await asyncio.sleep(0)
    spawned.process.send_signal(signal.SIGTERM)
    assert await asyncio.wait_for(spawned.process.wait(), 10) == 0


async def test_a_watch_of_health_does_not_hold_up_the_drain(spawned: Spawned) -> None:
    """RPC-09: a watcher sees NOT_SERVING and is then let go; the grace is not waited out for it."""
    watch = watched(spawned.lines)
    first = health_pb2.HealthCheckResponse.FromString(await watch.read())
    assert first.status == health_pb2.HealthCheckResponse.SERVING
    spawned.process.send_signal(signal.SIGTERM)
    second = health_pb2.HealthCheckResponse.FromString(await watch.read())
    assert second.status == health_pb2.HealthCheckResponse.NOT_SERVING
    assert await asyncio.wait_for(spawned.process.wait(), 8) == 0


async def test_health_is_said_for_each_service(running: Running) -> None:
    """A watcher of one service is told of that one, whichever it is."""
    services = {name.split("/")[1] for name in METHODS if name.startswith("/discreet.")}
    assert services == {name for name in SERVICES if name}
    for service in services:
        assert await health(running.lines, service) == health_pb2.HealthCheckResponse.SERVING


async def test_an_interrupt_stops_it_too(spawned: Spawned) -> None:
    """Ctrl-C is SIGINT."""
    spawned.process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(spawned.process.wait(), 10) == 0
