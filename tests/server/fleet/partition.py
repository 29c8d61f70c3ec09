"""A line to a Unix socket that can fall silent: nothing is lost, nothing is refused, nothing comes through."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

CHUNK = 65_536


class Partition:
    """Passes bytes both ways between whoever connects to `path` and the socket `target`, unless it is silent."""

    def __init__(self, path: Path, target: Path) -> None:
        self._path = path
        self._target = target
        self._open = asyncio.Event()
        self._open.set()
        self._server: asyncio.Server | None = None
        self._lines: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listens."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self._path)

    def fall_silent(self) -> None:
        """From now on whatever is sent, in both directions, waits."""
        self._open.clear()

    def heal(self) -> None:
        """What waited comes through, in order."""
        self._open.set()

    async def stop(self) -> None:
        """Ends everything."""
        self.heal()
        if self._server is not None:
            self._server.close()
        for line in self._lines:
            line.cancel()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        far_writer: asyncio.StreamWriter | None = None
        try:
            with suppress(OSError, asyncio.CancelledError):
                far_reader, far_writer = await asyncio.open_unix_connection(self._target)
                async with asyncio.TaskGroup() as ways:
                    ways.create_task(self._pass_on(reader, far_writer))
                    ways.create_task(self._pass_on(far_reader, writer))
        finally:
            self._lines.discard(task)
            writer.transport.abort()
            if far_writer is not None:
                far_writer.transport.abort()

    async def _pass_on(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while chunk := await source.read(CHUNK):
                await self._open.wait()
                target.write(chunk)
                await target.drain()
            target.write_eof()
