"""The PostgreSQL store. Implements `discreet.server.ports.Store`; knows no servicer.

- Head and facts are read on the event loop, one statement each; the head is shared by all who wait for it.
- Commits and audit rows of their own go through two lanes, so that an index change that holds the row delays no Check.
- Decision reads, recording and index changes run under roles of their own (A13).
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import psycopg
import sqlalchemy as sa

from discreet.policy.facts import FactIds, Facts, Micros
from discreet.server.ports import AuditRecord, Head, Job, JobOutcome, StoreError, Work
from discreet.server.ports_policy import Beat
from discreet.server.stores.chain import Chain
from discreet.server.stores.policies import BEAT, BEAT_COLUMNS, beat_values
from discreet.server.stores.postgres_change import Changing
from discreet.server.stores.postgres_connect import Address, Kind, cause, parse_address, plain
from discreet.server.stores.postgres_drain import drain, enrol_file
from discreet.server.stores.postgres_fetch import read_facts
from discreet.server.stores.postgres_lane import Lane
from discreet.server.stores.postgres_lines import Lines
from discreet.server.stores.postgres_record import Group
from discreet.server.stores.postgres_setup import NOW, alchemy, open_database
from discreet.server.stores.reading import Reading
from discreet.server.stores.shared_read import SharedRead

T = TypeVar("T")

FETCHING = 4
"""Connections for facts."""
QUERYING = 2
"""Connections, and threads, for queries."""
HEAD = (
    "SELECT epoch, seq, changed_seq, policy_revision, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    " FROM authority WHERE one = 1"
)
_CLOCK = "(extract(epoch FROM statement_timestamp()) * 1000000)::bigint"
_BEAT = BEAT.format(
    values=", ".join(_CLOCK if name in {"started_at", "seen_at"} else f"%({name})s" for name in BEAT_COLUMNS)
)


class PostgresStore(Reading):
    """A store in a PostgreSQL database. `open` before anything else, `close` at the end."""

    kind = "postgresql"

    def __init__(self, url: str) -> None:
        self._address = parse_address(url)
        self._parts: _Parts | None = None

    async def open(self) -> Head:
        """Checks the server, brings the schema up to date and returns the head."""
        address, chains = await asyncio.to_thread(open_database, self._address)
        self._parts = _build(address, chains)
        try:
            return await self.head()
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Finishes what is under way and lets go of the database."""
        parts, self._parts = self._parts, None
        if parts is None:
            return
        for lane, group in zip(parts.lanes, parts.groups, strict=True):
            await lane.close()
            await group.close()
        await parts.head.close()
        await parts.head_line.close()
        await parts.facts.close()
        await parts.beats.close()
        await parts.drains.close()
        await asyncio.to_thread(parts.close_threads)

    async def head(self) -> Head:
        """Reads the authority row and the clock, in a read that begins after this call."""
        return await self._open().head()

    async def fetch(self, tenant: str, ids: FactIds) -> Facts:
        """All facts that the ids name, in one consistent read."""
        return await self._open().facts.run(lambda connection: read_facts(connection, tenant, ids))

    async def record(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        """Records jobs, together with those of other callers that wait. Raises StoreError if one of these failed."""
        if not jobs:
            return []
        ordered = any(job.entries for job in jobs)
        return await self._open().lanes[0 if ordered else 1](jobs)

    async def change(self, work: Callable[[Work], T]) -> T:
        """Runs `work` in one index transaction."""
        parts = self._open()
        return await asyncio.get_running_loop().run_in_executor(parts.changer, parts.changing.run, work)

    async def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int:
        """Records those rows of a spool file that are not recorded yet."""
        parts = self._open()
        found = await parts.drains.run(lambda connection: drain(connection, name, first, records))
        if found is None:
            await asyncio.to_thread(enrol_file, parts.address, name)
            found = await parts.drains.run(lambda connection: drain(connection, name, first, records))
        if found is None:
            raise StoreError("the writer of a spool file is missing")
        return found

    async def beat(self, beat: Beat) -> bool:
        """Writes what a server tells of itself; False where another live one has its name."""
        return await self._open().beats.run(lambda connection: _beat(connection, beat))

    async def _query(self, ask: Callable[[sa.Connection], T]) -> T:
        parts = self._open()
        return await asyncio.get_running_loop().run_in_executor(parts.readers, _ask, parts.engine, ask)

    def _time(self, connection: sa.Connection) -> Micros:
        return Micros(connection.execute(NOW).scalar_one())

    def _open(self) -> "_Parts":
        if self._parts is None:
            raise StoreError("the store is not open")
        return self._parts


class _Parts(NamedTuple):
    """What an open store is made of."""

    address: Address
    head: SharedRead[Head]
    head_line: Lines
    facts: Lines
    beats: Lines
    drains: Lines
    groups: tuple[Group, Group]
    lanes: tuple[Lane, Lane]
    changing: Changing
    changer: ThreadPoolExecutor
    engine: sa.Engine
    readers: ThreadPoolExecutor

    def close_threads(self) -> None:
        """Waits for what runs in threads."""
        self.changer.shutdown()
        self.readers.shutdown()
        self.changing.close()
        self.engine.dispose()


def _build(address: Address, chains: Sequence[Chain]) -> _Parts:
    head_line = Lines(address, Kind.READER, 1)
    groups = (Group(address, chains[0]), Group(address, chains[1]))
    return _Parts(
        address=address,
        head=SharedRead(lambda: head_line.run(_read_head)),
        head_line=head_line,
        facts=Lines(address, Kind.READER, FETCHING),
        beats=Lines(address, Kind.RECORDER, 1),
        drains=Lines(address, Kind.RECORDER, 1),
        groups=groups,
        lanes=(Lane(groups[0].record), Lane(groups[1].record)),
        changing=Changing(address, chains[2]),
        changer=ThreadPoolExecutor(1, thread_name_prefix="discreet-change"),
        engine=alchemy(address, Kind.READER, pool_size=QUERYING),
        readers=ThreadPoolExecutor(QUERYING, thread_name_prefix="discreet-reader"),
    )


async def _read_head(connection: psycopg.AsyncConnection) -> Head:
    row = await (await connection.execute(HEAD, binary=True)).fetchone()
    if row is None:
        raise StoreError("the authority row is missing")
    return Head(*row)


async def _beat(connection: psycopg.AsyncConnection, beat: Beat) -> bool:
    """Waits for the primary's disk alone.

    A standby that lags must not make a server look dead; one that is promoted without the row is another database.
    """
    await connection.execute("SET synchronous_commit = local")
    return (await connection.execute(_BEAT, beat_values(beat, None))).rowcount > 0


def _ask(engine: sa.Engine, ask: Callable[[sa.Connection], T]) -> T:
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return ask(connection)
    except sa.exc.DBAPIError as error:
        raise StoreError(f"the database could not be read: {cause(error)}") from None
    except psycopg.Error as error:
        raise StoreError(f"the database cannot be reached: {plain(error)}") from None
