"""The thread that writes a spool: rows that wait together share one block, one write and one fdatasync."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from discreet.server.spool.blocks import Block
from discreet.server.spool.file import SpoolFile

BLOCK_ROWS_MAX: Final = 256
BLOCK_BYTES_MAX: Final = 1024 * 1024
"""Rows in one block; a larger row has one of its own."""
FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Beyond it a new file is begun."""


class Waiting(NamedTuple):
    """A row that waits to be written."""

    data: bytes
    future: asyncio.Future[None]


class Written(NamedTuple):
    """What became of a block: it is durable, or why it is not."""

    file: SpoolFile | None
    block: Block | None
    rows: Sequence[Waiting]
    error: Exception | None


class Appender:
    """Writes what it is given, in order. Tells the event loop of each block, and of each file that it has done with."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        begin: Callable[[], SpoolFile],
        wall: Callable[[], int],
        written: Callable[[Written], None],
        done_with: Callable[[SpoolFile], None],
    ) -> None:
        self._loop = loop
        self._begin = begin
        self._wall = wall
        self._written = written
        self._done_with = done_with
        self._file: SpoolFile | None = None
        self._rows: deque[Waiting] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="discreet-spool", daemon=True)
        self._thread.start()

    def append(self, row: Waiting) -> None:
        """Has a row written; its future says when that is done. On the event loop."""
        with self._wake:
            self._rows.append(row)
            self._wake.notify()

    def stop(self) -> None:
        """Writes what waits, seals the file and ends the thread. Not on the event loop."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        while rows := self._next():
            self._write(rows)
        self._end_file(seal=True)

    def _next(self) -> list[Waiting]:
        """The rows of the next block; none once it is over."""
        with self._wake:
            while not self._rows and not self._stopping:
                self._wake.wait()
            rows: list[Waiting] = []
            size = 0
            while self._rows and len(rows) < BLOCK_ROWS_MAX:
                size += len(self._rows[0].data)
                if rows and size > BLOCK_BYTES_MAX:
                    break
                rows.append(self._rows.popleft())
            return rows

    def _write(self, rows: Sequence[Waiting]) -> None:
        if self._file is not None and self._file.kept:
            self._end_file(seal=False)
        try:
            if self._file is None:
                self._file = self._begin()
            file = self._file
            block = file.append(self._wall(), [row.data for row in rows])
        except Exception as error:  # noqa: BLE001 - it is handed to each whose row it was, and the thread goes on
            self._tell(self._written, Written(None, None, rows, error))
            self._end_file(seal=False)
            return
        self._tell(self._written, Written(file, block, rows, None))
        if file.size >= FILE_BYTES_MAX:
            self._end_file(seal=True)

    def _end_file(self, *, seal: bool) -> None:
        """Begins no block in the file any more. After an error it is not sealed: its end is not known."""
        if self._file is None:
            return
        if seal:
            self._file.seal(self._wall())
        self._tell(self._done_with, self._file)
        self._file = None

    def _tell(self, told: Callable[..., None], *values: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(told, *values)
