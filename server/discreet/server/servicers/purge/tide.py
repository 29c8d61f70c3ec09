"""Tells those who wait for purges that something may have changed. Knows no store: others tell it."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter

Line = tuple[str, str]
"""Tenant and holder."""


class Tide:
    """Counts what may be news. Who waits names the count that it has seen: of everything, or of one holder's lines."""

    def __init__(self) -> None:
        self.number = 0
        """News of any kind."""
        self.drained = False
        self._of_all = 0
        self._own: Counter[Line] = Counter()
        self._waiting: dict[Line | None, asyncio.Event] = {}
        self._seq = -1
        self._moved = asyncio.Event()

    def moved(self, seq: int) -> None:
        """The order of the index was seen to be at `seq`; most of what moves it is no news here."""
        if seq != self._seq:
            self._seq = seq
            self._moved.set()

    async def move(self) -> None:
        """Returns once the order moved since the last call; for one task alone."""
        await self._moved.wait()
        self._moved.clear()

    def number_of(self, line: Line) -> int:
        """News that concern the lines of one holder."""
        return self._of_all + self._own[line]

    def news(self, line: Line | None = None) -> None:
        """Wakes all who wait; with `line` those of one holder, and those who want to know everything."""
        self.number += 1
        if line is None:
            self._of_all += 1
        else:
            self._own[line] += 1
        for one in list(self._waiting) if line is None else (line, None):
            event = self._waiting.pop(one, None)
            if event is not None:
                event.set()

    def drain(self) -> None:
        """From now on nobody waits any more."""
        self.drained = True
        self.news()

    async def after(self, number: int, seconds: float, line: Line | None = None) -> None:
        """Returns once there is news beyond `number`, or the time is over."""
        if self.drained or number != (self.number if line is None else self.number_of(line)):
            return
        event = self._waiting.setdefault(line, asyncio.Event())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await event.wait()
