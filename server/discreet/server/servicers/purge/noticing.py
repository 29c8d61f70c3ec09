"""Puts on record, once an order, that it is overdue or that an item failed; keeps the numbers for the metrics.

Every server looks; the one whose transaction takes notice first writes the row. Nothing here asks a holder.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from discreet.policy.facts import Caller
from discreet.policy.words import AuditAct, HolderKind, Role
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call, new_id
from discreet.server.logs import Log
from discreet.server.metrics import Gathered
from discreet.server.ports import Store, StoreError, Work
from discreet.server.ports_authority import Look
from discreet.server.ports_purge import Late, OrderCounts
from discreet.server.servicers.purge.tide import Tide

NOTICE_S: Final = 5.0
"""The longest time between two looks: an order becomes overdue without an event."""
REST_MIN_S: Final = 1.0
REST_TIMES: Final = 20.0
"""The shortest time between two looks; and how many times as long as a look, so that many open items cost no more."""
LATE_MAX: Final = 100
SERVER: Final = "(server)"
"""The caller of what the server does by itself; no identity can have the name."""

_ORDERS_HELP: Final = "Purge orders that are not done, by how they stand; one can stand in several ways."
_ITEMS_HELP: Final = "Items of purge orders that are neither purged nor not there, by the kind of their holder."


class Noticing:
    """Looks after orders, and is a source of metrics."""

    def __init__(self, store: Store, tide: Tide, log: Log, instance: str, timeout_s: float) -> None:
        self._store = store
        self._tide = tide
        self._log = log
        self._instance = instance
        self._timeout_s = timeout_s
        self._orders: OrderCounts | None = None
        self._items: dict[HolderKind, int] = {}

    def __call__(self) -> list[Gathered]:
        """What the last look saw; nothing before the first."""
        if self._orders is None:
            return []
        states = {name: getattr(self._orders, name) for name in ("open", "overdue", "failed", "held")}
        told = [Gathered("purge_orders", _ORDERS_HELP, {"state": name}, count) for name, count in states.items()]
        for kind, count in self._items.items():
            told.append(Gathered("purge_open_items", _ITEMS_HELP, {"holder_kind": kind.short}, count))
        return told

    async def run(self) -> None:
        """Looks until it is cancelled. A store that does not answer is asked again."""
        loop = asyncio.get_running_loop()
        while True:
            number, began = self._tide.number, loop.time()
            try:
                await self.look()
            except (StoreError, TimeoutError) as error:
                self._log.warning("purge orders could not be looked after", error=type(error).__name__)
            await asyncio.sleep(max(REST_MIN_S, REST_TIMES * (loop.time() - began)))
            await self._tide.after(number, NOTICE_S)

    async def look(self) -> int:
        """How many notices this server took."""

        def read(look: Look) -> tuple[OrderCounts, dict[HolderKind, int], Sequence[Late]]:
            purges = look.purges
            return purges.order_counts(None), dict(purges.open_by_kind()), purges.late(LATE_MAX)

        async with asyncio.timeout(self._timeout_s):
            self._orders, self._items, late = await self._store.look(read)
            taken = await self._store.change(lambda index: self._take(index, late)) if late else []
        for one in taken:
            self._log.warning(f"purge order {one.notice}", order_id=one.order_id, items=one.items)
        return len(taken)

    def _take(self, index: Work, late: Sequence[Late]) -> list[Late]:
        taken = [one for one in late if index.purges.take_notice(one.tenant, one.order_id, one.notice)]
        for one in taken:
            call = Call(Caller(SERVER, Role.OPERATOR, None), "PurgeNotice", new_id())
            said = f"{one.items} items {one.notice}"
            change = Change("PurgeNotice", seq=index.head.seq, subject_id=one.order_id, detail=said)
            index.audit(row_of(call, AuditAct.CHANGE, one.tenant, index.now, self._instance, change))
        return taken
