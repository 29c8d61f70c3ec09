"""Three servers on one PostgreSQL: what one changes no other goes on allowing, and none of them storms the database."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import psycopg
import pytest

from discreet.server.errors import StoreRefused
from discreet.server.stores import open_store
from discreet.v1 import common_pb2, index_pb2
from tests.postgres_server import PostgresServer
from tests.server.faults import FaultyStore
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    check,
    config_of,
    document,
    in_process,
    ref,
    verdicts,
)

CALLS = 1_000
NAMES = ("one", "two", "three")


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.fresh_database("template1")


@pytest.fixture
async def three(place: Path, repo: PolicyRepo, url: str) -> AsyncIterator[tuple[list[Running], list[FaultyStore]]]:
    """The servers and their stores, which count what is asked of them; one document is in the index."""
    stores = [FaultyStore(open_store(url)) for _ in NAMES]
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(
                in_process(config_of(place, repo.path, db=url, instance=name, socket_dir=place / name), store=store)
            )
            for name, store in zip(NAMES, stores, strict=True)
        ]
        await servers[0].lines.collector.put(document())
        yield servers, stores


async def test_a_change_through_one_is_obeyed_by_the_others_at_once(
    three: tuple[list[Running], list[FaultyStore]],
) -> None:
    """REV-03: no cache of another process outlives a change at any moment, first one way and then the other."""
    servers, _ = three
    asked = [check(moment=common_pb2.MOMENT_RETRIEVE), check()]
    for round_ in range(5):
        maker = servers[round_ % len(servers)].lines.operator
        for change, wanted in (
            (index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"), [("WITHHOLD", "SUSPENDED")]),
            (index_pb2.ResumeRequest(tenant=TENANT, record=ref(), reason="why"), [("ALLOW", "NONE")]),
        ):
            await maker.call(change)
            answers = await asyncio.gather(*(one.lines.agent.check(question) for one in servers for question in asked))
            assert [verdicts(answer) for answer in answers] == [wanted] * len(answers)


async def test_a_thousand_questions_after_a_change_are_one_load_a_server(
    three: tuple[list[Running], list[FaultyStore]],
) -> None:
    """REV-18: who asks at once for the same record waits for one load of it; the heads are shared, too."""
    servers, stores = three
    await asyncio.gather(*(one.lines.agent.check(check()) for one in servers))
    await servers[0].lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    for store in stores:
        store.calls.clear()
    asked = [servers[number % len(servers)].lines.agent.check(check(), 60) for number in range(CALLS)]
    answers = await asyncio.gather(*asked)
    assert {verdicts(answer)[0] for answer in answers} == {("WITHHOLD", "SUSPENDED")}
    for store in stores:
        counts = {name: store.calls.count(name) for name in ("fetch", "changes", "head")}
        assert counts["fetch"] == 1
        assert counts["changes"] == 1
        assert counts["head"] < CALLS / len(servers)


async def test_a_copy_within_the_same_system_is_known_by_the_mark(
    place: Path, repo: PolicyRepo, postgres: PostgresServer, url: str
) -> None:
    """F1: an older copy in a database beside it has the same epoch, system and timeline; what was seen tells."""
    config = config_of(place, repo.path, db=url)
    async with in_process(config) as running:
        await running.lines.collector.put(document())
    copy = postgres.named_database("older", template=str(psycopg.conninfo.conninfo_to_dict(url)["dbname"]))
    async with in_process(config) as running:
        await running.lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
    with pytest.raises(StoreRefused, match="went back"):
        async with in_process(config_of(place, repo.path, db=copy)):
            pass
