"""SIGTERM of a server under checks: what was told is in SQL, and once. `tests/crash/` has kill -9."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.contract.databases import Database
from tests.postgres_server import PostgresServer
from tests.server.spool.files import SPOOLED, held_in
from tests.server.support import Line, check, document, eventually, make_repo, spawn

ASKERS = 8
ANSWERS = 150
"""So many answers come before it is told to stop."""
DECISIONS = "SELECT decision_id FROM audit_decision"


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, place: Path) -> Iterator[Database]:
    """A database of each kind in turn, which no kill touches."""
    if request.param == "sqlite":
        yield Database("sqlite", str(place / "discreet.db"))
        return
    server = PostgresServer()
    yield Database("postgresql", server.fresh_database())
    server.stop()


async def keep_asking(line: Line, told: list[str]) -> None:
    """Asks until the server is gone; every decision of every answer that came is told."""
    while True:
        try:
            answer = await line.check(check())
        except grpc.aio.AioRpcError:
            return
        told += [one.decision_id for one in answer.results]


async def test_a_signal_loses_nothing(place: Path, database: Database) -> None:
    """AUD-01: SIGTERM under load: the client's list is in the database when the process has ended."""
    repo = make_repo(place / "policy", SPOOLED)
    server = await spawn(place, repo.path, db=database.url)
    await server.lines.collector.put(document())
    told: list[str] = []
    asking = [asyncio.create_task(keep_asking(server.lines.agent, told)) for _ in range(ASKERS)]

    async def enough() -> bool:
        return len(told) >= ANSWERS

    await eventually(enough)
    server.process.terminate()
    await asyncio.gather(*asking)
    assert await server.terminate() == 0
    stored = Counter(one for (one,) in database.rows(DECISIONS))
    assert set(told) <= stored.keys()
    assert set(stored.values()) == {1}
    assert held_in(place / "state") == []
