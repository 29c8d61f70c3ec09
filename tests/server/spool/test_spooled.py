"""A server whose policy says `spooled`: answers leave on the word of its own disk, and the database catches up."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest

from discreet.server.app import Server
from discreet.server.errors import SpoolRefused
from discreet.server.ports import OutcomeUnknown, StoreError
from discreet.server.stores import open_store
from discreet.v1 import audit_pb2, disclosure_pb2
from tests.contract.making import audit
from tests.postgres_server import PostgresServer
from tests.server.cli.command import discreet
from tests.server.faults import FaultyStore
from tests.server.scraping import scrape
from tests.server.spool.files import ALLOWED, BOUNDED, SPOOLED, UNRECORDED, bounded, files_in, held_in
from tests.server.support import (
    Line,
    PolicyRepo,
    Running,
    audit_rows,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    in_process,
    make_repo,
    verdicts,
)
from tests.server.test_stream import ask, frame

LOST = StoreError("lost")
CHECK = audit_pb2.AUDIT_ACT_CHECK


@pytest.fixture
def repo(place: Path) -> PolicyRepo:
    """A Git repository with the tests' policy set, whose checks are spooled."""
    return make_repo(place / "policy", SPOOLED)


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store that can be made to fail."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def spooled(place: Path, repo: PolicyRepo, store: FaultyStore) -> AsyncIterator[Running]:
    """A server on it, with a document."""
    config = config_of(place, repo.path, metrics=("127.0.0.1", 0))
    async with in_process(config, store=store) as running:
        await running.lines.collector.put(document())
        yield running
        for event in store.held.values():
            event.set()


def checked(place: Path) -> list[str]:
    """The request ids of checks that are in the database."""
    return [row.request_id for row in audit_rows(str(place / "discreet.db")) if row.act == CHECK]


async def framed(line: Line) -> disclosure_pb2.CheckResponse:
    """The answer to a check that is a frame of a stream."""
    return (await ask(line, [frame(1)]))[1].response


async def caught_up(running: Running) -> None:
    """Returns once nothing waits in the spool."""

    async def empty() -> bool:
        return running.server.spool.state.rows == 0

    await eventually(empty)


async def test_checks_do_not_wait_for_the_database_and_come_into_it(
    spooled: Running, store: FaultyStore, place: Path
) -> None:
    """F7: the row's bytes are those of the file; what is found by queries is the same; a commit waits as ever."""
    store.broken["record"] = LOST
    answer = await spooled.lines.agent.check(check())
    assert verdicts(answer) == ALLOWED
    assert commit_verdicts(await spooled.lines.agent.commit(commit())) == UNRECORDED
    await caught_up(spooled)
    (held,) = held_in(place / "state")
    assert checked(place) == [held.request_id] == [answer.request_id]
    (row,) = (row for row in audit_rows(str(place / "discreet.db")) if row.act == CHECK)
    assert audit_pb2.AuditRow.FromString(held.body) == row
    del store.broken["record"]
    (found,) = await spooled.lines.auditor.decisions()
    assert (found.request_id, found.act) == (answer.request_id, CHECK)
    assert found.decision.decision_id == answer.results[0].decision_id


async def test_status_and_metrics_say_what_waits(spooled: Running, store: FaultyStore) -> None:
    """F7, AUD-07: mode, rows, bytes, age; the log says when draining fails and when it is caught up, each once."""
    store.broken["drain"] = LOST
    for _ in range(3):
        assert verdicts(await spooled.lines.agent.check(check())) == ALLOWED

    async def failed() -> bool:
        return spooled.server.spool.state.failed_drains >= 2

    await eventually(failed)
    status = await spooled.lines.operator.status()
    assert (status.audit_mode, status.audit_spool_rows, status.audit_spool_lost_rows) == ("spooled", 3, 0)
    assert status.audit_spool_bytes > 0 < status.audit_spool_oldest_ms
    assert "audit spool: 3 rows wait for the database: lost" in status.problems
    shown = (await scrape(spooled.server.metrics_address)).series
    assert shown["audit_spool_rows",] == 3
    assert shown["audit_spool_bytes",] == status.audit_spool_bytes
    assert shown["audit_spool_oldest_seconds",] > 0 < shown["audit_spool_failures_total",]
    said = await asyncio.to_thread(discreet, "status", "--socket-dir", str(spooled.server.config.socket_dir))
    assert re.search(r"audit spool +3 rows \(\d+ bytes\) wait, the oldest for \d+\.\d s", said.out), said
    del store.broken["drain"]
    await caught_up(spooled)
    status = await spooled.lines.operator.status()
    assert (status.audit_spool_rows, status.audit_spool_bytes, status.audit_spool_oldest_ms) == (0, 0, 0)
    assert not any("spool" in problem for problem in status.problems)
    log = spooled.log.getvalue()
    assert log.count("the audit spool cannot be drained") == log.count("the audit spool is drained again") == 1


async def test_a_drain_whose_outcome_is_unknown_is_looked_up(spooled: Running, store: FaultyStore, place: Path) -> None:
    """F7: the rows were written and the answer was lost: they are found, and not written again."""
    store.after["drain"] = OutcomeUnknown("the line broke")
    told = [(await spooled.lines.agent.check(check())).request_id for _ in range(5)]

    async def failed() -> bool:
        return spooled.server.spool.state.failed_drains >= 2

    await eventually(failed)
    del store.after["drain"]
    await caught_up(spooled)
    assert checked(place) == told


async def test_without_its_row_on_the_disk_nothing_is_disclosed(spooled: Running, place: Path) -> None:
    """F7, AUD-07: the file is taken away under the server; the next answer is withheld, and the one after is not."""
    agent = spooled.lines.agent
    first = await agent.check(check())
    files_in(place / "state")[0].unlink()
    withheld = await agent.check(check())
    assert verdicts(withheld) == UNRECORDED
    assert withheld.request_id not in {row.request_id for row in held_in(place / "state")}
    assert any("audit: 1 answers were withheld" in one for one in (await spooled.lines.operator.status()).problems)
    after = await agent.check(check())
    assert (verdicts(first), verdicts(after)) == (ALLOWED, ALLOWED)
    await caught_up(spooled)
    assert checked(place) == [first.request_id, after.request_id]


async def test_a_spool_that_cannot_be_written_at_all_withholds(spooled: Running, place: Path) -> None:
    """F7, AUD-07: as long as it lasts, checks and frames of streams; then a directory is made anew, with its lock."""
    directory = place / "state" / "spool"
    directory.rename(place / "gone")
    directory.write_bytes(b"in the way")
    agent = spooled.lines.agent
    for _ in range(3):
        assert verdicts(await agent.check(check())) == UNRECORDED
    assert verdicts(await framed(agent)) == UNRECORDED
    directory.unlink()
    assert verdicts(await framed(agent)) == ALLOWED
    assert len(list(directory.glob("*/lock"))) == 1


async def test_a_full_spool_is_felt_as_a_status(place: Path, repo: PolicyRepo, store: FaultyStore) -> None:
    """AUD-02: past the bound checks are withheld, with SQL away for long; with SQL back they are answered again."""
    async with in_process(config_of(place, repo.path, spool_mb_max=1), store=store) as running:
        await running.lines.collector.put(document())
        store.broken["drain"] = LOST
        await running.server.spool.append(audit(body=bytes(1024 * 1024 - 4_096)))
        found = [verdicts(await running.lines.agent.check(check())) for _ in range(20)]
        assert found[0] == ALLOWED
        assert found[-1] == UNRECORDED
        assert any("audit spool: is full" in problem for problem in (await running.lines.operator.status()).problems)
        del store.broken["drain"]
        await caught_up(running)
        assert verdicts(await running.lines.agent.check(check())) == ALLOWED


async def test_a_stop_drains_what_it_can_and_leaves_the_rest(place: Path, repo: PolicyRepo) -> None:
    """AUD-01: SIGTERM loses nothing: neither with a database that answers, nor with one that does not."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    told: list[str] = []
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        store.broken["drain"] = LOST
        told += [(await running.lines.agent.check(check())).request_id for _ in range(5)]
        assert checked(place) == []
    assert "rows of the audit stay in the spool" in running.log.getvalue()
    assert [row.request_id for row in held_in(place / "state")] == told
    store = FaultyStore(open_store(str(place / "discreet.db")))
    store.broken["drain"] = LOST
    async with in_process(config_of(place, repo.path), store=store) as running:
        told.append((await running.lines.agent.check(check())).request_id)
        del store.broken["drain"]
    assert checked(place) == told
    assert files_in(place / "state") == []


async def test_a_set_that_spools_no_more_is_drained_all_the_same(place: Path, repo: PolicyRepo) -> None:
    """F7: what an earlier revision had spooled comes into the database under any later one."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        store.broken["drain"] = LOST
        told = (await running.lines.agent.check(check())).request_id
    required = make_repo(place / "required")
    async with in_process(config_of(place, required.path)) as running:
        await caught_up(running)
        assert (await running.lines.operator.status()).audit_mode == "required"
    assert checked(place) == [told]


async def test_a_file_that_comes_back_adds_nothing(place: Path, repo: PolicyRepo, store: FaultyStore) -> None:
    """AUD-01: as after a crash between the last drain and its removal, or out of a backup: its rows are counted."""
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        store.broken["drain"] = LOST
        told = [(await running.lines.agent.check(check())).request_id for _ in range(3)]
    (path,) = files_in(place / "state")
    data = path.read_bytes()
    for _ in range(3):
        async with in_process(config_of(place, repo.path)) as running:
            await caught_up(running)
        assert files_in(place / "state") == []
        path.write_bytes(data)
    assert checked(place) == told


async def test_a_damaged_file_stops_the_start(place: Path, repo: PolicyRepo, store: FaultyStore) -> None:
    """AUD-01: and names it; moved away by the operator, it stands in the way no more."""
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document())
        store.broken["drain"] = LOST
        for _ in range(2):
            await running.lines.agent.check(check())
    (path,) = files_in(place / "state")
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    with pytest.raises(SpoolRefused, match=path.name):
        await Server(config_of(place, repo.path)).start()
    path.rename(place / "kept.spool")
    async with in_process(config_of(place, repo.path)) as running:
        assert verdicts(await running.lines.agent.check(check())) == ALLOWED


async def test_bounded_checks_are_answered_with_the_database_gone(place: Path) -> None:
    """E6, F7: from memory, on the word of this disk; what was told is in the database once it is back."""
    database = PostgresServer()
    repo = make_repo(place / "policy", BOUNDED)
    config = config_of(place, repo.path, db=database.fresh_database(), lease_s=1.0, store_timeout_s=1.0)
    told: list[str] = []
    try:
        async with in_process(config) as running:
            agent = running.lines.agent
            await running.lines.collector.put(document())
            assert verdicts(await agent.check(bounded())) == ALLOWED
            database.kill()
            gone = time.monotonic()
            while time.monotonic() < gone + 1.5:
                answer = await agent.check(bounded())
                assert verdicts(answer) == ALLOWED
                told.append(answer.request_id)
            assert running.server.spool.state.rows >= len(told) > 0
            database.start()
            await caught_up(running)

            async def found() -> bool:
                try:
                    return {one.request_id for one in await running.lines.auditor.decisions()} >= set(told)
                except grpc.aio.AioRpcError:  # a read wants its own row, and the pool may hold lines that are broken
                    return False

            await eventually(found)
    finally:
        database.stop()


async def test_two_servers_need_two_spools(place: Path, repo: PolicyRepo) -> None:
    """F7: on one database, with one state directory: the second does not start, and says who has it."""
    database = PostgresServer()
    url = database.fresh_database()
    try:
        async with in_process(config_of(place, repo.path, db=url)):
            second = config_of(place, repo.path, db=url, instance="other", socket_dir=place / "o")
            with pytest.raises(SpoolRefused, match=f"another server has this spool: process {os.getpid()}"):
                await Server(second).start()
            third = config_of(place, repo.path, db=url, instance="third", socket_dir=place / "t")
            async with in_process(dataclasses.replace(third, state_dir=place / "own")) as running:
                assert (await running.lines.operator.status()).ready
    finally:
        database.stop()
