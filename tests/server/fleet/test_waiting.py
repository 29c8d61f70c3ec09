"""WaitForServers beside other servers of the database, whose rows the tests write."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from discreet.policy.facts import Micros
from discreet.policy.token import Token, decode, encode
from discreet.server.fleet import waiting
from discreet.server.ports import StoreError
from discreet.server.ports_policy import Beat, PolicyName
from discreet.server.stores import open_store
from discreet.v1 import index_pb2, server_pb2
from tests.server.cli.command import discreet
from tests.server.faults import FaultyStore
from tests.server.support import TENANT, Line, PolicyRepo, Running, config_of, document, eventually, in_process, ref

GIVEN, RAN_OUT, PENDING = (
    server_pb2.ACKNOWLEDGEMENT_GIVEN,
    server_pb2.ACKNOWLEDGEMENT_LEASE_RAN_OUT,
    server_pb2.ACKNOWLEDGEMENT_PENDING,
)
SECOND = 1_000_000


@pytest.fixture
async def faulty(place: Path, repo: PolicyRepo) -> AsyncIterator[tuple[Running, FaultyStore]]:
    """A server whose store can be made to fail; one document is in the index."""
    config = config_of(place, repo.path)
    store = FaultyStore(open_store(config.db))
    async with in_process(config, store=store) as running:
        await running.lines.collector.put(document())
        yield running, store


@pytest.fixture
def running(faulty: tuple[Running, FaultyStore]) -> Running:
    """The server alone."""
    return faulty[0]


def other(token: Token | None = None, instance: str = "other", run: str = "r1", **more: object) -> Beat:
    """What another server tells, having acknowledged a state."""
    policy = PolicyName(token.policy_revision, "c" * 40, "d" * 64, False, Micros(0)) if token else None
    plain = Beat(instance, run, "0.1.0", 1, 30 * SECOND, token.seq if token else 0, policy, "", 0, 1_000, "")
    return plain._replace(**more)  # type: ignore[arg-type] # fields of a Beat


async def suspended(running: Running) -> Token:
    """The state after a change."""
    answer = await running.lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    assert isinstance(answer, index_pb2.SuspendResponse)
    return decode(answer.token)


async def wait(line: Line, token: Token, timeout_ms: int = 20_000) -> server_pb2.WaitForServersResponse:
    """WaitForServers."""
    answer = await line.call(server_pb2.WaitForServersRequest(token=encode(token), timeout_ms=timeout_ms))
    assert isinstance(answer, server_pb2.WaitForServersResponse)
    return answer


def found(answer: server_pb2.WaitForServersResponse) -> dict[str, int]:
    """How each server stands."""
    return {server.instance: server.acknowledgement for server in answer.servers}


async def waits(running: Running, count: int = 1) -> None:
    """Returns once so many calls wait."""

    async def so_many() -> bool:
        return running.server.fleet.waiting.waiting == count

    await eventually(so_many)


async def test_who_acknowledged_is_given_and_nobody_is_waited_for_longer(running: Running) -> None:
    """F1: the server itself, and one that acknowledged the state or a later one."""
    token = await suspended(running)
    assert await running.server.store.beat(other(token._replace(seq=token.seq + 5), lag=7_000))
    answer = await wait(running.lines.operator, token)
    assert (answer.reached, found(answer)) == (True, {"test": GIVEN, "other": GIVEN})
    assert {server.instance: server.policy_lag_ms for server in answer.servers}["other"] == 7
    (own,) = [server for server in answer.servers if server.instance == "test"]
    assert (own.live, own.lease_ms, decode(own.token) >= token) == (True, 5_000, True)


async def test_one_that_has_not_is_pending_until_it_has(running: Running) -> None:
    """F1: neither an older state nor an older policy is enough; the wait ends as soon as both are there."""
    token = await suspended(running)
    for behind in (token._replace(seq=token.seq - 1), token._replace(policy_revision=0), None):
        assert await running.server.store.beat(other(behind))
        answer = await wait(running.lines.operator, token, 120)
        assert (answer.reached, found(answer)) == (False, {"test": GIVEN, "other": PENDING})
        assert answer.waited_ms >= 120
    waiting_for = asyncio.create_task(wait(running.lines.operator, token, 20_000))
    await waits(running)
    assert await running.server.store.beat(other(token))
    assert found(await waiting_for) == {"test": GIVEN, "other": GIVEN}


async def test_one_that_starts_meanwhile_counts_too(running: Running) -> None:
    """F1: who comes up during a wait may have read an older state; what it is replaced by counts by itself."""
    token = await suspended(running)
    store = running.server.store
    assert await store.beat(other(instance="first"))
    waiting_for = asyncio.create_task(wait(running.lines.operator, token))
    await waits(running)
    assert await store.beat(other(instance="late"))
    assert await store.beat(other(token, instance="first"))

    async def seen() -> bool:
        return not waiting_for.done()

    await eventually(seen)
    answer = await wait(running.lines.operator, token, 100)
    assert found(answer) == {"test": GIVEN, "first": GIVEN, "late": PENDING}
    assert await store.beat(other(token, instance="late"))
    assert found(await waiting_for) == {"test": GIVEN, "first": GIVEN, "late": GIVEN}


async def test_a_silent_one_is_waited_for_as_long_as_its_answers_may_leave(running: Running) -> None:
    """F1: counted from the wait, not from when it was last heard of: it may have read the state just before."""
    token = await suspended(running)
    lease_ms = 1_500
    assert await running.server.store.beat(other(lease=lease_ms * 1_000))
    answer = await wait(running.lines.operator, token)
    assert (answer.reached, found(answer)) == (True, {"test": GIVEN, "other": RAN_OUT})
    assert answer.waited_ms >= lease_ms
    again = await wait(running.lines.operator, token)
    assert (again.reached, found(again)) == (True, {"test": GIVEN})


async def test_one_that_ended_is_not_waited_for(running: Running) -> None:
    """F1: before the wait it does not count, during it it counts as safe."""
    token = await suspended(running)
    store = running.server.store
    assert await store.beat(other(ended=True))
    assert found(await wait(running.lines.operator, token)) == {"test": GIVEN}
    assert await store.beat(other(run="r2"))
    waiting_for = asyncio.create_task(wait(running.lines.operator, token))
    await waits(running)
    await wait(running.lines.operator, token, 60)
    assert await store.beat(other(run="r2", ended=True))
    answer = await waiting_for
    assert (answer.reached, found(answer)) == (True, {"test": GIVEN, "other": RAN_OUT})


async def test_tokens_that_name_no_state_of_the_database_are_refused(running: Running) -> None:
    """F1: of another database, ahead of this one, none at all, or no token."""
    token = await suspended(running)
    for wrong in (token._replace(epoch="0" * 32), token._replace(seq=token.seq + 1_000),
                  token._replace(policy_revision=token.policy_revision + 1)):  # fmt: skip
        error = await running.lines.operator.refused(server_pb2.WaitForServersRequest(token=encode(wrong)))
        assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    for bad in (
        server_pb2.WaitForServersRequest(),
        server_pb2.WaitForServersRequest(token="x"),
        server_pb2.WaitForServersRequest(token=encode(token), timeout_ms=60_001),
    ):
        error = await running.lines.operator.refused(bad)
        assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert (error.details() or "").startswith(("token:", "timeout_ms:"))


async def test_agents_and_holders_may_not_wait(running: Running) -> None:
    """A13: an agent's calls are cheap and short; what every server knows is not its business."""
    token = await suspended(running)
    for identity in ("agent", "holder"):
        error = await running.lines[identity].refused(server_pb2.WaitForServersRequest(token=encode(token)))
        assert error.code() is grpc.StatusCode.PERMISSION_DENIED
    for identity in ("operator", "auditor", "collector"):
        assert (await wait(running.lines[identity], token)).reached


async def test_the_wait_ends_before_the_deadline_of_the_call(running: Running) -> None:
    """A12: whoever gives it less time gets the list, not an error."""
    token = await suspended(running)
    assert await running.server.store.beat(other())
    request = server_pb2.WaitForServersRequest(token=encode(token), timeout_ms=60_000)
    answer = await running.lines.operator.call(request, within=3)
    assert isinstance(answer, server_pb2.WaitForServersResponse)
    assert (answer.reached, found(answer)["other"]) == (False, PENDING)


async def test_a_server_that_stops_does_not_hold_its_waits(place: Path, repo: PolicyRepo) -> None:
    """RPC-09: they end with what is known, long before the grace is over."""
    config = config_of(place, repo.path, grace_s=600.0)
    async with in_process(config) as running:
        await running.lines.collector.put(document())
        token = await suspended(running)
        assert await running.server.store.beat(other())
        waiting_for = asyncio.create_task(wait(running.lines.operator, token, 60_000))
        await waits(running)
        stopping = asyncio.create_task(running.server.stop())
        answer = await asyncio.wait_for(waiting_for, 20)
        assert (answer.reached, found(answer)) == (False, {"test": GIVEN, "other": PENDING})
        await asyncio.wait_for(stopping, 20)


async def test_a_bounded_number_of_calls_waits(running: Running) -> None:
    """Limits: one more than may wait is told so at once, and all others go on waiting on one look at a time."""
    token = await suspended(running)
    store = running.server.store
    assert await store.beat(other())
    lines = [running.lines.operator, running.lines.auditor, running.lines.collector]
    all_of_them = [asyncio.create_task(wait(lines[number % len(lines)], token)) for number in range(waiting.WAITS_MAX)]
    await waits(running, waiting.WAITS_MAX)
    error = await running.lines.operator.refused(server_pb2.WaitForServersRequest(token=encode(token)))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert await store.beat(other(token))
    assert all([(await one).reached for one in all_of_them])
    assert running.server.fleet.waiting.ended[True] == waiting.WAITS_MAX


async def test_a_store_that_fails_meanwhile_is_asked_again(faulty: tuple[Running, FaultyStore]) -> None:
    """A12: nothing is concluded from a look that failed; where none succeeds the call is UNAVAILABLE."""
    running, store = faulty
    token = await suspended(running)
    store.broken["servers"] = StoreError("lost")
    error = await running.lines.operator.refused(server_pb2.WaitForServersRequest(token=encode(token), timeout_ms=200))
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    store.calls.clear()
    waiting_for = asyncio.create_task(wait(running.lines.operator, token))

    async def looked() -> bool:
        return "servers" in store.calls

    await eventually(looked)
    del store.broken["servers"]
    assert (await waiting_for).reached


async def test_the_command_names_who_is_pending_and_says_that_the_change_stands(running: Running) -> None:
    """F1: exit code 9, and a line for each server that did not acknowledge."""
    assert await running.server.store.beat(other(problem="store: does not answer"))
    where = ("--socket-dir", str(running.server.config.socket_dir), "--tenant", TENANT)
    change = ("index", "suspend", ref().record_id, ref().version, "--reason", "why")
    done = await asyncio.to_thread(discreet, *where, *change, "--wait=0.3")
    assert done.code == 9
    assert "other: has not acknowledged it yet, and may still answer as before" in done.err
    assert "store: does not answer" in done.err
    assert "discreet: the change stands, but after 0.3" in done.err
    assert "suspended" in done.out
    assert await running.server.store.beat(other(lease=SECOND))
    done = await asyncio.to_thread(discreet, *where, *change, "--wait")
    assert (done.code, "other: did not acknowledge it; its lease of 1000 ms has run out" in done.err) == (0, True)


async def test_waits_and_their_outcomes_are_counted(running: Running) -> None:
    """A14: how many servers live, who waits, and how waits ended; no name of a server is a label."""
    token = await suspended(running)
    assert (await wait(running.lines.operator, token)).reached
    assert await running.server.store.beat(other())
    assert not (await wait(running.lines.operator, token, 60)).reached
    await running.server.fleet.presence.look()
    lines = (await running.server.metrics.text()).decode().splitlines()
    wanted = {
        "discreet_servers_live 2.0",
        "discreet_lease_held 1.0",
        "discreet_server_waits 0.0",
        "discreet_answers_late_total 0.0",
        'discreet_server_waits_total{outcome="reached"} 1.0',
        'discreet_server_waits_total{outcome="not-reached"} 1.0',
    }
    assert wanted <= set(lines)
    assert not [line for line in lines if "other" in line and "server" in line]
