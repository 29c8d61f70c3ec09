"""Holds the authority row, so that what waits for it gets an order on purpose. Must know nothing of outcomes."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psycopg

from discreet.server.ports import Store
from tests.contract.databases import Database

WAIT_MAX_S = 20
POLL_S = 0.005
POLLS_MAX = 6_000
BLOCKED = (
    "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock' AND state = 'active'"
)


class Holder:
    """The row is held. `waiting` returns once so many wait for it, in the order in which they were started."""

    def __init__(self, watch: psycopg.AsyncConnection | None) -> None:
        self._watch = watch

    async def waiting(self, count: int) -> None:
        """Returns when `count` wait. On SQLite what was started is in the queue after one turn of the loop."""
        if self._watch is None:
            await asyncio.sleep(0)
            return
        await self._until(lambda blocked: blocked >= count)

    async def fewer(self, count: int) -> None:
        """Returns when fewer than `count` wait."""
        await self._until(lambda blocked: blocked < count)

    async def _until(self, enough: Callable[[int], bool]) -> None:
        assert self._watch is not None
        for _ in range(POLLS_MAX):
            row = await (await self._watch.execute(BLOCKED)).fetchone()
            if row is not None and enough(row[0]):
                return
            await asyncio.sleep(POLL_S)
        raise AssertionError("the row's queue is not as it should be")


@asynccontextmanager
async def row_held(database: Database, store: Store) -> AsyncIterator[Holder]:
    """The authority row, held by somebody else until the block ends."""
    if database.kind == "sqlite":
        release = threading.Event()
        holding = asyncio.create_task(store.change(lambda _: release.wait(WAIT_MAX_S)))
        try:
            await asyncio.sleep(0)
            yield Holder(None)
        finally:
            release.set()
            await holding
        return
    async with (
        await psycopg.AsyncConnection.connect(database.url) as connection,
        await psycopg.AsyncConnection.connect(database.url, autocommit=True) as watch,
    ):
        await connection.execute("SELECT 1 FROM authority FOR UPDATE")
        yield Holder(watch)
        await connection.rollback()
