"""What holds of the server as a whole: tokens, limits, reflection, who may act without a policy."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2  # type: ignore[import-untyped] # ships no types

from discreet.policy.token import decode, encode
from discreet.server.config import TcpListen
from discreet.server.ports_policy import Origin, PolicyRow
from discreet.server.stores import open_store
from discreet.v1 import common_pb2, index_pb2
from tests.server.faults import FaultyStore
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    git,
    in_process,
    make_repo,
    ref,
    segment,
    verdicts,
)


async def test_a_token_demands_facts_at_least_as_new(running: Running) -> None:
    """F1: the token of a change is reached at once.

    One of another database or ahead of this one is FAILED_PRECONDITION.
    """
    put = await running.lines.collector.put(document())
    answer = await running.lines.agent.check(check(min_token=put.token))
    assert verdicts(answer) == [("ALLOW", "NONE")]
    token = decode(answer.token)
    assert token.seq >= decode(put.token).seq
    for wrong in (
        token._replace(epoch="ab" * 16),
        token._replace(seq=token.seq + 1_000),
        token._replace(policy_revision=token.policy_revision + 1),
    ):
        for request in (check(min_token=encode(wrong)), commit(min_token=encode(wrong))):
            error = await running.lines.agent.refused(request)
            assert (error.code().name, (error.details() or "").split(":")[0]) == ("FAILED_PRECONDITION", "min_token")


async def test_every_answer_names_instance_revision_and_state(running: Running) -> None:
    """F1, RPC-07: which process answered, under which policy and as of which state of the index."""
    await running.lines.collector.put(document())
    answer = await running.lines.agent.check(check())
    assert (answer.instance, answer.policy.number, bool(answer.policy.commit)) == ("test", 1, True)
    assert decode(answer.token).policy_revision == 1


async def test_more_calls_than_the_limit_are_turned_away(place: Path, repo: PolicyRepo) -> None:
    """RESOURCE_EXHAUSTED is backpressure; what is under way is answered."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(config_of(place, repo.path, calls_max=3), store=store) as running:
        await running.lines.collector.put(document())
        gate = store.held["record"] = asyncio.Event()
        under_way = [asyncio.create_task(running.lines.agent.check(check())) for _ in range(3)]

        async def full() -> bool:
            return store.calls.count("record") >= 3

        await eventually(full)
        error = await running.lines.agent.refused(check())
        assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        gate.set()
        assert [verdicts(one) for one in await asyncio.gather(*under_way)] == [[("ALLOW", "NONE")]] * 3


async def test_services_can_be_listed_by_reflection(running: Running) -> None:
    """A generic tool finds the API without its files."""
    method = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
    request = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
    open_call: grpc.aio.StreamStreamMultiCallable[bytes, bytes] = running.lines.agent.channel.stream_stream(method)
    call = open_call(iter([request]))
    answer = reflection_pb2.ServerReflectionResponse.FromString(await call.read())
    names = {one.name for one in answer.list_services_response.service}
    call.cancel()
    assert names >= {
        f"discreet.v1.{name}" for name in ("DisclosureService", "IndexService", "AuditService", "ServerService")
    }
    assert "grpc.health.v1.Health" in names


async def test_a_published_policy_that_does_not_compile_here_withholds(running: Running) -> None:
    """F2: what is in force is not what this server has, and what it has is not what is in force."""
    await running.lines.collector.put(document())
    row = PolicyRow(2, "f" * 40, "e" * 64, False, b"no bundle", running.server.clock.wall())
    await running.server.store.change(lambda index: index.policies.publish(1, row, Origin("server")))
    assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "POLICY_REVISION_CHANGED")]
    assert commit_verdicts(await running.lines.agent.commit(commit())) == [("WITHHOLD", "POLICY_REVISION_CHANGED")]
    assert "does not compile here" in running.log.getvalue()


async def test_an_operator_can_revoke_while_no_policy_can_be_loaded(place: Path, repo: PolicyRepo) -> None:
    """B7: an operator's rights follow from no policy; a collector's do, and wait."""
    async with in_process(config_of(place, repo.path)) as running:
        await running.lines.collector.put(document())
    damaged = open_store(str(place / "discreet.db"))
    await damaged.open()
    row = PolicyRow(2, "f" * 40, "e" * 64, False, b"no bundle", running.server.clock.wall())
    assert await damaged.change(lambda index: index.policies.publish(1, row, Origin("server"))) == 2
    await damaged.close()
    url = f"file://{place / 'nowhere'}"
    async with in_process(config_of(place, url)) as running:
        error = await running.lines.collector.refused(
            index_pb2.PutDocumentsRequest(tenant=TENANT, documents=[document()])
        )
        assert (error.code().name, error.details()) == (
            "UNAVAILABLE",
            "no policy revision is in force yet; nothing was written",
        )
        revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
        await running.lines.operator.call(revoke)
    git(repo.path, "commit", "-q", "--allow-empty", "-m", "again")
    async with in_process(config_of(place, repo.path)) as running:
        assert verdicts(await running.lines.agent.check(check())) == [("PURGE", "RETENTION_REVOKED")]


@pytest.mark.parametrize("moment", [common_pb2.MOMENT_RETRIEVE, common_pb2.MOMENT_PUBLISH])
async def test_a_check_at_any_moment_writes_nothing_but_its_audit(
    running: Running, moment: common_pb2.Moment.ValueType
) -> None:
    """A13, B1: Check at PUBLISH is no commit; the index stands where it stood."""
    await running.lines.collector.put(document())
    before = await running.server.store.head()
    await running.lines.agent.check(check(moment=moment))
    after = await running.server.store.head()
    assert (after.changed_seq, after.policy_revision) == (before.changed_seq, before.policy_revision)
    keys = await running.server.store.find_commits([])
    assert not keys


async def test_a_replay_that_shows_again_leaves_an_audit_row_and_no_ledger_row(running: Running) -> None:
    """F4, B1: ALLOW at REPLAY is on record, and is no second disclosure in the ledger."""
    await running.lines.collector.put(document())
    ledger_id = (await running.lines.agent.commit(commit())).results[0].ledger_id
    before = await running.server.store.head()
    rows = len(audit_rows(running.server.config.db))
    assert verdicts(await running.lines.agent.check(check(ledger_ids=[ledger_id]))) == [("ALLOW", "NONE")]
    assert (await running.server.store.head()).changed_seq == before.changed_seq
    written = audit_rows(running.server.config.db)[rows:]
    assert [(row.moment, row.decisions[0].ledger_id) for row in written] == [(common_pb2.MOMENT_REPLAY, ledger_id)]
    with closing(sqlite3.connect(f"file:{running.server.config.db}?mode=ro", uri=True)) as connection:
        assert connection.execute("SELECT count(*) FROM ledger").fetchone() == (1,)


async def test_two_servers_on_one_database_file_are_one_too_many(
    place: Path, repo: PolicyRepo, running: Running
) -> None:
    """A second server on the file is refused with exit code 5, and leaves nothing behind."""
    from discreet.cli.commands.serve import as_cli_error
    from discreet.server.errors import StoreRefused

    second = config_of(place, repo.path, socket_dir=place / "s2")
    with pytest.raises(StoreRefused) as caught:
        async with in_process(second):
            pass
    assert as_cli_error(caught.value).exit_code == 5
    assert not list((place / "s2").glob("*.sock"))


async def test_a_database_in_a_directory_that_is_not_there_is_refused(place: Path) -> None:
    """A start refuses clearly what it cannot serve."""
    from discreet.server.errors import StoreRefused

    repo = make_repo(place / "p2")
    with pytest.raises(StoreRefused, match="does not exist"):
        async with in_process(config_of(place, repo.path, db=str(place / "nowhere" / "x.db"))):
            pass


async def test_a_large_question_does_not_hold_up_small_ones(running: Running) -> None:
    """RPC-03 in kind: while twenty thousand bindings are judged, small checks that began later are answered."""
    await running.lines.collector.put(document())
    many = [segment(f"s{i}", *(binding(version=str(v)) for v in range(1, 33)), kind="answer") for i in range(650)]
    large = asyncio.create_task(running.lines.agent.check(check(*many), 60))
    small = 0
    while not large.done():
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        small += 1
    assert len((await large).results) == 650
    assert small >= 2  # the loop goes on only while the large one is under way: one came and went at the least


async def test_pings_of_an_idle_client_do_not_end_its_connection(place: Path, repo: PolicyRepo) -> None:
    """RPC-08: a ping a second with no call under way, and no GOAWAY; gRPC's own defaults give it after the fourth."""
    options = [
        ("grpc.keepalive_time_ms", 1_000),
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.max_pings_without_data", 0),
    ]
    config = config_of(place, repo.path, listen=(TcpListen("agent", "127.0.0.1", 0),))
    async with (
        in_process(config) as running,
        grpc.aio.insecure_channel(running.server.listeners.ports["agent"], options=options) as channel,
    ):
        await channel.channel_ready()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(channel.wait_for_state_change(grpc.ChannelConnectivity.READY), 6)
