"""`GET /metrics` over plain HTTP, on the event loop: one request a connection, bounded in size, time and number.

Knows HTTP as far as a scraper needs it, and nothing of what it hands out.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from prometheus_client import CONTENT_TYPE_LATEST

from discreet.server.errors import ListenRefused

PATH: Final = "/metrics"
REQUEST_BYTES_MAX: Final = 8 * 1024
REQUEST_S: Final = 5.0
"""How long a request may take to arrive, and its answer to be taken."""
CONNECTIONS_MAX: Final = 16
"""Connections at a time; more are closed at once."""

_PLAIN: Final = "text/plain; charset=utf-8"


class Exposing:
    """A listener that answers with the same text to everybody who can reach it."""

    def __init__(self, text: Callable[[], Awaitable[bytes]]) -> None:
        self._text = text
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, host: str, port: int) -> str:
        """HOST:PORT as it is served; port 0 takes a free one. Raises ListenRefused."""
        bare = host.strip("[]")
        try:
            self._server = await asyncio.start_server(self._connected, bare, port, limit=REQUEST_BYTES_MAX)
        except OSError as error:
            why = (error.strerror or "cannot be bound").lower()
            raise ListenRefused(f"metrics: {host}:{port}: {why}; does something else listen there?") from None
        return f"{host}:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Closes the listener and what is connected."""
        if self._server is not None:
            self._server.close()
            for writer in self._open.values():
                writer.transport.abort()
            await asyncio.gather(*self._open)
            await self._server.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            if len(self._open) <= CONNECTIONS_MAX:
                async with asyncio.timeout(REQUEST_S):
                    writer.write(await self._answer(reader))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked is gone, silent, or says what is no request: nothing is owed
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._open[task]

    async def _answer(self, reader: asyncio.StreamReader) -> bytes:
        head = await reader.readuntil(b"\r\n\r\n")
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        if path != PATH:
            return _response(HTTPStatus.NOT_FOUND, f"there is only {PATH}\n".encode(), _PLAIN)
        if method not in {"GET", "HEAD"}:
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, b"GET and HEAD alone\n", _PLAIN)
        whole = _response(HTTPStatus.OK, await self._text(), CONTENT_TYPE_LATEST)
        return whole if method == "GET" else whole.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def _response(status: HTTPStatus, body: bytes, content_type: str) -> bytes:
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
