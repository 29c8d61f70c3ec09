"""A line to a server that can be slow, fall silent, or be cut, as a proxy or a network does. Knows nothing of Redis."""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

CHUNK = 65_536
Line = asyncio.Task[None]


class Relay:
    """Passes bytes both ways between whoever connects to `port` of loopback and a port behind it."""

    def __init__(self, target: int, *, tls: ssl.SSLContext | None = None) -> None:
        self._target = target
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._lines: set[asyncio.Task[None]] = set()
        self._passing = asyncio.Event()
        self._passing.set()
        self._said: dict[asyncio.Task[None], bytes] = {}
        self._muted: set[asyncio.Task[None]] = set()
        self.delay_s = 0.0
        """How long each chunk of an answer is held back."""
        self.port = 0
        self.accepted = 0

    @property
    def url(self) -> str:
        """Where it is, for Redis."""
        return f"redis{'s' if self._tls else ''}://127.0.0.1:{self.port}/0"

    async def start(self) -> None:
        """Listens."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]

    def silence(self) -> None:
        """Nothing passes any more, on any line, old or new; none is closed: a network that drops packets."""
        self._passing.clear()

    def speak(self) -> None:
        """What was held back passes, and all else."""
        self._passing.set()

    def mute(self, said: bytes) -> None:
        """Nothing comes back any more on the lines that there are on which this was said; none is closed."""
        self._muted |= {line for line, head in self._said.items() if said in head}

    def cut(self) -> None:
        """Ends all lines at once, mid-sentence; new ones are accepted."""
        for line in self._lines:
            line.cancel()

    async def stop(self) -> None:
        """Ends everything."""
        if self._server is not None:
            self._server.close()
        for _ in range(10):  # until those that were accepted last have begun
            await asyncio.sleep(0)
        self.cut()
        await asyncio.gather(*self._lines, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._lines.add(task)
        self.accepted += 1
        try:
            with suppress(OSError, asyncio.CancelledError):
                await self._pass_on(reader, writer)
        finally:
            self._lines.discard(task)
            self._said.pop(task, None)
            writer.transport.abort()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._passing.wait()
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        line = asyncio.current_task()
        assert line is not None
        there, back = self._ask(line, reader, far_writer), self._answer(line, far_reader, writer)
        ways = [asyncio.create_task(there), asyncio.create_task(back)]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            far_writer.transport.abort()

    async def _ask(self, line: Line, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while chunk := await source.read(CHUNK):
            await self._passing.wait()
            self._said[line] = (self._said.get(line, b"") + chunk)[-CHUNK:]
            target.write(chunk)
            await target.drain()

    async def _answer(self, line: Line, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while chunk := await source.read(CHUNK):
            await self._passing.wait()
            if self.delay_s:
                await asyncio.sleep(self.delay_s)
            if line not in self._muted:
                target.write(chunk)
                await target.drain()
