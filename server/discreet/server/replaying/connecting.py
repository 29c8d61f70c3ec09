"""A connection that can read a database and nothing else, beside the servers that write it, or a copy of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.clock import SystemClock
from discreet.server.ports import StoreError
from discreet.server.stores import is_postgres, schema
from discreet.server.stores.keeping.sqlite import REPLACE, existing, said
from discreet.server.stores.sqlite_connect import alchemy, reader


@contextmanager
def reading(url: str) -> Iterator[sa.Connection]:
    """The connection; each statement is a transaction of its own, so that no writer is held up. Raises StoreError."""
    if is_postgres(url):
        with _server(url) as connection:
            yield connection
    else:
        with _file(url) as connection:
            yield connection


@contextmanager
def _file(url: str) -> Iterator[sa.Connection]:
    path = existing(url)
    try:
        raw = reader(path)
        try:
            with alchemy(raw) as connection:
                _require_schema(connection)
                yield connection
        finally:
            raw.close()
    except (sqlite3.Error, sa.exc.DBAPIError) as error:
        raise StoreError(f"{path} cannot be read: {said(error)}") from None
    except UnicodeDecodeError:  # text that is none: the driver reads it when it is asked for
        raise StoreError(f"{path} cannot be read: {REPLACE}") from None


@contextmanager
def _server(url: str) -> Iterator[sa.Connection]:
    """Under the reader's role. A standby or a restored copy will do: nothing is decided on it."""
    import psycopg

    from discreet.server.stores.keeping.postgres import UNTIMED
    from discreet.server.stores.postgres_connect import Address, Kind, cause, parse_address, plain
    from discreet.server.stores.postgres_setup import alchemy as engine_of

    address = parse_address(url)
    engines: list[sa.Engine] = []
    try:
        engines.append(engine_of(address, Kind.OWNER))
        with engines[0].connect() as owner:
            owner.exec_driver_sql("SET TRANSACTION READ ONLY")
            _require_schema(owner)  # the reader has no right to its number
            place = str(owner.execute(sa.text("SELECT current_schema()")).scalar_one())
        engines.append(engine_of(Address(address.conninfo, address.shown, place), Kind.READER))
        with engines[1].connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            for name in UNTIMED:
                connection.exec_driver_sql(f"SET {name} = 0")
            yield connection
    except psycopg.Error as error:
        raise StoreError(f"{address.shown} cannot be reached: {plain(error)}") from None
    except sa.exc.DBAPIError as error:
        raise StoreError(f"{address.shown} cannot be read: {cause(error)}") from None
    finally:
        for engine in engines:
            engine.dispose()


def _require_schema(connection: sa.Connection) -> None:
    found = schema.found_schema(connection)
    if found is None:
        raise StoreError("the database is empty: nothing was decided on it")
    schema.require_known(found)
    if found != schema.SCHEMA:
        raise StoreError(f"the schema is {found}, not {schema.SCHEMA}; run `discreet db upgrade`")


def clock_of(connection: sa.Connection) -> Micros:
    """The database's clock; of a file that of this machine."""
    if connection.dialect.name == "postgresql":
        from discreet.server.stores.postgres_setup import NOW

        return Micros(int(connection.execute(NOW).scalar_one()))
    return SystemClock().wall()
