"""Drains spool files into a SQLite store. Must know nothing of threads."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import AuditRecord, StoreError
from discreet.server.stores.chain import build_link
from discreet.server.stores.draining import STANDS, begin, chain_of, left_over
from discreet.server.stores.sqlite_connect import alchemy, owner
from discreet.server.stores.sqlite_record import write_link

_STANDS = STANDS.format(name="?")


def drain(
    connection: sqlite3.Connection, wall: Callable[[], Micros], name: str, first: int, records: Sequence[AuditRecord]
) -> int | None:
    """How many rows of the file are recorded after it; None where the file is not enrolled, and nothing was written."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        row = connection.execute(_STANDS, (name,)).fetchone()
        if row is None:
            return None
        chain, done = chain_of(name, row)
        rest = left_over(first, done, records)
        if rest:
            write_link(connection, build_link(chain, rest, wall(), 0))
        connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreError(f"the audit could not be drained: {error}") from error
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return done + len(rest)


def enrol_file(path: Path, wall: Callable[[], Micros], name: str) -> None:
    """Enrols a spool file as a writer, on a connection of its own. Raises StoreError."""
    raw = None
    try:
        raw = owner(path)
        with alchemy(raw) as connection:
            raw.execute("BEGIN IMMEDIATE")
            begin(connection, name, wall())
            raw.execute("COMMIT")
    except (sqlite3.Error, sa.exc.DBAPIError) as error:
        raise StoreError(f"a spool file could not be enrolled: {error}") from error
    finally:
        if raw is not None:
            raw.close()
