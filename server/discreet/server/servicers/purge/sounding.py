"""Looks, once whenever the order of the index was seen to move, whether that concerns purges; for all lines together.

Commits and decisions move it all the time, and must not have every holder's line look.
"""

from __future__ import annotations

import asyncio

from discreet.server.logs import Log
from discreet.server.ports import Store, StoreError
from discreet.server.ports_purge import PurgeMark
from discreet.server.servicers.purge.tide import Tide


class Sounding:
    """Makes news of what moved, where it is any."""

    def __init__(self, store: Store, tide: Tide, log: Log, timeout_s: float) -> None:
        self._store = store
        self._tide = tide
        self._log = log
        self._timeout_s = timeout_s

    async def run(self) -> None:
        """Looks until it is cancelled. Where a look fails all who wait look for themselves."""
        last: PurgeMark | None = None
        while True:
            await self._tide.move()
            found = await self._mark()
            if found is None or found != last:
                self._tide.news()
            last = found

    async def _mark(self) -> PurgeMark | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._store.look(lambda look: look.purges.mark())
        except (StoreError, TimeoutError) as error:
            self._log.warning("what concerns purges could not be looked for", error=type(error).__name__)
            return None
