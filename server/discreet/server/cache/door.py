"""Opens connections to Redis, each for one exchange at a time, and drops them. Waits no longer than its caller does."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import Final

from redis.asyncio.connection import AbstractConnection, Connection, SSLConnection, UnixDomainSocketConnection

from discreet.server.cache.address import Address

PROTOCOL: Final = 2
"""RESP2: with RESP3 a server may send what nobody asked for, even where else to connect."""


class Door:
    """Opens connections to one address."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._resolving: asyncio.Task[None] | None = None

    async def open(self) -> AbstractConnection:
        """A connection that is let in. Raises whatever the library does; nothing is left open then."""
        await self._resolved()
        line = self._line()
        try:
            await line.connect()  # type: ignore[no-untyped-call] # the library left its result out
        except BaseException:
            drop(line)
            raise
        return line

    def _line(self) -> AbstractConnection:
        at = self._address
        user, password = at.user or None, at.password or None
        # No retries and no times of the library's own: whoever waits has one bound over all of it.
        if at.path:
            return UnixDomainSocketConnection(
                path=at.path, db=at.database, username=user, password=password, socket_timeout=None,
                socket_connect_timeout=None, protocol=PROTOCOL, driver_info=None,
            )  # fmt: skip
        if at.tls:
            return SSLConnection(
                host=at.host, port=at.port, db=at.database, username=user, password=password, socket_timeout=None,
                socket_connect_timeout=None, protocol=PROTOCOL, driver_info=None,
                ssl_cert_reqs="required", ssl_check_hostname=True, ssl_ca_certs=at.ca_file or None,
            )  # fmt: skip
        return Connection(
            host=at.host, port=at.port, db=at.database, username=user, password=password, socket_timeout=None,
            socket_connect_timeout=None, protocol=PROTOCOL, driver_info=None,
        )  # fmt: skip

    async def _resolved(self) -> None:
        """Waits until the name of the host is known, where it is one.

        Looking a name up takes a thread that nothing can end. One look-up at a time, and no connection before one went
        through, so that a name server that is silent takes one of the process's threads and not all.
        """
        if self._address.path or _is_number(self._address.host):
            return
        if self._resolving is None or self._resolving.done():
            self._resolving = asyncio.create_task(self._resolve())
            self._resolving.add_done_callback(_seen)
        await asyncio.shield(self._resolving)

    async def _resolve(self) -> None:
        await asyncio.get_running_loop().getaddrinfo(self._address.host, self._address.port)


def drop(line: AbstractConnection) -> None:
    """Ends a connection at once, with whatever was still to be sent or read."""
    writer, line._writer, line._reader = line._writer, None, None  # noqa: SLF001 - its own ways wait for the other side
    if writer is not None:
        writer.transport.abort()


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _seen(future: asyncio.Task[None]) -> None:
    """Takes the error of a look-up that nobody waits for any more."""
    if not future.cancelled():
        future.exception()
