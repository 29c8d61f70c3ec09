"""One database of each kind for every test of the stores' suite; one PostgreSQL server a test process."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from discreet.server.ports import Store
from discreet.server.stores import open_store
from tests.contract.databases import Database, sqlite_copy
from tests.postgres_server import PostgresServer

FIXTURES = {"sqlite": "sqlite_database", "postgresql": "postgres_database"}


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A database with the schema, to be copied."""
    _create(postgres.named_database("template"))
    return "template"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with the schema, to be copied."""
    path = tmp_path_factory.mktemp("template") / "discreet.db"
    _create(str(path))
    return path


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> Database:
    return sqlite_copy(sqlite_template, tmp_path)


@pytest.fixture
def postgres_database(postgres: PostgresServer, postgres_template: str) -> Iterator[Database]:
    url = postgres.fresh_database(postgres_template)
    yield Database("postgresql", url)
    postgres.drop(url)


@pytest.fixture(params=FIXTURES)
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """An empty database of each kind in turn; ask for this one, since it closes what was opened."""
    database: Database = request.getfixturevalue(FIXTURES[request.param])
    yield database
    await database.close()


@pytest.fixture
async def store(database: Database) -> Store:
    """An open store on an empty database of each kind in turn."""
    return await database.open()


def _create(url: str) -> None:
    """Opened once and closed; in a thread, since the test's own event loop may be running here."""

    async def open_and_close() -> None:
        store = open_store(url)
        await store.open()
        await store.close()

    with ThreadPoolExecutor(1) as thread:
        thread.submit(lambda: asyncio.run(open_and_close())).result()
