"""What each kind of connection can do, tried by doing it (A13): by rights, not by absence of code."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from discreet.server.stores import sqlite_connect, tables
from discreet.server.stores.metadata import metadata
from discreet.server.stores.postgres_connect import Address, Kind, connect_sync, parse_address
from discreet.server.stores.postgres_lines import Lines
from tests.contract.databases import ON_POSTGRESQL, ON_SQLITE, Database

Attempt = Callable[[str], None]
ALL = frozenset(metadata.tables)
REFUSED = (sqlite3.DatabaseError, psycopg.errors.InsufficientPrivilege, psycopg.errors.ReadOnlySqlTransaction)


def columns(table: str) -> str:
    return ", ".join(column.name for column in metadata.tables[table].columns)


def writes(table: str) -> dict[str, str]:
    """Statements that would write to a table, each without effect on its rows should it be allowed."""
    updates = {
        f"update {column.name}": f"UPDATE {table} SET {column.name} = {column.name} WHERE 1 = 0"
        for column in metadata.tables[table].columns
    }
    insert = f"INSERT INTO {table} ({columns(table)}) SELECT {columns(table)} FROM {table} WHERE 1 = 0"
    return {"insert": insert, "delete": f"DELETE FROM {table} WHERE 1 = 0", **updates}


def expected(inserts: frozenset[str], updates: Mapping[str, tuple[str, ...]]) -> set[tuple[str, str]]:
    allowed = {(table, "insert") for table in inserts}
    return allowed | {(table, f"update {column}") for table, those in updates.items() for column in those}


def allowed(attempt: Attempt) -> set[tuple[str, str]]:
    """Every write that a connection lets through."""
    done = set()
    for table in ALL:
        for name, statement in writes(table).items():
            try:
                attempt(statement)
            except REFUSED:
                continue
            done.add((table, name))
    return done


@contextmanager
def sqlite_attempt(raw: sqlite3.Connection) -> Iterator[Attempt]:
    def attempt(statement: str) -> None:
        raw.execute(statement)

    try:
        yield attempt
    finally:
        raw.close()


@contextmanager
def postgres_attempt(database: Database, kind: Kind) -> Iterator[Attempt]:
    connection = connect_sync(address(database), kind)
    connection.autocommit = True

    def attempt(statement: str) -> None:
        connection.execute(statement.encode())

    try:
        yield attempt
    finally:
        connection.close()


def address(database: Database) -> Address:
    return replace(parse_address(database.url), schema="public")


@ON_SQLITE
async def test_a_decision_read_on_sqlite_can_write_nothing(database: Database) -> None:
    """A13: the file is opened read-only: no table can be written, made or dropped, and no pragma lifts that."""
    with sqlite_attempt(sqlite_connect.reader(Path(database.url))) as attempt:
        attempt("PRAGMA query_only = OFF")
        assert allowed(attempt) == set()
        for statement in ("CREATE TABLE x (y)", "DROP TABLE ledger", "VACUUM", "PRAGMA user_version = 7"):
            with pytest.raises(sqlite3.DatabaseError):
                attempt(statement)


@ON_SQLITE
async def test_the_recording_connection_on_sqlite_writes_ledger_audit_and_the_number_alone(
    database: Database,
) -> None:
    """A13: a commit cannot change index, policy or grants, nor what it wrote before; it has no other statement."""
    with sqlite_attempt(sqlite_connect.recorder(Path(database.url))) as attempt:
        assert allowed(attempt) == expected(tables.RECORDING_INSERTS, tables.RECORDING_UPDATES)
        for statement in (
            "CREATE TABLE x (y)",
            "DROP TABLE ledger",
            "PRAGMA synchronous = OFF",
            "ATTACH ':memory:' AS m",
        ):
            with pytest.raises(sqlite3.DatabaseError):
                attempt(statement)


@ON_SQLITE
async def test_an_index_change_on_sqlite_only_appends(database: Database) -> None:
    """A13, B5: revisions, grants and policies are added to and never altered, by whatever code."""
    raw, face = sqlite_connect.indexer(Path(database.url))
    with sqlite_attempt(raw) as attempt:
        assert allowed(attempt) == expected(tables.INDEX_INSERTS, tables.INDEX_UPDATES)
    face.close()


@ON_POSTGRESQL
async def test_a_decision_read_on_postgresql_can_write_nothing(database: Database) -> None:
    """A13: the role may only read, so that leaving the read-only transaction gains nothing."""
    with postgres_attempt(database, Kind.READER) as attempt:
        attempt("SET default_transaction_read_only = off")
        assert allowed(attempt) == set()
        for statement in ("CREATE TABLE x (y integer)", "DROP TABLE ledger", "SELECT 1 FROM authority FOR UPDATE"):
            with pytest.raises(REFUSED):
                attempt(statement)


@ON_POSTGRESQL
async def test_the_recording_role_writes_ledger_audit_and_the_number_alone(database: Database) -> None:
    """A13: a commit cannot change index, policy or grants, nor what it wrote before."""
    with postgres_attempt(database, Kind.RECORDER) as attempt:
        assert allowed(attempt) == expected(tables.RECORDING_INSERTS, tables.RECORDING_UPDATES)


@ON_POSTGRESQL
async def test_the_index_role_only_appends(database: Database) -> None:
    """A13, B5: revisions, grants and policies are added to and never altered, by whatever code."""
    with postgres_attempt(database, Kind.INDEXER) as attempt:
        assert allowed(attempt) == expected(tables.INDEX_INSERTS, tables.INDEX_UPDATES)


@ON_POSTGRESQL
async def test_the_lines_of_the_store_have_those_roles(database: Database) -> None:
    """A13: what the store hands to its reads is under the reading role, on every line, used or new."""
    bound_to = database.rows("SELECT bound_to FROM authority")[0][0]
    lines = Lines(replace(address(database), bound_to=bound_to), Kind.READER, 2)

    async def role(connection: psycopg.AsyncConnection) -> tuple[str, str]:
        cursor = await connection.execute("SELECT current_user, current_setting('transaction_read_only')")
        row = await cursor.fetchone()
        assert row is not None
        return (row[0], row[1])

    assert set(await asyncio.gather(*(lines.run(role) for _ in range(6)))) == {(Kind.READER.value, "on")}
    await lines.close()


def test_one_index_alone_can_look_up_each_key_of_a_commit() -> None:
    """A plan made on an empty table must stay right, or commits slow down as the ledger grows."""
    nothing: set[str] = set()
    looked_up = (
        (tables.ledger, {"tenant", "session_id", "answer_id", "segment_id"}, nothing),
        (tables.ledger, {"tenant", "ledger_id"}, nothing),
        (tables.ledger_root, {"tenant", "ledger_id"}, nothing),
        (tables.ledger_root, {"tenant", "record_id", "version"}, nothing),
        (tables.record_revision, {"tenant", "record_id", "version", "revision"}, nothing),
        (tables.record_latest, {"tenant", "record_id", "version"}, {"record_latest_current"}),
        (tables.audit_link, {"writer", "n"}, nothing),
    )
    for table, key, partial in looked_up:
        leading = [
            next(iter(one.columns)).name
            for one in (*table.indexes, *table.constraints)
            if isinstance(one, sa.Index | sa.PrimaryKeyConstraint | sa.UniqueConstraint) and one.name not in partial
        ]
        assert sum(name in key for name in leading) == 1, (table.name, key)
