"""Three real server processes: after a wait no decision is made under the state before, whatever befell a server."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.server.fleet.lease import TOO_LATE
from discreet.v1 import index_pb2, server_pb2
from tests.postgres_server import PostgresServer
from tests.server.cli.command import discreet
from tests.server.fleet.processes import LEASE_S, Fleet, three
from tests.server.support import POLICY, TENANT, PolicyRepo, binding, check, eventually, ref, segment

SUSPEND = index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why")
RESUME = index_pb2.ResumeRequest(tenant=TENANT, record=ref(), reason="why")
GRANT = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="why")
WITHDRAW = index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="why")
STAFF = check(segment("s1", binding("handbook/staff")), principal="ana")
NONE_ALLOWED = {
    name: text.replace("moments: [RETRIEVE, PUBLISH, REPLAY]", "moments: [REPLAY]") for name, text in POLICY.items()
}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


async def allowed_everywhere(fleet: Fleet) -> None:
    """Returns once b and c answer ALLOW, again and again."""
    for name in ("b", "c"):
        await fleet.seen(name, lambda one: one.verdict == "ALLOW")


async def obeyed(fleet: Fleet, returned: float, *names: str, verdict: str = "WITHHOLD") -> None:
    """Returns once these servers said so often enough to questions from after the wait; none of any said otherwise."""
    for name in names:
        await fleet.seen(name, lambda one: one.began > returned and one.verdict == verdict)
    after = {(one.server, one.verdict) for one in fleet.said if one.began > returned}
    assert {said for _, said in after} <= {verdict, "UNAVAILABLE"}


async def test_a_wait_returns_when_all_have_acknowledged_and_holds_both_ways(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F1, REV-03, REV-06: a revoke, a grant and its end through one server; loops on the others never see the past."""
    async with three(place, repo, postgres) as fleet:
        fleet.ask_all_the_time(STAFF, "b", "c")
        for name in ("b", "c"):
            await fleet.seen(name, lambda one: one.verdict == "WITHHOLD")
        for change, verdict in ((GRANT, "ALLOW"), (WITHDRAW, "WITHHOLD"), (GRANT, "ALLOW")):
            returned, stand, _ = await fleet.wait(await fleet.change(change))
            assert stand == {"a": "GIVEN", "b": "GIVEN", "c": "GIVEN"}
            await obeyed(fleet, returned, "b", "c", verdict=verdict)
            fleet.said.clear()
        where = ("--socket-dir", str(place / "a" / "s"), "--tenant", TENANT)
        revoke = ("index", "revoke", "handbook/staff", "1", "--reason", "asked", "--ticket", "T-1", "--yes")
        done = await asyncio.to_thread(discreet, *where, *revoke, "--wait=25")
        returned = time.monotonic()
        assert (done.code, "no server answers under the state before: 3 seen" in done.err) == (0, True)
        await obeyed(fleet, returned, "b", "c", verdict="PURGE")


async def test_a_publication_is_waited_for_like_any_change(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F1, F2: once a wait for a revision returned, no server decides under an older one."""
    async with three(place, repo, postgres) as fleet:
        fleet.ask_all_the_time(check(), "b", "c")
        await allowed_everywhere(fleet)
        before = (await fleet.servers["a"].lines.operator.status()).policy.number
        repo.commit(NONE_ALLOWED)

        async def published() -> bool:
            return (await fleet.servers["a"].lines.operator.status()).policy.number > before

        await eventually(published)
        status = await fleet.servers["a"].lines.operator.status()
        returned, stand, answer = await fleet.wait(status.token)
        assert stand == {"a": "GIVEN", "b": "GIVEN", "c": "GIVEN"}
        assert {one.policy.number for one in answer.servers} == {status.policy.number}
        await obeyed(fleet, returned, "b", "c")
        after = {one.policy for one in fleet.said if one.began > returned and one.verdict != "UNAVAILABLE"}
        assert after == {status.policy.number}


async def test_a_server_that_was_stopped_between_decision_and_answer_says_nothing_of_the_past(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F1: the wait takes one lease; resumed, it holds back what it had decided, and decides anew."""
    async with three(place, repo, postgres, store_timeout_s=30.0) as fleet:
        fleet.ask_all_the_time(check(), "c")
        await fleet.seen("c", lambda one: one.verdict == "ALLOW")
        await fleet.stop_asking()
        assert (await fleet.once("b", check())).verdict == "ALLOW"
        async with fleet.audit_locked():
            held = [asyncio.create_task(fleet.once("b", check())) for _ in range(8)]
            await fleet.decided_and_waiting()
            fleet.send("b", signal.SIGSTOP)
        fleet.said.clear()
        fleet.ask_all_the_time(check(), "b", "c")
        token = await fleet.change(SUSPEND)
        returned, stand, answer = await fleet.wait(token)
        assert stand == {"a": "GIVEN", "b": "LEASE_RAN_OUT", "c": "GIVEN"}
        assert answer.waited_ms >= LEASE_S * 1_000
        assert not any(one.done() for one in held)
        fleet.send("b", signal.SIGCONT)
        late = await asyncio.gather(*held)
        outcomes = {(one.verdict, one.text) for one in late}
        assert {("UNAVAILABLE", TOO_LATE)} <= outcomes <= {("UNAVAILABLE", TOO_LATE), ("WITHHOLD", "")}
        await obeyed(fleet, returned, "b", "c")
        assert not [one for one in fleet.said if one.server == "b" and one.verdict == "ALLOW"]


async def test_a_server_that_was_killed_is_waited_for_as_long_as_it_might_have_answered(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F1: nobody can tell it from one that is stopped; afterwards it is shown as silent, and waited for no more."""
    async with three(place, repo, postgres) as fleet:
        fleet.ask_all_the_time(check(), "b", "c")
        await allowed_everywhere(fleet)
        fleet.send("b", signal.SIGKILL)
        await fleet.servers["b"].process.wait()
        returned, stand, answer = await fleet.wait(await fleet.change(SUSPEND))
        assert stand == {"a": "GIVEN", "b": "LEASE_RAN_OUT", "c": "GIVEN"}
        assert answer.waited_ms >= LEASE_S * 1_000
        await obeyed(fleet, returned, "c")
        _, stand, _ = await fleet.wait(await fleet.change(RESUME))
        assert stand == {"a": "GIVEN", "c": "GIVEN"}
        found = {one.instance: one for one in (await fleet.servers["c"].lines.operator.status()).servers}
        assert {name: (one.live, one.ended) for name, one in found.items()} == {
            "a": (True, False), "b": (False, False), "c": (True, False),
        }  # fmt: skip
        assert found["b"].lease_ms == LEASE_S * 1_000


async def test_a_server_that_is_cut_off_from_the_database_answers_nothing_of_the_past(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F1, A12: what it was told before the line fell silent, and learns after it healed, is too old to be relied on."""
    async with three(place, repo, postgres, store_timeout_s=30.0) as fleet:
        fleet.ask_all_the_time(check(), "b", "c")
        await allowed_everywhere(fleet)
        fleet.line_of_c.fall_silent()
        returned, stand, answer = await fleet.wait(await fleet.change(SUSPEND))
        assert stand == {"a": "GIVEN", "b": "GIVEN", "c": "LEASE_RAN_OUT"}
        assert answer.waited_ms >= LEASE_S * 1_000
        assert isinstance(answer, server_pb2.WaitForServersResponse)
        await obeyed(fleet, returned, "b")
        fleet.line_of_c.heal()
        await obeyed(fleet, returned, "b", "c")
        assert not [one for one in fleet.said if one.server == "c" and one.ended > returned and one.verdict == "ALLOW"]
