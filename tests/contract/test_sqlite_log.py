"""SQLite's write-ahead log beside readers that stay: it grows while they do, and no longer."""

import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.policy.facts import Ref
from discreet.server.ports import Recorded, Store
from discreet.server.stores import sqlite_connect
from tests.contract.databases import ON_SQLITE, Database
from tests.contract.making import entry, facts_of, job, put, record, revisions

ROUNDS = 150


async def write(store: Store) -> None:
    """Some commits, each a transaction of its own."""
    bases = revisions(await facts_of(store, Ref("doc/a", "1")))
    head = await store.head()
    for _ in range(ROUNDS):
        (outcome,) = await store.record([job(head, entry(*bases))])
        assert isinstance(outcome, Recorded)


def size(database: Database) -> int:
    return Path(f"{database.url}-wal").stat().st_size


@ON_SQLITE
async def test_the_log_grows_only_as_long_as_a_reader_keeps_it(store: Store, database: Database) -> None:
    """DB-01: no lock is met beside a reader that stays, and the log is used again from its start once it has gone."""
    await put(store, record())
    await write(store)
    without = size(database)
    with closing(sqlite3.connect(database.url, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        before = reader.execute("SELECT count(*) FROM ledger").fetchall()
        await write(store)
        await write(store)
        kept = size(database)
        assert kept > without
        assert reader.execute("SELECT count(*) FROM ledger").fetchall() == before
    await write(store)  # its first commit checkpoints all of it
    settled = size(database)
    assert settled < kept + without
    for _ in range(2):
        await write(store)
    assert size(database) <= min(settled, sqlite_connect.WAL_SIZE_LIMIT)
    assert database.rows("SELECT count(*) FROM ledger") == [(6 * ROUNDS,)]
