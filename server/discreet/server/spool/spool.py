"""The spool of one server: appends rows, keeps account of what is not in SQL yet, and drains it.

All accounts are kept on the event loop. The thread that writes tells of every block and of every file in turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from discreet.server.errors import SpoolRefused
from discreet.server.logs import Log
from discreet.server.ports import AuditRecord, Clock
from discreet.server.ports_spool import SpoolError, SpoolState
from discreet.server.spool.appending import Appender, Waiting, Written
from discreet.server.spool.blocks import Block
from discreet.server.spool.file import SUFFIX, Damaged, SpoolFile, sync_directory
from discreet.server.spool.lock import SpoolLock
from discreet.server.spool.rows import pack_row

BATCH_ROWS_MAX: Final = 256
"""Rows that go into SQL in one transaction; a block is never parted."""
BATCH_BYTES_MAX: Final = 4 * 1024 * 1024
WAITING_BYTES_MAX: Final = 16 * 1024 * 1024
"""Rows that wait for the disk. With more, those that come are refused: a slow disk is felt as backpressure."""


class Batch(NamedTuple):
    """Rows that go into SQL next. `first`: the number of the first in its file."""

    file: SpoolFile
    first: int
    records: Sequence[AuditRecord]


class Spool:
    """Implements `discreet.server.ports_spool.Spooling` on a directory. `open` first, `close` at the end."""

    def __init__(self, state_dir: Path, mb_max: int, clock: Clock, log: Log) -> None:
        self._base = state_dir / "spool"
        self._bytes_max = mb_max * 1024 * 1024
        self._clock = clock
        self._log = log
        self._locks: list[SpoolLock] = []
        self._files: deque[SpoolFile] = deque()
        self._appender: Appender | None = None
        self._waiting_bytes = 0
        self._rows = self._bytes = self._lost = 0
        self.failed_drains = 0
        self.trouble = ""
        """Why rows do not come into SQL, while they do not."""
        self._refused = ""
        """Why rows cannot be made durable, while they cannot."""
        self._full = False
        """True once a row was refused for want of room, until there is some."""
        self.more = asyncio.Event()
        """Set whenever there may be rows to drain."""

    def open(self, epochs: Sequence[str], *, wanted: bool) -> None:
        """Takes over what was left for a database; `epochs`: the one it has, then those that it stands in for.

        `wanted`: rows will be spooled, so that the lock must be had; else it is taken where it is needed first. Raises
        SpoolRefused.
        """
        try:
            for number, epoch in enumerate(epochs):
                self._take_over(self._base / epoch, needed=wanted and number == 0)
        except (SpoolError, Damaged) as error:
            raise SpoolRefused(_refusal(error)) from None
        except OSError as error:
            raise SpoolRefused(f"{error.filename or self._base}: the spool cannot be used: {error.strerror}") from None
        place, lock = self._base / epochs[0], self._locks[0]
        loop, wall = asyncio.get_running_loop(), self._clock.wall
        self._appender = Appender(loop, lambda: _begin(place, lock), wall, self._written, self._done_with)
        if self._rows:
            self._log.info("the audit spool holds rows that an earlier server left", rows=self._rows)
            self.more.set()

    def _take_over(self, place: Path, *, needed: bool) -> None:
        lock = SpoolLock(place)
        self._locks.append(lock)
        if needed:
            _make(place)
        elif next(place.glob(f"*{SUFFIX}"), None) is None:
            return
        lock.acquire()
        for path in sorted(place.glob(f"*{SUFFIX}")):
            file = SpoolFile.found(path)
            self._count(file.blocks)
            self._files.append(file)
        self._sweep()

    async def append(self, record: AuditRecord) -> None:
        """Returns once the row is durable on this machine. Raises SpoolError: then nothing may be disclosed by it."""
        data = pack_row(record)
        if self._appender is None:
            raise SpoolError("the spool is closed")
        if self._bytes + self._waiting_bytes + len(data) > self._bytes_max:
            self._full = True
            raise SpoolError(f"the audit spool is full: {self._bytes} bytes are not in the database yet")
        if self._waiting_bytes and self._waiting_bytes + len(data) > WAITING_BYTES_MAX:
            raise SpoolError(f"the disk of the audit spool is slow: {self._waiting_bytes} bytes wait for it")
        row = Waiting(data, asyncio.get_running_loop().create_future())
        self._waiting_bytes += len(data)
        self._appender.append(row)
        await row.future

    @property
    def state(self) -> SpoolState:
        """How much waits."""
        oldest = next((file.blocks[0].at for file in self._files if file.blocks), None)
        waited_ms = 0 if oldest is None else max(0, self._clock.wall() - oldest) // 1_000
        return SpoolState(self._rows, self._bytes, waited_ms, self._lost, self.failed_drains)

    def problems(self) -> list[str]:
        """What is wrong or degraded."""
        found = []
        if self._full:
            found.append(f"audit spool: is full, with {self._rows} rows; what it should hold is withheld")
        if self._refused:
            found.append(f"audit spool: {self._refused}; what it should hold is withheld")
        if self.trouble:
            found.append(f"audit spool: {self._rows} rows wait for the database: {self.trouble}")
        if self._lost:
            found.append(f"audit spool: {self._lost} rows that were recorded cannot be read back")
        return found

    async def batch(self) -> Batch | None:
        """What goes into SQL next; None where nothing waits. What cannot be read back is counted and said."""
        while (file := next((file for file in self._files if file.blocks), None)) is not None:
            blocks = _together(file.blocks)
            try:
                return Batch(file, blocks[0].first, await asyncio.to_thread(file.read, blocks))
            except Damaged as error:
                self._lose(file, error)
            except OSError as error:
                raise SpoolError(f"{file.path} cannot be read: {error.strerror}") from None
        return None

    def drained(self, file: SpoolFile, count: int) -> None:
        """So many rows of a file are in SQL. A file that is done with goes once all its rows are."""
        while file.blocks and file.blocks[0].first + file.blocks[0].rows <= count:
            self._uncount([file.blocks.popleft()])
            self._full = False
        self._sweep()

    async def end(self) -> None:
        """Takes no more rows, and has written all that came before."""
        appender, self._appender = self._appender, None
        if appender is not None:
            await asyncio.to_thread(appender.stop)

    def close(self) -> None:
        """Lets go of everything; what is not drained stays for the next start."""
        self._sweep()
        while self._files:
            self._files.popleft().close()
        while self._locks:
            self._locks.pop().release()

    def _written(self, written: Written) -> None:
        """What became of a block, told by the thread."""
        self._waiting_bytes -= sum(len(row.data) for row in written.rows)
        error = None
        if written.file is None or written.block is None:
            error = self._refusing(_why(written.error))
        elif written.file.kept:
            error = self._refusing("was damaged while it was written")
        else:
            self._hold(written.file, written.block)
        for row in written.rows:
            if row.future.done():
                continue
            if error is None:
                row.future.set_result(None)
            else:
                row.future.set_exception(error)

    def _hold(self, file: SpoolFile, block: Block) -> None:
        if file not in self._files:
            self._files.append(file)
        file.blocks.append(block)
        self._count([block])
        self.more.set()
        if self._refused:
            self._refused = ""
            self._log.info("the audit spool takes rows again")

    def _done_with(self, file: SpoolFile) -> None:
        file.closed = True
        if file not in self._files:
            self._files.append(file)
        self._sweep()

    def _refusing(self, why: str) -> SpoolError:
        if not self._refused:
            self._log.error("the audit spool takes no rows: what it should hold is withheld", error=why)
        self._refused = why
        return SpoolError(f"the audit spool {why}")

    def _lose(self, file: SpoolFile, error: Damaged) -> None:
        """What stands behind damage keeps its place in the file: nothing of it goes into SQL as something else."""
        rows = sum(block.rows for block in file.blocks)
        self._lost += rows
        self._uncount(file.blocks)
        file.blocks.clear()
        file.kept = True
        self._log.error("rows of the audit spool cannot be read back; the file stays", rows=rows, error=str(error))

    def _sweep(self) -> None:
        """Takes away the files that are done with."""
        done = [file for file in self._files if file.closed and not file.blocks and not file.kept]
        for file in done:
            self._files.remove(file)
            file.remove()

    def _count(self, blocks: Sequence[Block] | deque[Block]) -> None:
        self._rows += sum(block.rows for block in blocks)
        self._bytes += sum(block.size for block in blocks)

    def _uncount(self, blocks: Sequence[Block] | deque[Block]) -> None:
        self._rows -= sum(block.rows for block in blocks)
        self._bytes -= sum(block.size for block in blocks)


def _begin(place: Path, lock: SpoolLock) -> SpoolFile:
    """A new file, in a directory that is made where it is not there. On the thread that writes."""
    _make(place)
    lock.acquire()
    return SpoolFile.create(place)


def _make(place: Path) -> None:
    """Makes a directory whose name lasts, where it is not there."""
    if not place.is_dir():
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_directory(place.parent)
        sync_directory(place.parent.parent)


def _together(blocks: deque[Block]) -> list[Block]:
    found: list[Block] = []
    rows = size = 0
    for block in blocks:
        rows, size = rows + block.rows, size + block.size
        if found and (rows > BATCH_ROWS_MAX or size > BATCH_BYTES_MAX):
            break
        found.append(block)
    return found


def _why(error: Exception | None) -> str:
    if isinstance(error, OSError):
        return f"cannot be written: {error.strerror or type(error).__name__}"
    return str(error) if isinstance(error, SpoolError) else type(error).__name__


def _refusal(error: Exception) -> str:
    if isinstance(error, Damaged):
        return (
            f"{error}, so that rows of the audit would be lost; restore the file, or move it to where it is kept and"
            " start again: what is in it and not in the database is then missing there"
        )
    return str(error)
