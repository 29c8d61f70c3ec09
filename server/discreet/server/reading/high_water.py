"""The highest state that this server has seen of a database, on disk: what comes back below it is not served.

A restored backup or a copy that lags may lack a revoke. One small file an epoch, so that several databases may share a
state directory, and a new database is nothing that was seen before. Must not know stores.
"""

from __future__ import annotations

import os
from pathlib import Path

from discreet.server.errors import StoreRefused
from discreet.server.ports import Head

DIGITS_MAX = 20
"""A mark is one number of at most so many digits."""


class HighWater:
    """The mark of one server. `note` runs beside the event loop; nobody else writes between two calls of it."""

    def __init__(self, state_dir: Path) -> None:
        self._directory = state_dir / "high-water"
        self._noted = -1

    def admit(self, head: Head) -> None:
        """Takes the head that a store opened with as the mark from now on.

        StoreRefused where a higher one was seen of this epoch, or where the mark cannot be read or kept: a server that
        forgets what it saw could not tell the next time.
        """
        path = self._path(head.epoch)
        try:
            seen = self._read(path)
            if seen > head.seq:
                raise StoreRefused(
                    "the database went back: this server has seen a later state of it, so that a revoke may be missing "
                    f"(a restored backup, or a copy that lags); where that is meant, remove {path} and start again"
                )
            self.note(head)
        except ValueError:
            raise StoreRefused(f"{path}: is damaged; where the database has lost nothing, remove it") from None
        except OSError as error:
            raise StoreRefused(f"{path}: cannot be kept: {error.strerror}; name a directory with --state") from None

    def note(self, head: Head) -> None:
        """Raises the mark to a head, durably. OSError where that fails, ValueError where the file is damaged."""
        if head.seq <= self._noted:
            return
        path = self._path(head.epoch)
        if self._read(path) < head.seq:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}")
            with part.open("w", encoding="ascii") as file:
                file.write(f"{head.seq}\n")
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        self._noted = head.seq

    def _path(self, epoch: str) -> Path:
        return self._directory / epoch

    @staticmethod
    def _read(path: Path) -> int:
        """The mark; -1 where there is none yet."""
        try:
            text = path.read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return -1
        if not (text.isdigit() and len(text) <= DIGITS_MAX):
            raise ValueError("not a number")
        return int(text)
