"""The kinds of connections to a PostgreSQL store and what each may do (A13). Must not know what is asked on them.

Rights are PostgreSQL's own: a connection is of one kind all its life, and takes on its role before it is used. Secrets
of the address never leave this module: errors name host and database alone.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from discreet.server.ports import DatabaseChanged, StoreError
from discreet.server.stores.postgres_waiting import listen

CONNECT_TIMEOUT_S = 5
LOCK_TIMEOUT_MS = 3_000
STATEMENT_TIMEOUT_MS = 5_000
IDLE_IN_TRANSACTION_TIMEOUT_MS = 10_000
DEFAULTS: dict[str, Any] = {
    "connect_timeout": CONNECT_TIMEOUT_S,
    "application_name": "discreet",
    "client_encoding": "UTF8",
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "target_session_attrs": "any",
}
SEVERAL: dict[str, Any] = {"target_session_attrs": "primary"}
"""With several hosts: the one that is not a standby, whichever that is. What it is bound to is checked all the same."""
BOUND_TO = (
    "SELECT (SELECT system_identifier FROM pg_control_system())::text"
    " || ':' || CASE WHEN pg_is_in_recovery() THEN 'standby'"
    " ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END"
)
"""The very database behind a connection: its system, and the timeline that a failover or a restore changes."""


_QUOTING = ("22", "23")
"""Classes of errors about data and constraints."""


class Kind(Enum):
    """What a connection is for, by the role that it takes on. The owner keeps the login's own rights."""

    OWNER = ""
    READER = "discreet_reader"
    RECORDER = "discreet_recorder"
    INDEXER = "discreet_indexer"


@dataclass(frozen=True, slots=True)
class Address:
    """Where the database is. `schema` and `bound_to` are known once it was opened."""

    conninfo: str
    shown: str
    schema: str = ""
    bound_to: str = ""

    def __repr__(self) -> str:
        return f"Address({self.shown})"


def parse_address(url: str) -> Address:
    """The address of a postgresql:// URL. Raises StoreError without repeating what may hold a password."""
    try:
        given = conninfo_to_dict(url)
        several = "," in str(given.get("host") or given.get("hostaddr") or "")
        conninfo = make_conninfo(**{**DEFAULTS, **(SEVERAL if several else {}), **given})
    except psycopg.Error:
        raise StoreError("the address is not a valid postgresql:// URL") from None
    host = given.get("host") or given.get("hostaddr") or "the local socket"
    return Address(conninfo, f"database {given.get('dbname') or 'of the user'} on {host}")


def settings(kind: Kind, address: Address) -> str:
    """What a connection of this kind sets before it is used."""
    lines = [
        f"SET lock_timeout = {LOCK_TIMEOUT_MS}",
        f"SET statement_timeout = {STATEMENT_TIMEOUT_MS}",
        f"SET idle_in_transaction_session_timeout = {IDLE_IN_TRANSACTION_TIMEOUT_MS}",
        "SET default_transaction_isolation = 'read committed'",
        "SET synchronous_commit = on",
    ]
    if kind is Kind.OWNER:
        return "; ".join(lines)
    schema = address.schema.replace('"', '""')
    lines += [f'SET search_path = "{schema}"', f"SET ROLE {kind.value}"]
    if kind is not Kind.INDEXER:
        # Every hot statement goes by key, and its plan must not depend on when the tables were last analysed.
        lines += [
            "SET plan_cache_mode = force_generic_plan",
            "SET enable_seqscan = off",
            "SET enable_hashjoin = off",
            "SET enable_mergejoin = off",
            "SET jit = off",
        ]
    if kind is Kind.READER:
        lines.append("SET default_transaction_read_only = on")
    return "; ".join(lines)


async def connect(address: Address, kind: Kind) -> psycopg.AsyncConnection:
    """A connection for the event loop, in autocommit: each statement is a transaction."""
    try:
        connection = await psycopg.AsyncConnection.connect(address.conninfo, autocommit=True, prepare_threshold=0)
    except psycopg.Error as error:
        raise StoreError(f"{address.shown} cannot be reached: {plain(error)}") from None
    listen(connection)
    try:
        await connection.execute(settings(kind, address), prepare=False)
        row = await (await connection.execute(BOUND_TO, prepare=False)).fetchone()
        check_bound(address, row[0] if row else "")
        return connection
    except psycopg.Error as error:
        await connection.close()
        raise StoreError(f"{address.shown} refuses what is needed: {plain(error)}") from None
    except BaseException:
        await connection.close()
        raise


def connect_sync(address: Address, kind: Kind) -> psycopg.Connection:
    """A connection for a thread."""
    connection = psycopg.connect(address.conninfo, autocommit=True)
    listen(connection)
    try:
        connection.execute(settings(kind, address), prepare=False)
        if address.bound_to:
            row = connection.execute(BOUND_TO, prepare=False).fetchone()
            check_bound(address, row[0] if row else "")
        connection.autocommit = False
        return connection
    except BaseException:
        connection.close()
        raise


def check_bound(address: Address, found: str) -> None:
    """Raises DatabaseChanged where the address leads to another database than the one that was opened."""
    if found != address.bound_to:
        raise DatabaseChanged(
            f"{address.shown} is another database than before (a failover, a restored backup or a standby), so that a"
            " revoke may be missing: nothing is decided on it; where it is meant, run `discreet db adopt` and start the"
            " server again"
        )


def plain(error: psycopg.Error) -> str:
    """The server's own short message, or the kind of error where the message or its detail may quote values."""
    if error.sqlstate is not None and error.sqlstate.startswith(_QUOTING):
        return f"{type(error).__name__} ({error.sqlstate})"
    if error.diag.message_primary:
        return f"{error.diag.message_primary} ({error.sqlstate})"
    return (
        str(error).splitlines()[0]
        if isinstance(error, psycopg.OperationalError) and str(error)
        else type(error).__name__
    )


def cause(error: sa.exc.DBAPIError) -> str:
    """The server's own short message, out of SQLAlchemy's."""
    return plain(error.orig) if isinstance(error.orig, psycopg.Error) else type(error.orig).__name__
