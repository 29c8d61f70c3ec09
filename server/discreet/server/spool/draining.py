"""Brings what is spooled into SQL, in order, and says when that fails and when it is caught up."""

from __future__ import annotations

import asyncio
from typing import Final

from discreet.server.logs import Log
from discreet.server.ports import Store, StoreError
from discreet.server.spool.spool import BATCH_ROWS_MAX, Spool

GATHER_S: Final = 0.1
"""Between two drains, so that rows that come one by one share transactions."""
BACKOFF_MIN_S: Final = 0.05
BACKOFF_MAX_S: Final = 2.0
STOP_S: Final = 5.0
"""How long a server that stops goes on draining; what is left then waits for the next start."""
STOP_ATTEMPTS: Final = 5
"""How often it tries: a database that is busy for a moment is waited for, one that is gone does not hold a stop up."""


class Draining:
    """Drains one spool into one store."""

    def __init__(self, spool: Spool, store: Store, log: Log) -> None:
        self._spool = spool
        self._store = store
        self._log = log

    async def run(self) -> None:
        """Drains whenever there is something, for ever."""
        while True:
            await self._spool.more.wait()
            await self._drain_again(GATHER_S)

    async def stop(self, within_s: float = STOP_S) -> None:
        """Takes no more rows, drains what there is for so long at most, and lets go of the files."""
        await self._spool.end()
        try:
            async with asyncio.timeout(within_s):
                await self._drain_again(0, STOP_ATTEMPTS)
        except TimeoutError as error:
            self._failed(error)
        left = self._spool.state
        if left.rows:
            self._log.warning("rows of the audit stay in the spool until the next start", rows=left.rows)
        self._spool.close()

    async def _drain_again(self, gather_s: float, attempts: int = 0) -> None:
        """Until nothing waits, with pauses after what fails; or until so many attempts have failed, where not 0."""
        wait_s, failed = BACKOFF_MIN_S, 0
        while True:
            try:
                await self._drain(gather_s)
            except StoreError as error:
                self._failed(error)
                failed += 1
            else:
                return
            if failed == attempts:
                return
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, BACKOFF_MAX_S)

    async def _drain(self, gather_s: float) -> None:
        """Until nothing waits. What may be in SQL already is found there by its number, and is not written again."""
        self._spool.more.clear()
        try:
            while (batch := await self._spool.batch()) is not None:
                self._spool.drained(batch.file, await self._store.drain(batch.file.name, batch.first, batch.records))
                self._note_caught_up()
                if len(batch.records) < BATCH_ROWS_MAX:
                    await asyncio.sleep(gather_s)
        except BaseException:
            self._spool.more.set()
            raise
        self._note_caught_up()

    def _note_caught_up(self) -> None:
        if self._spool.trouble and not self._spool.state.rows:
            self._spool.trouble = ""
            self._log.info("the audit spool is drained again: all its rows are in the database")

    def _failed(self, error: Exception) -> None:
        self._spool.failed_drains += 1
        if not self._spool.trouble:
            self._log.error("the audit spool cannot be drained", error=str(error), rows=self._spool.state.rows)
        self._spool.trouble = str(error) or type(error).__name__
