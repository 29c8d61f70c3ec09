"""A line between two Unix sockets that can be cut, with whatever is on it. Must know nothing of what is sent."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

CHUNK = 65_536


class Relay:
    """Passes bytes both ways between whoever connects to `path` and the socket `target`."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self._target = target
        self._server: asyncio.Server | None = None
        self._lines: set[asyncio.Task[None]] = set()
        self.cuts = 0

    async def start(self) -> None:
        """Listens."""
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    def cut(self) -> None:
        """Ends all lines at once, mid-sentence; new ones are accepted."""
        self.cuts += len(self._lines)
        for line in self._lines:
            line.cancel()

    async def stop(self) -> None:
        """Ends everything."""
        if self._server is not None:
            self._server.close()
        self.cut()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._pass_on(reader, writer)
        finally:
            self._lines.discard(task)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_unix_connection(self._target)
        ways = [asyncio.create_task(_copy(reader, far_writer)), asyncio.create_task(_copy(far_reader, writer))]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            far_writer.transport.abort()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK):
        target.write(chunk)
        await target.drain()
