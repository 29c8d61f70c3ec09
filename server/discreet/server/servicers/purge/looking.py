"""What a line to a holder has to look at before each message, shared by lines that ask the same. Decides nothing.

A commit storm or hundreds of streams must not take the readers of the store from those who decide: few looks are under
way at a time, and all who ask the same before one has begun get that one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from discreet.policy.facts import Micros
from discreet.server.ports import Store
from discreet.server.ports_authority import Look
from discreet.server.ports_purge import PartKey, PurgeMark, Shown

LOOKS_UNDER_WAY_MAX: Final = 2


class Asked(NamedTuple):
    """What one line wants to know.

    `sent`: keys that it sent and that were not answered. `room`: how many more it may send. `held`: how many held items
    it wants at most. `mark`, `until`: held items are wanted only where the mark is another one, or that time has come.
    """

    tenant: str
    holder: str
    sent: frozenset[PartKey]
    room: int
    held: int
    mark: PurgeMark | None
    until: Micros


class Seen(NamedTuple):
    """One state of the database. `held` None: not looked at, since nothing moved that it follows from."""

    now: Micros
    sent: Mapping[PartKey, Shown]
    found: Sequence[Shown]
    held: Sequence[PartKey] | None
    next_due: Micros | None
    mark: PurgeMark


class Looks:
    """Looks of one server's lines."""

    def __init__(self, store: Store, timeout_s: float) -> None:
        self._store = store
        self._timeout_s = timeout_s
        self._room = asyncio.Semaphore(LOOKS_UNDER_WAY_MAX)
        self._waiting: dict[Asked, asyncio.Task[Seen]] = {}

    async def seen(self, asked: Asked) -> Seen:
        """What a look saw that began after this call. Raises StoreError, TimeoutError."""
        task = self._waiting.get(asked)
        if task is None:
            task = self._waiting[asked] = asyncio.create_task(self._look(asked))
            task.add_done_callback(_heard)
        async with asyncio.timeout(self._timeout_s):
            return await asyncio.shield(task)

    async def _look(self, asked: Asked) -> Seen:
        async with self._room:
            del self._waiting[asked]
            async with asyncio.timeout(self._timeout_s):
                return await self._store.look(lambda look: _read(look, asked))


def _heard(task: asyncio.Task[Seen]) -> None:
    """Who asked may have gone: then nobody else hears of the error."""
    if not task.cancelled():
        task.exception()


def _read(look: Look, asked: Asked) -> Seen:
    purges, mine = look.purges, (asked.tenant, asked.holder)
    mark = purges.mark()
    sent = purges.parts(*mine, sorted(asked.sent)) if asked.sent else {}
    found = purges.deliverable(*mine, len(asked.sent) + asked.room) if asked.room else ()
    moved = mark != asked.mark or look.now >= asked.until
    held = purges.held(*mine, asked.held) if moved else None
    return Seen(look.now, sent, found, held, purges.next_due(*mine), mark)
