"""Short histories of real servers under load and faults; the long ones are `make soak`."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scratch
from tests.history.checking import by_rule
from tests.history.reading_back import Place
from tests.history.running import Plan, run
from tests.postgres_server import PostgresServer

CALLS = 480


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short path, as sockets need one."""
    with tempfile.TemporaryDirectory(prefix="dh-", dir=scratch.short()) as path:
        yield Path(path)


@pytest.fixture
def postgresql() -> Iterator[Place]:
    """An empty database of a real server."""
    server = PostgresServer()
    try:
        yield Place("postgresql", server.fresh_database())
    finally:
        server.stop()


async def history(place: Place, directory: Path, seed: int) -> None:
    """Runs one, and finds nothing wrong with it; it did something, too."""
    outcome = await run(Plan(seed=seed, calls=CALLS, faults=4, publications=2), place, directory)
    assert by_rule(outcome.wrong) == ""
    said = Counter(told.verdict for call in outcome.calls for told in call.told)
    assert min(said["ALLOW"], said["WITHHOLD"], said["PURGE"]) > 0, said
    assert len(outcome.calls) == CALLS
    assert len(outcome.final.ledger) > CALLS // 20
    assert outcome.final.policy >= 1


async def test_a_history_on_sqlite_is_one_order(directory: Path) -> None:
    """B6, B7, B8, F1, F3, F4, F5: one server killed, stopped and cut off while clients commit, change and replay."""
    await history(Place("sqlite", str(directory / "discreet.db")), directory, seed=1)


async def test_a_history_on_postgresql_is_one_order(postgresql: Place, directory: Path) -> None:
    """B6, B7, B8, F1, F3, F4, F5: three servers on one database, one of them on a line that breaks."""
    await history(postgresql, directory, seed=2)
