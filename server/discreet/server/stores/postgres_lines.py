"""A few connections of one kind, shared by many callers on the event loop. Must not know what is asked on them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from discreet.server.ports import StoreError
from discreet.server.stores.postgres_connect import Address, Kind, connect, plain

T = TypeVar("T")

ANSWER_TIMEOUT_S = 8.0


class Lines:
    """Runs reads, each on a connection of its own while it lasts. Where a line broke, the read is repeated once."""

    def __init__(self, address: Address, kind: Kind, size: int) -> None:
        self._address = address
        self._kind = kind
        self._turns = asyncio.Semaphore(size)
        self._idle: list[psycopg.AsyncConnection] = []
        self._closed = False

    async def run(self, ask: Callable[[psycopg.AsyncConnection], Awaitable[T]]) -> T:
        """What `ask` returns. Raises StoreError where there is no answer in time."""
        try:
            async with asyncio.timeout(ANSWER_TIMEOUT_S), self._turns:
                if self._closed:
                    raise StoreError("the store is closed")
                try:
                    return await self._once(ask, self._idle.pop() if self._idle else None)
                except psycopg.OperationalError as error:
                    if error.sqlstate is not None and not error.sqlstate.startswith(("08", "57P")):
                        raise
                    return await self._once(ask, None)
        except TimeoutError:
            raise StoreError(f"{self._address.shown} gave no answer within {ANSWER_TIMEOUT_S:g} s") from None
        except psycopg.Error as error:
            raise StoreError(f"{self._address.shown} could not be read: {plain(error)}") from None

    async def _once(
        self, ask: Callable[[psycopg.AsyncConnection], Awaitable[T]], connection: psycopg.AsyncConnection | None
    ) -> T:
        if connection is None:
            connection = await connect(self._address, self._kind)
        try:
            return await ask(connection)
        finally:
            if not self._closed and connection.info.transaction_status == TransactionStatus.IDLE:
                self._idle.append(connection)
            else:
                await connection.close()

    async def close(self) -> None:
        """Lets go of the connections; reads under way let go of theirs as they end."""
        self._closed = True
        while self._idle:
            await self._idle.pop().close()
