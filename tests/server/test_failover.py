"""A PostgreSQL primary that dies, and a real standby that is promoted in its place: nothing revoked is ever allowed."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest

from discreet.server.config import ServerConfig
from discreet.server.errors import StoreRefused
from discreet.v1 import disclosure_pb2, index_pb2
from tests.contract.databases import Database
from tests.postgres_server import PostgresServer
from tests.server.cli.command import Outcome, discreet
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

FOLLOWING = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
REVOKE = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
REPEATS_MAX = 50
NAMES = {disclosure_pb2.CommitRequest: "agent", index_pb2.SuspendRequest: "operator"}
GONE = [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]


@contextmanager
def pair() -> Iterator[tuple[PostgresServer, PostgresServer, str]]:
    """A primary, a standby that streams from it, and the address of an empty database on whichever is the primary."""
    primary = PostgresServer()
    try:
        primary.execute("CREATE DATABASE discreet")
        standby = PostgresServer(standby_of=primary)
        try:
            primary.until(FOLLOWING, 1)
            yield primary, standby, f"postgresql://postgres@/discreet?host={standby.directory},{primary.directory}"
        finally:
            standby.stop()
    finally:
        primary.stop()


async def refusal(config: ServerConfig) -> str:
    """Why a server does not start."""
    with pytest.raises(StoreRefused) as refused:
        async with in_process(config):
            pass
    return str(refused.value)


def adopt(config: ServerConfig, *more: str) -> Outcome:
    where = ("--db", config.db, "--state", str(config.state_dir))
    return discreet("db", "adopt", *where, "--reason", "failover", "--actor", "ana", *more)


async def revoke(running: Running) -> None:
    """Revokes however many segments rest on it."""
    looked = await running.lines.operator.call(replaced(REVOKE, dry_run=True))
    assert isinstance(looked, index_pb2.RevokeRetentionResponse)
    await running.lines.operator.call(replaced(REVOKE, dry_run_digest=looked.dry_run_digest))


def replaced(request: index_pb2.RevokeRetentionRequest, **fields: object) -> index_pb2.RevokeRetentionRequest:
    """The request with other fields, too."""
    made = index_pb2.RevokeRetentionRequest()
    made.CopyFrom(request)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


async def withholds_and_names_the_command(running: Running) -> None:
    """However often it is asked, nothing is shown; status says what an operator has to do."""

    async def named() -> bool:
        assert verdicts(await running.lines.agent.check(check())) == GONE
        return any("`discreet db adopt`" in one for one in (await running.lines.operator.status()).problems)

    await eventually(named)
    assert verdicts(await running.lines.agent.check(check())) == GONE


async def commits(running: Running, stop: asyncio.Event, name: str) -> list[disclosure_pb2.CommitResponse]:
    """Commits one after the other until told to stop; those that were answered."""
    answered = []
    number = 0
    while not stop.is_set():
        number += 1
        try:
            answer = await running.lines.agent.commit(commit(answer=f"{name}-{number}"))
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.UNAVAILABLE:
                raise
            continue
        if commit_verdicts(answer) == [("ALLOW", "NONE")]:
            answered.append(answer)
        else:
            assert commit_verdicts(answer)[0][0] == "WITHHOLD"
    return answered


async def test_a_promoted_synchronous_standby_has_all_and_is_served_once_it_is_adopted(
    place: Path, repo: PolicyRepo
) -> None:
    """REV-06, F1, F4, F7: kill -9 amid commits, a real promotion, withheld, adopted; what was answered is there."""
    with pair() as (primary, standby, url):
        config = config_of(place, repo.path, db=url)
        assert "standby(s) that may lag" in await refusal(config)
        primary.configure(synchronous_standby_names="*")
        alone = f"postgresql://postgres@/discreet?host={standby.directory}"
        async with in_process(config) as running:
            token = (await running.lines.collector.put(document())).token
            assert "is a standby" in await refusal(config_of(place, repo.path, db=alone, socket_dir=place / "s2"))
            stop = asyncio.Event()
            writing = [asyncio.create_task(commits(running, stop, name)) for name in "abcd"]
            for number in range(20):
                await running.lines.agent.commit(commit(answer=f"before-{number}"))
            await asyncio.to_thread(primary.kill, signal.SIGKILL)
            stop.set()
            answered = [answer for part in await asyncio.gather(*writing) for answer in part]
            assert verdicts(await running.lines.agent.check(check())) == GONE
            await asyncio.to_thread(standby.promote)
            await withholds_and_names_the_command(running)
            assert "is a copy: its epoch belongs to" in await refusal(
                config_of(place, repo.path, db=url, socket_dir=place / "s3")
            )
            done = await asyncio.to_thread(adopt, config)
            assert (done.code, "another system or timeline" in done.out) == (0, True), done.err
            assert "lost, of epoch" not in done.out
            assert verdicts(await running.lines.agent.check(check())) == GONE
        async with in_process(config) as running:
            assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
            ledger_ids = [answer.results[0].ledger_id for answer in answered]
            assert len(ledger_ids) > 10
            for part in range(0, len(ledger_ids), 20):
                shown = await running.lines.agent.check(check(ledger_ids=ledger_ids[part : part + 20]))
                assert set(verdicts(shown)) == {("ALLOW", "NONE")}
            error = await running.lines.agent.refused(check(min_token=token))
            assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
            await revoke(running)
        looked = discreet("db", "check", "--db", url, "--state", str(config.state_dir), "-o", "json")
        assert looked.tree["faults"] == []
        # The old primary comes back as it was, complete and at its own epoch, and lacks what was revoked since.
        standby.kill()
        primary.start({"synchronous_standby_names": ""})
        assert "was replaced" in await refusal(config)


async def waits_for_the_standby(running: Running, primary: PostgresServer, standby: PostgresServer) -> None:
    """DB-02: with the standby paused nothing is called done, though the primary has it; nor where a wait is ended."""
    ((receiver,),) = await asyncio.to_thread(standby.ask, "SELECT pid FROM pg_stat_wal_receiver")
    waiting = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    suspend = index_pb2.SuspendRequest(tenant=TENANT, record=ref("handbook/other"), reason="why")
    os.kill(receiver, signal.SIGSTOP)
    try:
        for request in (commit(answer="cancelled"), suspend):
            asked = asyncio.create_task(running.lines[NAMES[type(request)]].refused(request))
            await asyncio.to_thread(primary.until, waiting, True)
            await asyncio.to_thread(primary.execute, cancel)
            error = await asked
            assert (error.code(), "unknown" in (error.details() or "")) == (grpc.StatusCode.UNAVAILABLE, True)
        assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
        error = await running.lines.agent.refused(commit(answer="waited"))
        assert (error.code(), "unknown" in (error.details() or "")) == (grpc.StatusCode.UNAVAILABLE, True)
    finally:
        os.kill(receiver, signal.SIGCONT)
    for answer in ("cancelled", "waited"):
        assert commit_verdicts(await repeated(running, answer)) == [("ALLOW", "NONE")]
    url = primary.url("discreet")
    rows = Database("postgresql", url).rows("SELECT answer_id, count(*) FROM ledger GROUP BY 1 ORDER BY 1")
    assert rows == [("cancelled", 1), ("waited", 1)]


async def repeated(running: Running, answer: str) -> disclosure_pb2.CommitResponse:
    """The answer to a commit that is repeated until it is known: it is safe to."""
    for _ in range(REPEATS_MAX):
        with suppress(grpc.aio.AioRpcError):
            found = await running.lines.agent.commit(commit(answer=answer))
            if commit_verdicts(found)[0][1] != "AUDIT_UNAVAILABLE":
                return found
    raise AssertionError("the outcome stays unknown")


async def test_a_promoted_standby_that_lags_allows_nothing_that_was_revoked(place: Path, repo: PolicyRepo) -> None:
    """REV-06, DB-02, F1, B6: reads are the primary's; a standby that lost a revoke is noticed, and named as behind."""
    with pair() as (primary, standby, url):
        config = config_of(place, repo.path, db=url, store_timeout_s=2)
        primary.configure(synchronous_standby_names="*")
        async with in_process(config) as running:
            await running.lines.collector.put(document(), document("handbook/other"))
            await waits_for_the_standby(running, primary, standby)
            await asyncio.to_thread(standby.execute, "SELECT pg_wal_replay_pause()")
            suspend = index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why")
            await running.lines.operator.call(suspend)
            assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "SUSPENDED")]
            await running.lines.operator.call(index_pb2.ResumeRequest(tenant=TENANT, record=ref(), reason="why"))
            assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
            await asyncio.to_thread(standby.execute, "SELECT pg_wal_replay_resume()")
            # What no start lets through: the standby is let lag while the server runs, and then loses touch.
            await asyncio.to_thread(primary.configure, synchronous_standby_names="")
            await asyncio.to_thread(primary.until, "SELECT current_setting('synchronous_standby_names')", "")
            await asyncio.to_thread(standby.configure, primary_conninfo="host=/nowhere")
            await asyncio.to_thread(primary.until, "SELECT count(*) FROM pg_stat_replication", 0)
            await running.lines.operator.call(REVOKE)
            assert verdicts(await running.lines.agent.check(check())) == [("PURGE", "RETENTION_REVOKED")]
            seq = (await running.server.store.head()).seq

            async def noted() -> bool:
                return any(path.read_text() == f"{seq}\n" for path in (config.state_dir / "high-water").iterdir())

            await eventually(noted)
            await asyncio.to_thread(primary.kill)
            await asyncio.to_thread(standby.promote)
            await withholds_and_names_the_command(running)
        assert "is a copy: its epoch belongs to" in await refusal(config)
        looked = discreet("db", "check", "--db", url, "--state", str(config.state_dir))
        assert (looked.code, "the database went back" in looked.out) == (7, True)
        without = place / "elsewhere"
        without.mkdir()
        done = discreet("db", "adopt", "--db", url, "--state", str(without), "--reason", "failover")
        assert (done.code, "lost, of epoch" in done.out) == (0, False), done.err
        assert "not in place of all" in await refusal(config)
        done = adopt(config)
        assert (done.code, f"up to event {seq}" in done.out) == (0, True), done.err
        async with in_process(config) as running:
            await running.lines.operator.call(REVOKE)
            assert verdicts(await running.lines.agent.check(check())) == [("PURGE", "RETENTION_REVOKED")]
