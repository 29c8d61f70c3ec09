"""The facts of a call, as of a head that was read after the call arrived.

Head first, then the tail of changes if there are any, then the cache, then one fetch for what is not there. A store
that does not answer in time is a StoreError: the caller withholds.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from discreet.policy.facts import FactIds, Facts, Micros
from discreet.policy.token import Token, decode
from discreet.server.errors import Precondition
from discreet.server.ports import Clock, DatabaseChanged, Head, Store
from discreet.server.reading.cache import FactCache
from discreet.server.reading.heads import HeadRead, SharedHeads

CHANGES_PAGE = 1_000
CHANGES_PAGES_MAX = 10
"""More changes than this at once: forgetting everything is cheaper than applying them."""
FETCH_TRIES_MAX = 3
KEPT_AT_ONCE_MAX = 1_000
"""Records of one fetch by ledger ids that are kept; more would drive out what everybody else reads."""


class Reading(NamedTuple):
    """Facts, the head they were asked under, and the database's clock at that head."""

    facts: Facts
    head: Head
    now: Micros
    age_us: int | None = None
    """How old they may be, where they were not read for this call."""


class FactReader:
    """Reads facts for decisions; shared by all calls of a server."""

    def __init__(self, store: Store, opened: Head, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self.heads = SharedHeads(store, opened, clock)
        self._cache = FactCache(opened.epoch, opened.changed_seq)
        self._tailing: asyncio.Task[None] | None = None
        self._fetching: dict[tuple[str, FactIds], asyncio.Task[Facts]] = {}
        self.hits = 0
        self.misses = 0
        self.recent_hits = 0
        """Calls that were answered from memory without a read of the head."""

    async def read(self, tenant: str, ids: FactIds, min_token: str = "") -> Reading:
        """The facts.

        Raises StoreError where they cannot be read, Precondition where the token names no state of this database.
        """
        head = await self.heads.read()
        require_token(head, min_token)
        await self._catch_up(head)
        facts = self._cache.facts(tenant, ids, head.seq)
        if facts is None:
            self.misses += 1
            facts = await self._fetch(tenant, ids, head)
        else:
            self.hits += 1
        return Reading(facts, head, head.now)

    def recent(self, read: HeadRead, tenant: str, ids: FactIds, min_token: str) -> Reading | None:
        """The facts as of an earlier read of the head; None where they are not all in memory.

        Precondition where the token is of another database; one that is ahead of that head has the head read.
        """
        head = read.head
        if min_token and is_ahead(head, min_token):
            return None
        if self._cache.tail < head.changed_seq:
            return None
        facts = self._cache.facts(tenant, ids, head.seq)
        if facts is None:
            return None
        self.recent_hits += 1
        now_ns = self._clock.monotonic_ns()
        now = Micros(head.now + (now_ns - read.returned_ns) // 1_000)
        return Reading(facts, head, now, (now_ns - read.began_ns) // 1_000)

    async def _catch_up(self, head: Head) -> None:
        """Applies all changes up to the head's. Shared: who waits needs them too, and more do no harm."""
        while self._cache.tail < head.changed_seq:
            if self._tailing is None or self._tailing.done():
                self._tailing = asyncio.create_task(self._tail(head))
            await asyncio.shield(self._tailing)

    async def _tail(self, head: Head) -> None:
        after = self._cache.tail
        for _ in range(CHANGES_PAGES_MAX):
            page = await self._store.changes(after, CHANGES_PAGE)
            complete = len(page) < CHANGES_PAGE
            self._cache.apply(page, head.changed_seq if complete else 0)
            if complete or self._cache.tail >= head.changed_seq:
                return
            after = page[-1].seq
        self._cache.clear(head.changed_seq)

    async def _fetch(self, tenant: str, ids: FactIds, head: Head) -> Facts:
        """One fetch for all who ask the same at once; one that began too early for the head is not taken."""
        key = (tenant, ids)
        for _ in range(FETCH_TRIES_MAX):
            task = self._fetching.get(key)
            if task is None:
                task = self._fetching[key] = asyncio.create_task(self._load(tenant, ids))
                task.add_done_callback(lambda _done: self._fetching.pop(key, None))
            facts = await asyncio.shield(task)
            if facts.epoch == head.epoch and facts.seq >= head.seq:
                return facts
        return await self._fetch_alone(tenant, ids, head)

    async def _load(self, tenant: str, ids: FactIds) -> Facts:
        """Fetches and keeps in one step: who asks when it has ended finds it kept, and does not fetch again."""
        facts = await self._store.fetch(tenant, ids)
        few = not ids.ledger_ids or len(facts.records) <= KEPT_AT_ONCE_MAX
        if few and facts.epoch == self._cache.epoch:
            self._cache.put(tenant, ids, facts)
        return facts

    async def _fetch_alone(self, tenant: str, ids: FactIds, head: Head) -> Facts:
        facts = await self._store.fetch(tenant, ids)
        if facts.epoch != head.epoch or facts.seq < head.seq:
            raise DatabaseChanged("the facts are older than the head that was read before them")
        return facts


def is_ahead(head: Head, min_token: str) -> bool:
    """Whether a token names a later state than a head. Raises Precondition where it names another database."""
    token: Token = decode(min_token)
    if token.epoch != head.epoch:
        raise Precondition("min_token: is of another database; ask again without it, or with a token of this one")
    return token.seq > head.seq or token.policy_revision > head.policy_revision


def require_token(head: Head, min_token: str) -> None:
    """Raises Precondition where a token names another database or a state that this one has not reached."""
    if min_token and is_ahead(head, min_token):
        raise Precondition("min_token: is ahead of the database; was it restored from an older copy?")
