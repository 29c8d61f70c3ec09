"""Rows of spool files come into SQL once, in their order, whoever tries how often. Every store."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from discreet.server.ports import AuditRecord, Job, Store, StoreError
from discreet.server.ports_found import AuditFilter
from discreet.server.stores.postgres_record import parameters
from tests.contract.chains import verified_heads
from tests.contract.databases import ON_POSTGRESQL, Database
from tests.contract.making import LABEL, TENANT, audit, decision

FILE = "f" * 32
BODIES = (
    "SELECT r.body FROM audit_row r JOIN audit_writer w ON w.writer = r.writer WHERE w.name = ? ORDER BY n, ordinal"
)


def rows(count: int) -> list[AuditRecord]:
    """Rows that tell themselves apart, each with a decision."""
    key = [decision(record_ids=(f"doc/{number}",), labels=(LABEL,)) for number in range(count)]
    return [audit(body=b"row %d" % number, decisions=(key[number],)) for number in range(count)]


def stored(database: Database) -> list[bytes]:
    """The bytes that are in SQL of the file."""
    return [bytes(body) for (body,) in database.rows(BODIES, [FILE])]


async def test_each_row_comes_once(store: Store, database: Database) -> None:
    """F7, AUD-01: batches that were tried before, or that overlap; the bytes as they were, in a chain that holds."""
    given = rows(7)
    assert await store.drain(FILE, 0, given[:3]) == 3
    assert await store.drain(FILE, 0, given[:3]) == 3
    assert await store.drain(FILE, 2, given[2:5]) == 5
    assert await store.drain(FILE, 5, given[5:]) == 7
    assert stored(database) == [row.body for row in given]
    assert verified_heads(database)[FILE][0] == 3
    found = await store.find_decisions(AuditFilter((TENANT,)), None, 100)
    assert {hit.body for hit in found} == {row.body for row in given}


async def test_rows_that_went_missing_before_are_said(store: Store, database: Database) -> None:
    """F7: a batch whose earlier rows are not there is refused, and nothing of it is written."""
    given = rows(5)
    await store.drain(FILE, 0, given[:2])
    with pytest.raises(StoreError, match="has 2 rows of a spool file of which 4 were drained"):
        await store.drain(FILE, 4, given[4:])
    assert stored(database) == [b"row 0", b"row 1"]


REFUSING = {
    "sqlite": "CREATE TRIGGER refusing BEFORE INSERT ON audit_writer BEGIN SELECT RAISE(ABORT, 'no room'); END",
    "postgresql": "ALTER TABLE audit_writer ADD CONSTRAINT refusing CHECK (false) NOT VALID",
}
TAKING = {"sqlite": "DROP TRIGGER refusing", "postgresql": "ALTER TABLE audit_writer DROP CONSTRAINT refusing"}


async def test_a_file_that_cannot_be_enrolled_is_an_error_of_the_store(store: Store, database: Database) -> None:
    """F7, AUD-07: as with a full disk: nothing is written, whoever drains tries again, and it goes through then."""
    database.rows(REFUSING[database.kind])
    with pytest.raises(StoreError):
        await store.drain(FILE, 0, rows(1))
    assert stored(database) == []
    database.rows(TAKING[database.kind])
    assert await store.drain(FILE, 0, rows(1)) == 1


async def test_files_and_other_writers_keep_apart(store: Store, database: Database) -> None:
    """F7: rows of their own and other files go on in chains of theirs; a later store names where they all ended."""
    await store.record([Job(audit(body=b"own"))])
    await asyncio.gather(*(store.drain(name * 32, 0, rows(2)) for name in "abc"))
    heads = verified_heads(database)
    assert {heads[name * 32][0] for name in "abc"} == {1}
    later = await database.open() if database.kind == "postgresql" else store
    await later.record([Job(audit(body=b"later"))])
    verified_heads(database)


async def test_two_that_drain_the_same_rows_write_them_once(store: Store, database: Database) -> None:
    """F7: side by side; who comes second finds them there, or is told to ask again."""
    given = rows(20)
    await store.drain(FILE, 0, given[:1])
    other = await database.open() if database.kind == "postgresql" else store
    told = await asyncio.gather(
        *(one.drain(FILE, 1, given[1:]) for one in (store, other, store, other)), return_exceptions=True
    )
    assert 20 in told
    assert all(one == 20 or isinstance(one, StoreError) for one in told)
    assert stored(database) == [row.body for row in given]
    verified_heads(database)


@ON_POSTGRESQL
async def test_what_a_killed_server_left_under_way_is_waited_for(store: Store, database: Database) -> None:
    """F7: its transaction lands after the next one looked, and the rows are there once all the same."""
    given = rows(3)
    await store.drain(FILE, 0, given[:1])
    last = "SELECT w.writer, l.hash FROM audit_writer w JOIN audit_link l ON l.writer = w.writer WHERE w.name = ?"
    ((writer, prev),) = database.rows(last, [FILE])
    with psycopg.connect(database.url) as left:
        values = (writer, FILE, 2, prev, "", False, *parameters([Job(row) for row in given[1:]]))
        left.execute("SELECT discreet_record(%s, %s, %s, %s, %s, %s, %s, %s, %s)", values)
        second = asyncio.create_task(store.drain(FILE, 1, given[1:]))
        waiting = (
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        async with asyncio.timeout(10):
            while database.rows(waiting) != [(1,)]:  # noqa: ASYNC110 - no event says that a lock is waited for
                await asyncio.sleep(0.02)
        left.commit()
    with pytest.raises(StoreError):
        await second
    assert await store.drain(FILE, 1, given[1:]) == 3
    assert stored(database) == [row.body for row in given]
    verified_heads(database)
