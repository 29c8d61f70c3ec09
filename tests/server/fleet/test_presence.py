"""A server is known before it listens, under a name of its own, and afterwards as ended or as fallen silent."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.policy.facts import Micros
from discreet.server.config import ServerConfig
from discreet.server.errors import InstanceTaken, StoreRefused
from discreet.server.fleet.environments import NAMED_MAX, disagreement
from discreet.server.ports import StoreError
from discreet.server.ports_policy import Beat, ServerRow
from discreet.server.stores import open_store
from tests.postgres_server import PostgresServer
from tests.server.cli.command import discreet
from tests.server.faults import FaultyStore
from tests.server.fleet.clocks import AheadClock
from tests.server.support import PolicyRepo, Running, check, config_of, document, in_process, verdicts

SECOND = 1_000_000
GONE = [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def shared(place: Path, repo: PolicyRepo, postgres: PostgresServer) -> ServerConfig:
    """A configuration on a PostgreSQL database of its own."""
    return config_of(place, repo.path, db=postgres.fresh_database("template1"))


def told(instance: str, **more: object) -> Beat:
    """What another process tells."""
    plain = Beat(instance, "another run", "0.1.0", 1, SECOND, 0, None, "", 0, None, "")
    return plain._replace(**more)  # type: ignore[arg-type] # fields of a Beat


async def left_behind(config: ServerConfig, beat: Beat) -> None:
    """A database as a process left it that did not end by itself."""
    store = open_store(config.db)
    await store.open()
    assert await store.beat(beat)
    await store.close()


async def test_a_name_that_another_live_server_has_is_refused(place: Path, shared: ServerConfig) -> None:
    """F1: nothing listens under it; the first goes on as it was."""
    config = config_of(place, shared.policy, db=shared.db, socket_dir=place / "two")
    async with in_process(shared) as first:
        with pytest.raises(InstanceTaken, match=r"another server that lives is called test; .* --instance"):
            async with in_process(config):
                pass
        assert not list((place / "two").glob("*.sock"))
        servers = (await first.lines.operator.status()).servers
        assert [(one.instance, one.live) for one in servers] == [("test", True)]
    async with in_process(config):
        pass


async def test_the_name_of_one_that_crashed_is_free_once_its_lease_is_out(shared: ServerConfig) -> None:
    """F1: it may have been paused, so its lease is waited for; a supervisor need not start the new one twice."""
    async with in_process(shared):
        pass
    await left_behind(shared, told("test", lease=2 * SECOND))
    began = time.monotonic()
    async with in_process(shared) as running:
        assert time.monotonic() - began > 1
        assert [one.live for one in (await running.lines.operator.status()).servers] == [True]


async def test_on_sqlite_whoever_lived_before_is_gone(place: Path, repo: PolicyRepo) -> None:
    """F1: one process alone has the file open, so nobody waits for those that crashed."""
    config = config_of(place, repo.path)
    async with in_process(config):
        pass
    for name in ("test", "random"):
        await left_behind(config, told(name, lease=50 * SECOND))
    async with in_process(config) as running:
        found = {one.instance: (one.live, one.ended) for one in (await running.lines.operator.status()).servers}
        assert found == {"test": (True, False), "random": (False, True)}


async def test_it_is_known_before_it_listens_and_as_ended_afterwards(place: Path, repo: PolicyRepo) -> None:
    """F1: there is no answer of a server that the database does not know; the last word is that it ended."""
    config = config_of(place, repo.path)
    store = FaultyStore(open_store(config.db))
    store.broken["beat"] = StoreError("lost")
    with pytest.raises(StoreRefused):
        async with in_process(config, store=store):
            pass
    assert not list((place / "s").glob("*.sock"))
    async with in_process(config) as running:
        (server,) = (await running.lines.operator.status()).servers
        status = await running.lines.operator.status()
        assert (server.instance, server.live, server.version) == (status.instance, True, server.version)
    store = FaultyStore(open_store(config.db))
    await store.open()
    now, rows = await store.servers(60 * SECOND)
    assert [(row.beat.instance, row.beat.ended, row.live(now)) for row in rows] == [("test", True, False)]
    await store.close()


async def test_a_server_whose_name_was_taken_answers_nothing_and_ends(place: Path, repo: PolicyRepo) -> None:
    """F1: it was paused for longer than its lease, and another one lives in its place."""
    config, clock = config_of(place, repo.path), AheadClock()
    store = FaultyStore(open_store(config.db))
    async with in_process(config, store=store, clock=clock) as running:
        await running.lines.collector.put(document())
        store.broken["beat"] = StoreError("paused")
        own = await store.server("test")
        assert own is not None
        inside = store._inside
        assert await inside.beat(own.beat._replace(ended=True))
        assert await inside.beat(told("test", lease=50 * SECOND))
        clock.skip(config.lease_s)
        del store.broken["beat"]
        assert verdicts(await running.lines.agent.check(check())) == GONE
        await asyncio.wait_for(running.server.failed.wait(), 30)
        assert any("another one lives under this server's name" in one for one in running.server.problems())
    row = await _row(config)
    assert (row.beat.run, row.beat.ended) == ("another run", False)


async def _row(config: ServerConfig) -> ServerRow:
    store = open_store(config.db)
    await store.open()
    row = await store.server("test")
    await store.close()
    assert row is not None
    return row


async def test_a_silent_server_is_told_from_one_that_ended(running: Running) -> None:
    """F1: with what it last said was wrong."""
    store = running.server.store
    assert await store.beat(told("silent", lease=0, problem="store: does not answer"))
    assert await store.beat(told("ended", ended=True))
    status = await running.lines.operator.status()
    found = {one.instance: (one.live, one.ended, one.problem) for one in status.servers}
    assert found["silent"] == (False, False, "store: does not answer")
    assert found["ended"] == (False, True, "")
    where = ("--socket-dir", str(running.server.config.socket_dir))
    table = (await asyncio.to_thread(discreet, *where, "status")).out.splitlines()
    rows = [line.split()[:2] for line in table]
    assert all([name, name] in rows for name in ("silent", "ended"))


async def test_servers_that_are_told_different_environments_are_a_problem(running: Running) -> None:
    """E2: one set, other parameters, other answers: the status names who is told what, of those that live."""
    store = running.server.store
    assert await store.beat(told("gone", environment="staging", ended=True))
    assert (await running.lines.operator.status()).problems == []
    assert await store.beat(told("other", environment="production", lease=50 * SECOND))
    said = "servers: told different environments, so that they decide differently: none by test; production by other"
    assert list((await running.lines.operator.status()).problems) == [said]


def test_of_many_servers_some_are_named() -> None:
    """Limits: at the limit all of them, beyond it how many more."""
    rows = [ServerRow(told(f"s{number}", environment="a"), Micros(0), Micros(0)) for number in range(NAMED_MAX)]
    rows.append(ServerRow(told("z", environment="b"), Micros(0), Micros(0)))
    assert disagreement(Micros(0), rows).endswith("a by s0, s1, s2, s3, s4; b by z")
    rows.append(ServerRow(told("s9", environment="a"), Micros(0), Micros(0)))
    assert disagreement(Micros(0), rows).endswith("s4 and 1 more; b by z")
    assert disagreement(Micros(SECOND), rows) == ""


async def test_a_named_server_without_its_state_directory_does_not_start(place: Path, repo: PolicyRepo) -> None:
    """F1: what that server saw is not known; another name, the directory, or an operator's word opens it."""
    config = config_of(place, repo.path)
    async with in_process(config) as running:
        await running.lines.collector.put(document())
    shutil.move(config.state_dir, place / "kept")
    with pytest.raises(StoreRefused, match=r"a server called test has served it.*--state.*--instance.*db adopt"):
        async with in_process(config):
            pass
    for free in ("", "another"):
        async with in_process(config_of(place, repo.path, instance=free, state_dir=place / f"state-{free}")):
            pass
    shutil.move(place / "kept", config.state_dir)
    async with in_process(config):
        pass


async def test_an_operator_may_say_that_the_state_directory_is_lost(place: Path, repo: PolicyRepo) -> None:
    """F1: it is on record, gives the database a new epoch, and opens it for that name."""
    config = config_of(place, repo.path)
    async with in_process(config):
        pass
    shutil.rmtree(config.state_dir)
    config.state_dir.mkdir()
    adopt = ("db", "adopt", "--db", config.db, "--state", str(config.state_dir), "--reason", "disk lost")
    refused = await asyncio.to_thread(discreet, *adopt)
    assert (refused.code, "there is nothing to adopt" in refused.err) == (5, True)
    assert (await asyncio.to_thread(discreet, *adopt, "--instance", "test")).code == 0
    async with in_process(config) as running:
        assert (await running.lines.operator.status()).ready
