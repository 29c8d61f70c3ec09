"""Two servers on one PostgreSQL: what one changes the other knows at the next question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.policy.token import decode
from discreet.v1 import common_pb2, disclosure_pb2, index_pb2
from tests.postgres_server import PostgresServer
from tests.server.support import (
    POLICY,
    TENANT,
    PolicyRepo,
    Running,
    binding,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    in_process,
    ref,
    segment,
    verdicts,
)

Kind = disclosure_pb2.CommitOrder.Kind


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
async def two(place: Path, repo: PolicyRepo, postgres: PostgresServer) -> AsyncIterator[tuple[Running, Running]]:
    """Two servers on one database; the second one's own policy source is read once and then hardly ever."""
    url = postgres.fresh_database("template1")
    first = config_of(place, repo.path, db=url, instance="one")
    second = config_of(place, repo.path, db=url, instance="two", socket_dir=place / "s2", poll_s=3_600)
    async with in_process(first) as one, in_process(second) as other:
        await one.lines.collector.put(document())
        yield one, other
    postgres.drop(url)


async def test_a_revoke_through_one_is_obeyed_by_the_other_at_once(two: tuple[Running, Running]) -> None:
    """REV-03 in kind: no cache of the other server outlives a change, at any moment."""
    one, other = two
    made = await other.lines.agent.commit(commit())
    asked = [check(moment=common_pb2.MOMENT_RETRIEVE), check(), check(ledger_ids=[made.results[0].ledger_id])]
    for request in asked:
        assert verdicts(await other.lines.agent.check(request)) == [("ALLOW", "NONE")]
    await one.lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    for request in asked:
        assert verdicts(await other.lines.agent.check(request)) == [("WITHHOLD", "SUSPENDED")]
    await one.lines.operator.call(
        index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    )
    for request in asked:
        assert verdicts(await other.lines.agent.check(request)) == [("PURGE", "RETENTION_REVOKED")]


async def test_a_policy_that_one_publishes_decides_at_the_other(two: tuple[Running, Running], repo: PolicyRepo) -> None:
    """F2: the other takes it from SQL with the next question, whatever its own source says."""
    one, other = two
    await one.lines.collector.put(document("notes/plan", source_label="notes"))
    asked = check(segment("s1", binding("notes/plan")))
    assert verdicts(await other.lines.agent.check(asked)) == [("WITHHOLD", "UNTRUSTED_SOURCE")]
    listed = POLICY["sources.yaml"].replace(", listed: false", "")
    allowed = POLICY["rules.yaml"].replace("sums, mixed]", "sums, mixed, notes]")
    newest = repo.commit({"sources.yaml": listed, "rules.yaml": allowed})
    await one.server.policies.poll()
    answer = await other.lines.agent.check(asked)
    assert (verdicts(answer), answer.policy.commit, answer.instance) == ([("ALLOW", "NONE")], newest, "two")


async def test_commits_at_one_and_a_revoke_at_the_other_stand_in_one_order(two: tuple[Running, Running]) -> None:
    """B6: across servers too, what was committed before the revoke stands and what came after is refused."""
    one, other = two

    async def made(number: int) -> disclosure_pb2.CommitResponse:
        return await other.lines.agent.commit(commit(answer=f"answer-{number}"))

    commits = [asyncio.create_task(made(number)) for number in range(20)]
    await commits[0]
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    revoked = await one.lines.operator.call(revoke)
    assert isinstance(revoked, index_pb2.RevokeRetentionResponse)
    commits += [asyncio.create_task(made(number)) for number in range(20, 25)]
    at = decode(revoked.token).seq
    for answer in await asyncio.gather(*commits):
        order = decode(answer.results[0].order.token).seq
        if commit_verdicts(answer) == [("ALLOW", "NONE")]:
            assert order < at
        else:
            assert (commit_verdicts(answer), order >= at) == ([("PURGE", "RETENTION_REVOKED")], True)


async def test_a_token_of_one_is_good_at_the_other(two: tuple[Running, Running]) -> None:
    """F1: a state is the database's, not a server's."""
    one, other = two
    put = await one.lines.collector.put(document("handbook/new"))
    answer = await other.lines.agent.check(check(segment("s1", binding("handbook/new")), min_token=put.token))
    assert verdicts(answer) == [("ALLOW", "NONE")]
    found = await other.lines.auditor.decisions(tenant=TENANT)
    assert [row.decision.decision_id for row in found] == [answer.results[0].decision_id]


async def test_a_forgotten_session_that_holds_the_row_delays_no_check_and_no_answer(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """DB-02, A12: somebody's open transaction: checks go on, a commit is answered in time; all is well after it."""
    url = postgres.fresh_database("template1")
    async with in_process(config_of(place, repo.path, db=url, store_timeout_s=2.0)) as running:
        await running.lines.collector.put(document())
        async with await psycopg.AsyncConnection.connect(url) as forgotten:
            await forgotten.execute("SELECT * FROM authority FOR UPDATE")
            assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
            error = await running.lines.agent.refused(commit())
            assert (error.code().name, "unknown" in (error.details() or "")) == ("UNAVAILABLE", True)
            assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]

        async def stands() -> bool:
            return commit_verdicts(await running.lines.agent.commit(commit())) == [("ALLOW", "NONE")]

        await eventually(stands)
        async with await psycopg.AsyncConnection.connect(url) as looking:
            assert await (await looking.execute("SELECT count(*) FROM ledger")).fetchall() == [(1,)]
    postgres.drop(url)
