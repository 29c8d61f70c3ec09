"""The bell: tells those who watch the database that something changed, so that they look at once.

A ring carries nothing. Whoever hears one reads the database, as it would have a moment later: a ring that is lost
costs time, one too many costs a read, and a flood of them is one read every `GAP_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Final

GAP_S: Final = 0.02
"""The shortest time between two wakings of one ear, and between two rings that are passed on to other servers."""


class Ear:
    """What one watcher hears."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._last = -GAP_S

    def hear(self) -> None:
        """Wakes whoever waits, or else whoever waits next."""
        self._rung.set()

    async def wait(self, timeout_s: float) -> bool:
        """True once it has rung since the last time, at most every `GAP_S`; False after that long without."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._rung.wait()
        if not self._rung.is_set():
            return False
        await asyncio.sleep(max(0.0, self._last + GAP_S - time.monotonic()))
        self._rung.clear()
        self._last = time.monotonic()
        return True


class Bell:
    """Rung in this process or in another one; every ear hears both."""

    def __init__(self) -> None:
        self._ears: list[Ear] = []
        self.others = Ear()
        """Hears what is rung in this process alone, to be passed on to the other servers."""

    def ear(self) -> Ear:
        """An ear of one's own, for as long as the server lives."""
        ear = Ear()
        self._ears.append(ear)
        return ear

    def ring(self) -> None:
        """Something changed that every server of the database should look at. Returns at once."""
        self.heard()
        self.others.hear()

    def heard(self) -> None:
        """Another server rang, or may have."""
        for ear in self._ears:
            ear.hear()
