"""Index changes on PostgreSQL: one at a time, with the authority row held. Must know nothing of what they do.

Everything here blocks; the store calls it in a thread of its own.
"""

import time
from collections.abc import Callable
from typing import TypeVar

import psycopg
import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import OutcomeUnknown, StoreError, Work
from discreet.server.stores import tables
from discreet.server.stores.chain import Chain
from discreet.server.stores.postgres_connect import Address, Kind, cause, plain
from discreet.server.stores.postgres_record import ATTEMPTS_MAX, BACKOFF_S, RETRIED
from discreet.server.stores.postgres_setup import NOW, alchemy
from discreet.server.stores.postgres_waiting import UNREPLICATED, unreplicated
from discreet.server.stores.queries import read_head
from discreet.server.stores.work import SqlWork

T = TypeVar("T")


class Changing:
    """Runs index changes on one connection, with one chain."""

    def __init__(self, address: Address, chain: Chain) -> None:
        self._address = address
        self._chain = chain
        self._engine = alchemy(address, Kind.INDEXER, pool_size=1)

    def run(self, work: Callable[[Work], T]) -> T:
        """What `work` returns, once it is durable. It runs again where the database asks to try again."""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                return self._once(work)
            except sa.exc.DBAPIError as error:
                state = error.orig.sqlstate if isinstance(error.orig, psycopg.Error) else None
                if state not in RETRIED or attempt == ATTEMPTS_MAX:
                    raise StoreError(f"the change could not be written: {cause(error)}") from None
            except psycopg.Error as error:
                raise StoreError(f"{self._address.shown} cannot be reached: {plain(error)}") from None
            time.sleep(BACKOFF_S * 2**attempt)
        raise StoreError("the change could not be written")

    def _once(self, work: Callable[[Work], T]) -> T:
        with self._engine.connect() as connection:
            raw = connection.connection.driver_connection
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
            head, _ = read_head(connection, Micros(0), hold=True)
            head = head._replace(now=Micros(connection.execute(NOW).scalar_one()))
            doing = SqlWork(connection, head, self._chain)
            result = work(doing)
            link = doing.finish()
            try:
                connection.commit()
            except sa.exc.DBAPIError as error:
                if not error.connection_invalidated:
                    raise
                self._look_up(link)
        if link is not None:
            self._chain.moved(link)
        if isinstance(raw, psycopg.Connection) and unreplicated(raw):
            raise OutcomeUnknown(UNREPLICATED)
        return result

    def _look_up(self, link: bytes | None) -> None:
        """Returns if the lost commit was written. Raises StoreError if not, OutcomeUnknown if it cannot be learned."""
        if link is None:
            raise OutcomeUnknown("the connection was lost at the commit of a change that left no audit row")
        row = tables.audit_link.c
        wanted = sa.select(row.hash).where(row.writer == self._chain.writer, row.n == self._chain.n + 1)
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                with self._engine.begin() as connection:
                    read_head(connection, Micros(0), hold=True)  # waits for the lost transaction to end, either way
                    found = connection.execute(wanted).scalar()
            except (sa.exc.DBAPIError, psycopg.Error, StoreError):
                time.sleep(BACKOFF_S * 2**attempt)
                continue
            if found is None:
                raise StoreError("the connection was lost at the commit of a change; nothing was written")
            return
        raise OutcomeUnknown("the connection was lost at the commit of a change, and the database cannot be reached")

    def close(self) -> None:
        """Lets go of the connection."""
        self._engine.dispose()
