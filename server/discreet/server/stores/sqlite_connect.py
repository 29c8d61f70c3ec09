"""The kinds of connections to a SQLite store and what each may do (A13). Must know nothing of what is asked on them.

Rights are SQLite's own: a reader opens the file read-only, and an authorizer judges every statement of a writer when it
is compiled. So a fault in the code above cannot reach a table that its connection has no right to.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.pool import StaticPool

from discreet.server.stores import tables

BUSY_TIMEOUT_MS = 5_000
"""How long a write waits for another process, such as a backup. No other server can hold the file."""
HEAD_BUSY_TIMEOUT_MS = 100
"""The head is read on the event loop: better an error than a stalled server."""
WAL_SIZE_LIMIT = 64 * 1024 * 1024

_READING = frozenset(
    {
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_RECURSIVE,
        sqlite3.SQLITE_TRANSACTION,
    }
)


def reader(path: Path, busy_timeout_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """A connection that cannot write: the file is opened read-only."""
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA busy_timeout = {busy_timeout_ms}")
    connection.execute("PRAGMA mmap_size = 268435456")
    return connection


def owner(path: Path) -> sqlite3.Connection:
    """A connection with every right, for migrations; closed before the store serves. Sets WAL for the file."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        connection.close()
        raise sqlite3.OperationalError(f"the journal mode is {mode} and does not become WAL here")
    _make_durable(connection)
    return connection


def recorder(path: Path) -> sqlite3.Connection:
    """A connection that can insert into ledger and audit and update the authority row, and nothing else."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    _make_durable(connection)
    connection.set_authorizer(_authorizer(tables.RECORDING_INSERTS, tables.RECORDING_UPDATES))
    return connection


def indexer(path: Path) -> tuple[sqlite3.Connection, sa.Connection]:
    """A connection that can append to index and audit, with SQLAlchemy's face of it. No revision can be changed."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    _make_durable(connection)
    face = alchemy(connection)
    connection.execute("SELECT 1 FROM json_each('[]')").fetchall()  # its table is declared now, while that is allowed
    connection.set_authorizer(_authorizer(tables.INDEX_INSERTS, tables.INDEX_UPDATES))
    return connection, face


def alchemy(connection: sqlite3.Connection) -> sa.Connection:
    """SQLAlchemy's face of a connection that somebody else owns, begins and ends."""
    engine = sa.create_engine(
        "sqlite://",
        creator=lambda: connection,
        poolclass=StaticPool,
        pool_reset_on_return=None,
        isolation_level="AUTOCOMMIT",
        hide_parameters=True,
    )
    return engine.connect()


def _make_durable(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    connection.execute(f"PRAGMA journal_size_limit = {WAL_SIZE_LIMIT}")
    if connection.execute("PRAGMA synchronous").fetchone()[0] != 2:
        raise sqlite3.OperationalError("synchronous = FULL is not kept: what is recorded would not be durable")


def _authorizer(
    inserts: frozenset[str], updates: Mapping[str, Sequence[str]]
) -> Callable[[int, str | None, str | None, str | None, str | None], int]:
    def judge(action: int, table: str | None, column: str | None, _database: str | None, _by: str | None) -> int:
        allowed = (
            action in _READING
            or (action == sqlite3.SQLITE_INSERT and table in inserts)
            or (action == sqlite3.SQLITE_UPDATE and column in updates.get(table or "", ()))
        )
        return sqlite3.SQLITE_OK if allowed else sqlite3.SQLITE_DENY

    return judge
