"""The lock of a spool's directory: two servers that appended to one spool would drain each other's rows."""

import fcntl
import os
import socket
from pathlib import Path
from typing import Final

from discreet.server.ports_spool import SpoolError

HOLDER_BYTES_MAX: Final = 512


class SpoolLock:
    """An exclusive lock. The kernel lets go of it when the process ends, in any way."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory / "lock"
        self._handle: int | None = None

    def acquire(self) -> None:
        """Takes the lock, unless it is held. Raises SpoolError naming the process that has it, and OSError."""
        if self._held():
            return
        self.release()
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, HOLDER_BYTES_MAX, 0).decode("utf-8", "replace").strip()
            os.close(handle)
            raise SpoolError(
                f"another server has this spool: {holder or 'a process that did not say'} ({self._directory});"
                " stop it, or give this one a --state of its own"
            ) from None
        except OSError:
            os.close(handle)
            raise
        self._handle = handle
        self._say(f"process {os.getpid()} on {socket.gethostname()}\n")

    def release(self) -> None:
        """Lets go. The file stays: removing it would let two servers lock two files of one name."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _held(self) -> bool:
        """Whether it is: the lock of a directory that was taken away keeps nobody off the one in its place."""
        if self._handle is None or not self._path.exists():
            return False
        return os.path.samestat(self._path.stat(), os.fstat(self._handle))

    def _say(self, holder: str) -> None:
        """Names the holder, where the disk has room for it: the lock holds without."""
        assert self._handle is not None
        try:
            os.ftruncate(self._handle, 0)
            os.pwrite(self._handle, holder.encode(), 0)
        except OSError:
            return
