"""A line to PostgreSQL that breaks where a test wants it to. Must know nothing of what is sent, but for a few bytes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import scratch

SOCKET = ".s.PGSQL.5432"
CHUNK = 65_536


@dataclass
class Breaker:
    """Passes bytes both ways. When armed, the next question that contains `marker` breaks its line."""

    url: str
    marker: bytes | None = None
    answered: bool = True
    refusing: bool = False
    broken: int = 0

    def arm(self, marker: bytes = b"", *, answered: bool) -> None:
        """`answered`: the server gets the question and its answer is lost; else the question itself is lost."""
        self.marker, self.answered = marker, answered


@asynccontextmanager
async def breaker(url: str) -> AsyncIterator[Breaker]:
    """A way to the database of `url` that can be broken."""
    address, _, home = url.partition("host=")
    with TemporaryDirectory(prefix="dbr-", dir=scratch.short()) as directory:
        line = Breaker(f"{address}host={directory}")
        tasks: set[asyncio.Task[None]] = set()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            tasks.add(task)
            with suppress(ConnectionError, asyncio.CancelledError):
                await _pass_on(line, Path(home) / SOCKET, reader, writer)
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

        server = await asyncio.start_unix_server(serve, Path(directory) / SOCKET)
        yield line
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pass_on(line: Breaker, target: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    if line.refusing:
        return
    answers, questions = await asyncio.open_unix_connection(target)
    back = asyncio.create_task(_copy(answers, writer))
    try:
        while chunk := await reader.read(CHUNK):
            if line.marker is not None and line.marker in chunk:
                line.marker = None
                line.broken += 1
                back.cancel()
                await asyncio.gather(back, return_exceptions=True)
                if line.answered:
                    questions.write(chunk)
                    await answers.read(CHUNK)
                return
            questions.write(chunk)
            await questions.drain()
    finally:
        questions.close()
        back.cancel()
        await asyncio.gather(back, return_exceptions=True)
        with suppress(ConnectionError):
            await questions.wait_closed()


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while chunk := await source.read(CHUNK):
        target.write(chunk)
        await target.drain()
