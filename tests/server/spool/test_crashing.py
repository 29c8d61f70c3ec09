"""kill -9 of a server under checks, again and again: what was told is in the spool or in SQL, and in SQL once."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from tests.contract.chains import verified_heads
from tests.contract.databases import Database
from tests.postgres_server import PostgresServer
from tests.server.spool.files import SPOOLED, held_in
from tests.server.support import Line, check, config_of, document, eventually, in_process, make_repo, spawn

KILLS = 2
ASKERS = 8
BETWEEN = 20, 150
"""So many answers come between two kills."""
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


async def test_what_was_told_is_recorded_once(place: Path, database: Database) -> None:
    """F7, AUD-01: at whatever point it dies. Rows of answers that never left may be there; none is there twice."""
    repo = make_repo(place / "policy", SPOOLED)
    told: list[str] = []
    chance = random.Random(7)
    for kill in range(KILLS):
        server = await spawn(place, repo.path, db=database.url)
        if kill == 0:
            await server.lines.collector.put(document())
        asking = [asyncio.create_task(keep_asking(server.lines.agent, told)) for _ in range(ASKERS)]
        until = len(told) + chance.randint(*BETWEEN)

        async def enough(until: int = until) -> bool:
            return len(told) >= until

        await eventually(enough)
        server.process.kill()
        await asyncio.gather(*asking)
        await server.terminate()
        spooled = {key.decision_id for row in held_in(place / "state") for key in row.decisions}
        stored = Counter(one for (one,) in database.rows(DECISIONS))
        assert set(told) <= spooled | stored.keys()
        assert max(stored.values(), default=1) == 1
    async with in_process(config_of(place, repo.path, db=database.url)) as running:

        async def caught_up() -> bool:
            return running.server.spool.state.rows == 0

        await eventually(caught_up)
    stored = Counter(one for (one,) in database.rows(DECISIONS))
    assert set(told) <= stored.keys()
    assert set(stored.values()) == {1}
    assert held_in(place / "state") == []
    verified_heads(database)


async def test_a_signal_loses_nothing(place: Path, database: Database) -> None:
    """AUD-01: SIGTERM under load: the client's list is in the database when the process has ended."""
    repo = make_repo(place / "policy", SPOOLED)
    server = await spawn(place, repo.path, db=database.url)
    await server.lines.collector.put(document())
    told: list[str] = []
    asking = [asyncio.create_task(keep_asking(server.lines.agent, told)) for _ in range(ASKERS)]

    async def enough() -> bool:
        return len(told) >= BETWEEN[1]

    await eventually(enough)
    server.process.terminate()
    await asyncio.gather(*asking)
    assert await server.terminate() == 0
    stored = Counter(one for (one,) in database.rows(DECISIONS))
    assert set(told) <= stored.keys()
    assert set(stored.values()) == {1}
    assert held_in(place / "state") == []
