"""The SQLite store: one file, one server, one writer. Implements `discreet.server.ports.Store`; knows no servicer.

- The head is read on the event loop itself (some microseconds), other reads on a few threads, writes on the one writer.
- Decision reads run on connections opened read-only, recording and index changes on ones with narrow rights (A13).
"""

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from discreet.policy.facts import FactIds, Facts, Micros
from discreet.server.clock import SystemClock
from discreet.server.ports import (
    AuditRecord,
    Clock,
    Head,
    Job,
    JobOutcome,
    StoreError,
    Work,
)
from discreet.server.ports_policy import Beat
from discreet.server.stores import queries
from discreet.server.stores.chain import Chain
from discreet.server.stores.policies import BEAT, BEAT_COLUMNS, beat_values
from discreet.server.stores.reading import Reading
from discreet.server.stores.schema import prepare
from discreet.server.stores.sqlite_connect import HEAD_BUSY_TIMEOUT_MS, alchemy, indexer, owner, reader, recorder
from discreet.server.stores.sqlite_drain import drain, enrol_file
from discreet.server.stores.sqlite_fetch import read_facts
from discreet.server.stores.sqlite_files import FileLock, check_place, identity
from discreet.server.stores.sqlite_record import AUTHORITY, Recorder
from discreet.server.stores.sqlite_writer import WriterThread
from discreet.server.stores.work import SqlWork
from discreet.server.stores.writers import enrol

T = TypeVar("T")

_BEAT = BEAT.format(values=", ".join(f":{name}" for name in BEAT_COLUMNS))

READERS = 2
"""Threads that read. More would only wait for the interpreter."""


class SqliteStore(Reading):
    """A store in a file. `open` before anything else, `close` at the end."""

    kind = "sqlite"

    def __init__(self, path: Path, clock: Clock | None = None) -> None:
        self._path = path
        self._clock = clock or SystemClock()
        self._lock = FileLock(path)
        self._file: tuple[int, int] | None = None
        self._head: sqlite3.Connection | None = None
        self._writer: WriterThread | None = None
        self._lanes: _Lanes | None = None
        self._readers: _Readers | None = None

    async def open(self) -> Head:
        """Locks the file, brings its schema up to date and returns the head."""
        check_place(self._path)
        self._lock.acquire()
        try:
            await asyncio.to_thread(self._start)
            return await self.head()
        except BaseException:
            await self.close()
            raise

    def _start(self) -> None:
        try:
            chain = _prepare(self._path, self._clock.wall)
            self._lanes = _Lanes(self._path, chain, self._clock.wall)
            self._head = reader(self._path, HEAD_BUSY_TIMEOUT_MS)
        except (sqlite3.Error, sa.exc.DBAPIError) as error:
            raise StoreError(f"{self._path} cannot be used: {_cause(error)}") from error
        self._file = identity(self._path)
        self._readers = _Readers(self._path)
        self._writer = WriterThread(self._lanes)

    async def close(self) -> None:
        """Finishes what is under way and lets go of the file."""
        if self._writer is not None:
            await asyncio.to_thread(self._writer.stop)
        if self._readers is not None:
            await asyncio.to_thread(self._readers.close)
        if self._head is not None:
            self._head.close()
        if self._lanes is not None:
            self._lanes.close()
        self._writer = self._readers = self._lanes = self._head = None
        self._lock.release()

    async def head(self) -> Head:
        """Reads the authority row and the clock, here and now."""
        if self._head is None:
            raise StoreError("the store is not open")
        self._require_file()
        try:
            (row,) = self._head.execute(AUTHORITY).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"the head could not be read: {error}") from error
        return Head(row[0], row[1], row[2], row[3], self._clock.wall())

    async def fetch(self, tenant: str, ids: FactIds) -> Facts:
        """All facts that the ids name, in one consistent read."""
        return await self._reading().run(lambda raw, _: read_facts(raw, tenant, ids))

    async def record(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        """Records jobs, together with those of other callers that wait. Raises StoreError if one of these failed."""
        return await self._writing().record(jobs) if jobs else []

    async def change(self, work: Callable[[Work], T]) -> T:
        """Runs `work` in one index transaction."""
        return await self._writing().change(work)

    async def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int:
        """Records those rows of a spool file that are not recorded yet."""
        found = await self._writing().drain(name, first, records)
        if found is None:
            await asyncio.to_thread(enrol_file, self._path, self._clock.wall, name)
            found = await self._writing().drain(name, first, records)
        if found is None:
            raise StoreError("the writer of a spool file is missing")
        return found

    async def beat(self, beat: Beat) -> bool:
        """Writes what a server tells of itself; False where another live one has its name."""
        return await self._writing().beat(beat)

    async def _query(self, ask: Callable[[sa.Connection], T]) -> T:
        return await self._reading().run(lambda raw, connection: _in_one_state(raw, lambda: ask(connection)))

    def _time(self, _connection: sa.Connection) -> Micros:
        return self._clock.wall()

    def _reading(self) -> "_Readers":
        if self._readers is None:
            raise StoreError("the store is not open")
        return self._readers

    def _writing(self) -> WriterThread:
        if self._writer is None:
            raise StoreError("the store is not open")
        self._require_file()
        return self._writer

    def _require_file(self) -> None:
        """Raises StoreError where the path no longer leads to the file that is open.

        SQLite would go on in a file that has no name any more, and what it records there is gone with the process.
        """
        if identity(self._path) != self._file:
            raise StoreError(f"{self._path} was removed or replaced while it was open; restore it, and start again")


class _Lanes:
    """The two connections that write, used on the writer thread alone. They share one chain."""

    def __init__(self, path: Path, chain: Chain, wall: Callable[[], Micros]) -> None:
        self._chain = chain
        self._wall = wall
        self._recording = recorder(path)
        self._raw, self._index = indexer(path)
        self._recorder = Recorder(self._recording, chain, wall)

    def record(self, jobs: Sequence[Job]) -> list[JobOutcome | StoreError]:
        """Records jobs in one transaction."""
        return self._recorder.record(jobs)

    def change(self, work: Callable[[Work], Any]) -> Any:
        """Runs an index change; whatever it raises rolls everything back."""
        try:
            self._raw.execute("BEGIN IMMEDIATE")
            head, _ = queries.read_head(self._index, self._wall())
            doing = SqlWork(self._index, head, self._chain)
            result = work(doing)
            link = doing.finish()
            self._raw.execute("COMMIT")
        except (sqlite3.Error, sa.exc.DBAPIError) as error:
            raise StoreError(f"the change could not be written: {_cause(error)}") from error
        finally:
            if self._raw.in_transaction:
                self._raw.execute("ROLLBACK")
        if link is not None:
            self._chain.moved(link)
        return result

    def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int | None:
        """Records rows of a spool file; None where it is not enrolled."""
        return drain(self._recording, self._wall, name, first, records)

    def beat(self, beat: Beat) -> bool:
        """Writes what a server tells of itself; False where another live one has its name."""
        try:
            return self._recording.execute(_BEAT, beat_values(beat, self._wall())).rowcount > 0
        except sqlite3.Error as error:
            raise StoreError(f"the server's state could not be written: {error}") from error

    def close(self) -> None:
        """Closes both; the last one to close folds the write-ahead log into the file."""
        self._index.close()
        self._raw.close()
        self._recording.close()


class _Readers:
    """Threads with a read-only connection each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._mine = threading.local()
        self._all: list[tuple[sqlite3.Connection, sa.Connection]] = []
        self._threads = ThreadPoolExecutor(READERS, thread_name_prefix="discreet-reader")

    async def run(self, ask: Callable[[sqlite3.Connection, sa.Connection], T]) -> T:
        """What `ask` returns, given this thread's connection in both its faces."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._ask, ask)

    def _ask(self, ask: Callable[[sqlite3.Connection, sa.Connection], T]) -> T:
        try:
            return ask(*self._connections())
        except (sqlite3.Error, sa.exc.DBAPIError) as error:
            raise StoreError(f"the database could not be read: {_cause(error)}") from error

    def _connections(self) -> tuple[sqlite3.Connection, sa.Connection]:
        mine: tuple[sqlite3.Connection, sa.Connection] | None = getattr(self._mine, "connections", None)
        if mine is None:
            raw = reader(self._path)
            mine = self._mine.connections = (raw, alchemy(raw))
            self._all.append(mine)
        return mine

    def close(self) -> None:
        """Waits for reads under way."""
        self._threads.shutdown()
        for raw, face in self._all:
            face.close()
            raw.close()


def _in_one_state(raw: sqlite3.Connection, read: Callable[[], T]) -> T:
    """What `read` returns, all its statements on the state that the first one sees."""
    raw.execute("BEGIN")
    try:
        return read()
    finally:
        raw.execute("ROLLBACK")


def _prepare(path: Path, wall: Callable[[], Micros]) -> Chain:
    """Creates or upgrades the schema and enrols this store's writer."""
    raw = owner(path)
    try:
        with alchemy(raw) as connection:
            raw.execute("BEGIN IMMEDIATE")
            prepare(connection, bound_to="", now=wall())
            if not raw.in_transaction:
                raw.execute("BEGIN IMMEDIATE")
            (chain,) = enrol(connection, 1, wall())
            raw.execute("COMMIT")
            return chain
    finally:
        raw.close()


def _cause(error: Exception) -> str:
    """The driver's own words: SQLAlchemy would add the statement and its values."""
    return str(error.orig) if isinstance(error, sa.exc.DBAPIError) else str(error)
