"""Tells those who wait for purges that something may have changed. Knows no store: others tell it."""

from __future__ import annotations

import asyncio
import contextlib


class Tide:
    """Counts what may be news. Who waits names the count that it has seen."""

    def __init__(self) -> None:
        self.number = 0
        self.drained = False
        self._seq = -1
        self._next = asyncio.Event()

    def moved(self, seq: int) -> None:
        """The order was seen to be at `seq`: news where that is another number than before."""
        if seq != self._seq:
            self._seq = seq
            self.news()

    def news(self) -> None:
        """Wakes all who wait."""
        self.number += 1
        event, self._next = self._next, asyncio.Event()
        event.set()

    def drain(self) -> None:
        """From now on nobody waits any more."""
        self.drained = True
        self.news()

    async def after(self, number: int, seconds: float) -> None:
        """Returns once there is news beyond `number`, or the time is over."""
        if self.number != number or self.drained:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._next.wait()
