"""More than one server, and servers that die: what was acknowledged stays, what was not comes again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import grpc
import psycopg
import pytest

from discreet.v1 import index_pb2
from discreet.v1 import purge_pb2 as pb
from discreet.v1.common_pb2 import Value
from tests.postgres_server import PostgresServer
from tests.server.purge.hooking import hooked
from tests.server.purge.orders import (
    DOCUMENTS,
    IDENTITIES,
    SEGMENTS,
    WAIT_S,
    MovedClock,
    Outcome,
    Scene,
    Watch,
    keys,
    registered,
    state_of,
)
from tests.server.support import (
    TENANT,
    Line,
    PolicyRepo,
    Spawned,
    binding,
    check,
    commit,
    config_of,
    document,
    eventually,
    in_process,
    ref,
    segment,
    spawn,
    verdicts,
)

MANY = 40


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
async def two(place: Path, repo: PolicyRepo, postgres: PostgresServer) -> AsyncIterator[tuple[Scene, Scene]]:
    """Two servers on one database."""
    url = postgres.fresh_database("template1")
    first = config_of(place, repo.path, db=url, instance="one", identities=IDENTITIES, store_timeout_s=WAIT_S)
    second = config_of(
        place, repo.path, db=url, instance="two", socket_dir=place / "s2", identities=IDENTITIES, store_timeout_s=WAIT_S
    )
    async with in_process(first) as one, in_process(second) as other:
        await one.lines.collector.put(document(), document("handbook/other"))
        await one.lines.agent.commit(commit())
        yield Scene(one, MovedClock()), Scene(other, MovedClock())


async def test_a_holder_may_be_at_either_of_two_servers(two: tuple[Scene, Scene]) -> None:
    """F3: a revoke at one server reaches the stream at the other; an answer at one ends it at both."""
    one, other = two
    await one.register("vectors", DOCUMENTS)
    watches = [one.watch("vectors"), other.watch("vectors")]
    for watch in watches:
        assert not keys(await watch.next())
    order = await one.revoke()
    for watch in watches:
        assert keys(await watch.next()) == [(order, 2)]
    assert await other.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_PURGED) == ("PURGED", "")
    assert await one.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_PURGED) == ("PURGED", "")
    later = await other.revoke("handbook/other")
    for watch in watches:
        assert keys(await watch.next()) == [(later, 1)]


async def test_no_replica_gives_out_what_was_purged(two: tuple[Scene, Scene]) -> None:
    """RET-02: both have it warm; a revoke at one, and the next question at the other finds nothing of it."""
    one, other = two
    await one.line("collector").put(document("handbook/warm", attributes={"note": Value(string_value="kept words")}))
    warm = check(segment("s1", binding("handbook/warm")))
    asked = index_pb2.GetRecordRequest(tenant=TENANT, record_id="handbook/warm", history=True)
    for stage in two:
        assert verdicts(await stage.line("agent").check(warm)) == [("ALLOW", "NONE")]
        assert b"kept words" in (await stage.line("operator").call(asked)).SerializeToString()
    await one.revoke("handbook/warm")
    for stage in (other, one):
        assert verdicts(await stage.line("agent").check(warm)) == [("PURGE", "RETENTION_REVOKED")]
        assert b"kept words" not in (await stage.line("operator").call(asked)).SerializeToString()


async def test_one_of_two_servers_posts(two: tuple[Scene, Scene]) -> None:
    """F3: a claim in the database: the same item is not posted by both."""
    one, other = two
    with hooked(lambda _: (202, b"")) as hook:
        asked = pb.RegisterHolderRequest(tenant=TENANT, holder="hook", kind=DOCUMENTS, webhook_url=hook.address)
        await registered(one.line("operator"), asked)
        order = await one.revoke()

        async def posted() -> bool:
            return bool(hook.posts)

        await eventually(posted)
        later = await other.revoke("handbook/other")

        async def both() -> bool:
            return (later, 1) in hook.items()

        await eventually(both)
        assert sorted(hook.items()) == sorted([(order, 2), (later, 1)])


async def test_a_notice_is_taken_by_one_of_two_servers(two: tuple[Scene, Scene]) -> None:
    """RET-08: two servers look at the same moment; one row is written."""
    one, other = two
    await one.register("vectors", DOCUMENTS)
    order = await one.revoke()
    await one.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_FAILED, "locked")
    looking = [stage.running.server.methods for stage in two]
    await asyncio.gather(*(methods.purging.noticing.look() for methods in looking if methods is not None))
    assert await one.running.server.store.look(lambda look: look.purges.late(10)) == []
    with psycopg.connect(other.running.server.config.db) as raw:
        rows = raw.execute("SELECT count(*) FROM audit_row WHERE position('PurgeNotice'::bytea IN body) > 0").fetchall()
    assert rows == [(1,)]


async def prepared(server: Spawned) -> str:
    """The order of a revoke of a document in which many segments rest, at the one holder."""
    await server.lines.collector.put(document())
    await server.lines.agent.commit(commit(*(segment(f"s{number}") for number in range(MANY))))
    asked = pb.RegisterHolderRequest(tenant=TENANT, kind=SEGMENTS)
    await registered(server.lines["holder"], asked)
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    answer = await server.lines.operator.call(revoke)
    assert isinstance(answer, index_pb2.RevokeRetentionResponse)
    return answer.purge_order_id


async def acked(line: Line, order: str, item: int) -> str | None:
    """The state that the server told of an answer; None where it died before it did."""
    ack = pb.PurgeAck(order_id=order, item=item, outcome=pb.PURGE_OUTCOME_PURGED)
    try:
        told = await line.call(pb.AckPurgeRequest(tenant=TENANT, acks=[ack]))
    except grpc.aio.AioRpcError:
        return None
    assert isinstance(told, pb.AckPurgeResponse)
    return state_of(told.outcomes[0].state)


async def test_a_server_killed_between_answers_loses_none(place: Path, repo: PolicyRepo) -> None:
    """RET-08: kill -9 amid answers: each that was told stays, the rest comes again, and none counts twice."""
    server = await spawn(place, repo.path)
    order = await prepared(server)
    line = server.lines["holder"]
    answers = [asyncio.create_task(acked(line, order, item)) for item in range(1, MANY + 1)]
    await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
    server.process.kill()
    told = await asyncio.gather(*answers)
    await server.process.wait()
    await server.lines.close()
    kept = {item for item, state in enumerate(told, 1) if state == "PURGED"}
    assert kept
    again = await spawn(place, repo.path)
    line = again.lines["holder"]
    message = await Watch(line).next()
    left = {item for _, item in keys(message)}
    assert not left & kept
    listed = await again.lines.operator.call(pb.ListPurgeOrdersRequest(tenant=TENANT))
    assert isinstance(listed, pb.ListPurgeOrdersResponse)
    assert listed.orders[0].done == (not left)
    assert [await acked(line, order, item) for item in range(1, MANY + 1)] == ["PURGED"] * MANY
    listed = await again.lines.operator.call(pb.ListPurgeOrdersRequest(tenant=TENANT))
    assert isinstance(listed, pb.ListPurgeOrdersResponse)
    assert listed.orders[0].done
    assert await again.terminate() == 0
    with closing(sqlite3.connect(place / "discreet.db")) as raw:
        assert raw.execute("SELECT count(*), max(n) FROM purge_answer").fetchone() == (MANY, 1)
