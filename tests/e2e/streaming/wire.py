"""A reader on a raw socket: every byte that came is kept, and read as server-sent events besides."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import dataclass, field
from typing import Self

WITHIN_S = 30


@dataclass(frozen=True, slots=True)
class Event:
    """One event as it came: its name, its id (empty: none), the segment that it is about, and the text."""

    name: str
    id: str = ""
    segment: str = ""
    text: str = ""


@dataclass(slots=True)
class Wire:
    """One HTTP/1.1 request and its answer."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    raw: bytearray = field(default_factory=bytearray)
    events: list[Event] = field(default_factory=list)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    over: bool = False
    _task: asyncio.Task[None] | None = None

    @classmethod
    async def ask(cls, port: int, path: str, **headers: str) -> Self:
        """Sends a request and begins to read."""
        wire = cls(*await asyncio.open_connection("127.0.0.1", port))
        await wire._send(path, headers)
        wire.read()
        return wire

    @classmethod
    async def ask_only(cls, port: int, path: str, **headers: str) -> Self:
        """Sends a request, and does not read yet; next to nothing is read for it in the meantime."""
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        line.setblocking(False)
        await asyncio.get_running_loop().sock_connect(line, ("127.0.0.1", port))
        wire = cls(*await asyncio.open_connection(sock=line, limit=4_096))
        await wire._send(path, headers)
        return wire

    async def _send(self, path: str, headers: dict[str, str]) -> None:
        lines = [f"GET {path} HTTP/1.1", "Host: t", "Connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())
        await self.writer.drain()

    def read(self) -> None:
        """Begins to read."""
        self._task = asyncio.create_task(self._read())

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self.raw.split(b" ", 2)[1])

    @property
    def body(self) -> bytes:
        """The body so far, without the framing of its chunks."""
        head, _, rest = bytes(self.raw).partition(b"\r\n\r\n")
        if b"transfer-encoding: chunked" not in head.lower():
            return rest
        found = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            length = int(size or b"0", 16)
            found += rest[:length]
            rest = rest[length + 2 :]
        return found

    async def has(self, count: int) -> None:
        """Returns when so many events have come."""
        async with asyncio.timeout(WITHIN_S), self.arrived:
            await self.arrived.wait_for(lambda: self.over or len(self.events) >= count)
        assert len(self.events) >= count, bytes(self.raw)

    async def end(self) -> list[Event]:
        """All events, once the answer is over."""
        async with asyncio.timeout(WITHIN_S), self.arrived:
            await self.arrived.wait_for(lambda: self.over)
        await self.cut()
        return self.events

    async def cut(self) -> None:
        """Drops the connection."""
        self.over = True
        self.writer.transport.abort()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _read(self) -> None:
        try:
            while data := await self.reader.read(65_536):
                self.raw += data
                async with self.arrived:
                    self.events = [_event(block) for block in self.body.decode().split("\n\n")[:-1]]
                    self.arrived.notify_all()
        except ConnectionError:
            pass
        async with self.arrived:
            self.over = True
            self.arrived.notify_all()


def _event(block: str) -> Event:
    fields = dict(line.split(": ", 1) for line in block.splitlines())
    data = json.loads(fields["data"])
    return Event(fields["event"], fields.get("id", ""), data.get("segment", ""), data.get("text", ""))
