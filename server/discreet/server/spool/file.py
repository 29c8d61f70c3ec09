"""One file of the spool: blocks appended by one thread, read by whoever drains them. Knows no store.

A file is trusted only while its path leads to it and it is as long as what was written. After any error nothing is
appended to it again: what an fdatasync that failed has left on the disk, nobody knows.
"""

from __future__ import annotations

import errno
import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import uuid_utils

from discreet.server.ports import AuditRecord
from discreet.server.spool.blocks import Block, look_at, pack_block, rows_of, scan
from discreet.server.spool.rows import unpack_row

SUFFIX: Final = ".spool"


class Damaged(Exception):
    """A spool file lacks what was made durable in it. The message names the file and the place."""


class SpoolFile:
    """An open file. `append` and `seal` on the thread that writes; `blocks` and `rows` belong to the event loop."""

    def __init__(self, path: Path, handle: int, end: int, blocks: Sequence[Block]) -> None:
        self.path = path
        self.name = path.stem
        """What stands for it in the chain of the audit: names are in the order in which files began."""
        self.blocks = deque(blocks)
        """What is not in SQL yet."""
        self.closed = False
        """True once nothing is appended to it any more."""
        self.kept = False
        """True where it is not to be taken away: it holds what cannot be read back."""
        self._handle = handle
        self._identity = _identity(os.fstat(handle))
        self._end = end
        self._rows = sum(block.rows for block in blocks)

    @classmethod
    def create(cls, directory: Path) -> SpoolFile:
        """A new file, whose name is on the disk as well. Raises OSError."""
        path = directory / f"{uuid_utils.uuid7().hex}{SUFFIX}"
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            sync_directory(directory)
        except OSError:
            os.close(handle)
            raise
        return cls(path, handle, 0, ())

    @classmethod
    def found(cls, path: Path) -> SpoolFile:
        """A file that another process left, without the tail that it did not finish. Raises Damaged, OSError.

        Where the disk lets it, the tail is cut off and the file is sealed, so that whatever changes in it from then on
        is known for damage; where it does not, the same tail is passed over the next time.
        """
        handle, writable = _opened(path)
        try:
            data = _read(handle, 0, os.fstat(handle).st_size)
            found = scan(path.stem, data)
            if found.damaged_at is not None:
                before = f"{len(found.blocks)} whole block(s)"
                raise Damaged(f"{path}: is damaged at byte {found.damaged_at}, behind {before}")
            file = cls(path, handle, found.end, found.blocks)
            if writable and found.blocks:
                file.seal(found.blocks[-1].at)
            file.closed = True
        except BaseException:
            os.close(handle)
            raise
        return file

    @property
    def size(self) -> int:
        """Bytes that are durable in it."""
        return self._end

    def append(self, at: int, rows: Sequence[bytes]) -> Block:
        """Rows as one block, durable once it returns. Raises OSError; then the file is not to be written again."""
        data = memoryview(pack_block(self.name, self._end, at, rows))
        block = Block(self._end, self._end + len(data), self._rows, len(rows), at)
        while data:
            data = data[os.write(self._handle, data) :]
        os.fdatasync(self._handle)
        self._require_whole(block.end)
        self._end, self._rows = block.end, self._rows + block.rows
        return block

    def seal(self, at: int) -> None:
        """Cuts off what is not whole and says that the rest was durable; does what the disk lets it."""
        try:
            if os.fstat(self._handle).st_size > self._end:
                os.ftruncate(self._handle, self._end)
            self.append(at, ())
        except OSError:
            return

    def read(self, blocks: Sequence[Block]) -> list[AuditRecord]:
        """The rows of blocks, up to the first that is not there any more. Raises Damaged where that is the first."""
        found: list[AuditRecord] = []
        for block in blocks:
            data = _read(self._handle, block.offset, block.size)
            if look_at(self.name, data, 0, block.first, base=block.offset) != block:
                if found:
                    return found
                raise Damaged(f"{self.path}: the block at byte {block.offset} is no longer as it was written")
            found += [unpack_row(row) for row in rows_of(data)]
        return found

    def close(self) -> None:
        """Lets go of the file, and leaves it."""
        os.close(self._handle)

    def remove(self) -> None:
        """Lets go of the file, and takes it away, where it is still the one at its path."""
        try:
            if _identity(self.path.stat()) == self._identity:
                self.path.unlink()
        except OSError:
            return
        finally:
            os.close(self._handle)

    def _require_whole(self, end: int) -> None:
        there = self.path.stat()
        if _identity(there) != self._identity or there.st_size != end:
            raise OSError(errno.ESTALE, "was replaced or cut while it was written", str(self.path))


def sync_directory(directory: Path) -> None:
    """Makes the names in a directory durable. Raises OSError."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _opened(path: Path) -> tuple[int, bool]:
    """A handle, and whether it can write."""
    try:
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC), True
    except OSError as error:
        if error.errno not in {errno.EROFS, errno.EACCES, errno.EPERM}:
            raise
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC), False


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _read(handle: int, offset: int, size: int) -> bytes:
    """What is there of so many bytes."""
    parts: list[bytes] = []
    while size > 0 and (part := os.pread(handle, size, offset)):
        parts.append(part)
        offset, size = offset + len(part), size - len(part)
    return b"".join(parts)
