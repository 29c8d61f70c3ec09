"""Head reads that many callers share: each gets one that began after it asked (AUTHORITATIVE)."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from discreet.server.ports import Clock, DatabaseChanged, Head, Store


class HeadRead(NamedTuple):
    """A head, and when its read began and returned by the monotonic clock."""

    head: Head
    began_ns: int
    returned_ns: int


class SharedHeads:
    """At most one read under way and one waiting; who asks while one is under way gets the next."""

    def __init__(self, store: Store, opened: Head, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._running: asyncio.Task[Head] | None = None
        self._next: asyncio.Task[Head] | None = None
        self.last = opened
        """The highest head seen; what comes below it is not believed."""
        self.last_read: HeadRead | None = None
        """The newest read; None: none was made since the store was opened, or it is another database now."""

    async def read(self) -> Head:
        """A head whose read began after this call. Raises StoreError."""
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._read())
            return await asyncio.shield(self._running)
        if self._next is None:
            self._next = asyncio.create_task(self._read_after(self._running))
        return await asyncio.shield(self._next)

    async def _read_after(self, running: asyncio.Task[Head]) -> Head:
        await asyncio.wait({running})
        self._running, self._next = self._next, None
        return await self._read()

    async def _read(self) -> Head:
        try:
            return await self._believed()
        except DatabaseChanged:
            self.last_read = None  # what was read of another database is no earlier state of this one
            raise

    async def _believed(self) -> Head:
        began_ns = self._clock.monotonic_ns()
        head = await self._store.head()
        if head.epoch != self.last.epoch:
            raise DatabaseChanged(
                "the database was adopted, or is another one, since this server started: start the server again"
            )
        if head.seq >= self.last.seq:
            self.last = head
        elif head.seq < self.last.seq:
            raise DatabaseChanged(
                "the database went back: this server has seen a later state of it, so that a revoke may be missing; if"
                " that is meant, stop the server, run `discreet db adopt`, and start again"
            )
        self.last_read = HeadRead(head, began_ns, self._clock.monotonic_ns())
        return head
