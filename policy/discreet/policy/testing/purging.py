"""Purge orders on the in-memory index: who keeps copies of what, and what became of each, as the server takes it down.

Follows the server as far as a test can tell: which items a holder is asked for when, and where an answer leaves them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from discreet.policy.facts import Micros, Ref
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeOutcome, PurgeState

STORE_LEEWAY_US: Final = 5_000_000
"""How far a holder's clock may lag: "not there" counts only so long after a segment had to be stored by."""
BACKOFF_US: Final = 60_000_000
BACKOFF_MAX_US: Final = 3_600_000_000
_DOUBLINGS_MAX: Final = 6
DONE: Final = frozenset({PurgeState.PURGED, PurgeState.NOT_FOUND})
RECHECKS: Final = frozenset({PurgeOutcome.ABSENT, PurgeOutcome.PRESENT})


class Item(NamedTuple):
    """Something that copies may be kept of. SEGMENT: ledger_id; RECORD: ref and label."""

    kind: PurgeItemKind
    ref: Ref = Ref("", "")
    label: str = ""
    ledger_id: str = ""
    store_by: Micros | None = None


class Order(NamedTuple):
    """What one revoke makes. `recheck_after` None: holders are believed."""

    order_id: str
    purge_not_before: Micros
    recheck_after: int | None
    items: tuple[Item, ...]


class Holder(NamedTuple):
    """Who keeps copies. `labels` empty: of every source."""

    name: str
    kind: HolderKind
    labels: tuple[str, ...] = ()

    def concerns(self, item: Item) -> bool:
        """True where the holder may keep copies of the item."""
        if item.kind is PurgeItemKind.SEGMENT:
            return self.kind is HolderKind.SEGMENT_STORE
        return self.kind is HolderKind.DOCUMENT_STORE and (not self.labels or item.label in self.labels)


@dataclass(slots=True)
class Part:
    """One item of one holder's part of an order; `state` is the stored one."""

    order: Order
    item: Item
    holder: str
    available_at: Micros
    state: PurgeState = PurgeState.OPEN
    answers: int = 0
    recheck: bool = False

    def shown(self, now: Micros, held: bool) -> PurgeState:
        """Returns where the item stands for people."""
        if self.state in DONE:
            return self.state
        if held:
            return PurgeState.HELD
        waits = self.state is PurgeState.OPEN and not self.answers and self.available_at > now
        return PurgeState.SCHEDULED if waits else self.state

    def answer(self, outcome: PurgeOutcome, now: Micros) -> None:
        """Takes down what the holder says of an item that it was asked for."""
        if outcome is PurgeOutcome.FAILED:
            wait = min(BACKOFF_US << min(self.answers, _DOUBLINGS_MAX), BACKOFF_MAX_US)
            self._move(PurgeState.FAILED, Micros(now + wait))
        elif outcome is PurgeOutcome.PRESENT:
            self._move(PurgeState.OPEN, now)
        elif outcome is PurgeOutcome.ABSENT:
            self._move(PurgeState.PURGED, now)
        else:
            self._gone(outcome, now)

    def _gone(self, outcome: PurgeOutcome, now: Micros) -> None:
        store_by, after = self.item.store_by, self.order.recheck_after
        if outcome is PurgeOutcome.NOT_FOUND and store_by is not None and now < store_by + STORE_LEEWAY_US:
            self._move(PurgeState.UNCONFIRMED, Micros(store_by + STORE_LEEWAY_US))
        elif after is not None:
            self._move(PurgeState.UNCONFIRMED, Micros(now + after), recheck=True)
        else:
            self._move(PurgeState.PURGED if outcome is PurgeOutcome.PURGED else PurgeState.NOT_FOUND, now)

    def _move(self, state: PurgeState, available_at: Micros, *, recheck: bool = False) -> None:
        self.state, self.available_at, self.recheck = state, available_at, recheck
        self.answers += 1


@dataclass(slots=True)
class Purges:
    """The holders of a tenant, its purge orders, and how far each part is."""

    holders: dict[str, Holder] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    parts: list[Part] = field(default_factory=list)

    def order(self, order: Order) -> None:
        """Writes an order with a part for every holder that it concerns."""
        self.orders[order.order_id] = order
        for holder in self.holders.values():
            self._add(order, order.items, holder)

    def register(self, holder: Holder) -> None:
        """Registers a holder, or changes what it keeps; it gets a part in every order, those of before included."""
        self.holders[holder.name] = holder
        for order in self.orders.values():
            has = {part.item for part in self.parts if part.holder == holder.name and part.order is order}
            self._add(order, [item for item in order.items if item not in has], holder)

    def _add(self, order: Order, items: Iterable[Item], holder: Holder) -> None:
        for item in filter(holder.concerns, items):
            self.parts.append(Part(order, item, holder.name, order.purge_not_before))

    def asked(
        self, order_id: str, holder: str, outcome: PurgeOutcome, now: Micros, held: Callable[[Item], bool]
    ) -> list[Part]:
        """Returns the items of an order that the holder is asked for now, and to which the outcome is an answer."""
        return [
            part
            for part in self._of(order_id, holder)
            if part.state not in DONE and part.available_at <= now and not held(part.item)
            if part.recheck == (outcome in RECHECKS)
        ]

    def counts(self, order_id: str, holder: str, now: Micros, held: Callable[[Item], bool]) -> Counter[PurgeState]:
        """Returns how many items of an order stand where; of one holder's part, or of all."""
        return Counter(part.shown(now, held(part.item)) for part in self._of(order_id, holder))

    def done(self, order_id: str, now: Micros) -> bool:
        """True where every item of every part is gone; where there is nobody to ask, once it is due."""
        parts = self._of(order_id, "")
        if not parts:
            return now >= self.orders[order_id].purge_not_before
        return all(part.state in DONE for part in parts)

    def _of(self, order_id: str, holder: str) -> Sequence[Part]:
        return [part for part in self.parts if part.order.order_id == order_id and holder in {"", part.holder}]
