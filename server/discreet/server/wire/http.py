"""Plain HTTP on the event loop, as little as the server needs of it: one request a connection, bounded in all ways.

Knows requests as far as their head, and nothing of what is answered.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

from discreet.server.errors import ListenRefused

HEAD_BYTES_MAX: Final = 8 * 1024
REQUEST_S: Final = 5.0
"""How long a request may take to arrive, and its answer to be taken."""
CONNECTIONS_MAX: Final = 16
"""Connections at a time; more are closed at once."""
PLAIN: Final = "text/plain; charset=utf-8"


class Request(NamedTuple):
    """A request whose body has not been read. Names of headers are in lower case; one that stands twice is left out."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: asyncio.StreamReader


class HttpListener:
    """Answers each connection's one request."""

    def __init__(self, what: str, answer: Callable[[Request], Awaitable[bytes]]) -> None:
        self._what = what
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def start(self, host: str, port: int) -> str:
        """HOST:PORT as it is served; port 0 takes a free one. Raises ListenRefused."""
        bare = host.strip("[]")
        try:
            self._server = await asyncio.start_server(self._connected, bare, port, limit=HEAD_BYTES_MAX)
        except OSError as error:
            why = (error.strerror or "cannot be bound").lower()
            raise ListenRefused(f"{self._what}: {host}:{port}: {why}; does something else listen there?") from None
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
                    writer.write(await self._answer(await _request(reader)))
                    await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked is gone, silent, or says what is no request: nothing is owed
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            del self._open[task]


async def _request(reader: asyncio.StreamReader) -> Request:
    first, *rest = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, _, target = first.partition(" ")
    headers: dict[str, str] = {}
    twice: set[str] = set()
    for line in rest:
        name, _, value = line.partition(":")
        key = name.strip().lower()
        twice |= {key} & headers.keys()
        headers[key] = value.strip()
    kept = {name: value for name, value in headers.items() if name not in twice}
    return Request(method, target.partition(" ")[0].partition("?")[0], kept, reader)


def response(status: HTTPStatus, body: bytes, content_type: str = PLAIN) -> bytes:
    """An answer, whole; the connection ends after it."""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
