"""Servers on either database for what depends on the store; one PostgreSQL server a test process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.server.stores import open_store
from tests.postgres_server import PostgresServer
from tests.server.support import PolicyRepo, Running, config_of, in_process

DATABASES = ("sqlite", "postgresql")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real server with a database that has the schema, to be copied."""
    server = PostgresServer()
    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(_create(server.named_database("template")))).result()
    yield server
    server.stop()


async def _create(url: str) -> None:
    store = open_store(url)
    await store.open()
    await store.close()


@pytest.fixture(params=DATABASES)
async def either(request: pytest.FixtureRequest, place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """A server on each kind of database in turn."""
    if request.param == "sqlite":
        async with in_process(config_of(place, repo.path)) as server:
            yield server
        return
    server_of: PostgresServer = request.getfixturevalue("postgres")
    url = server_of.fresh_database("template")
    async with in_process(config_of(place, repo.path, db=url)) as server:
        yield server
    server_of.drop(url)
