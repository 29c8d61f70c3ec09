"""Reads of holders, purge orders and what became of them. Part of the store's contract in `discreet.server.ports`.

All reads of one `Look` see one state of the database; its clock tells what is due.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from discreet.policy.facts import Micros
from discreet.policy.words import HolderKind, PurgeState
from discreet.server.ports_authority import HolderRow, OrderRow, PartRow

PartKey = tuple[str, int]
"""Order id and item."""


class PurgeMark(NamedTuple):
    """The newest numbers of what purges follow from; where they are the same, nothing new can be due or held.

    But for what comes with time, with an answer, or with a root that gets another label.
    """

    standing: int
    holders: int
    orders: int


class Shown(NamedTuple):
    """An item of a holder's part as it is shown.

    `state`: the stored one, or SCHEDULED or HELD. `named`: session, answer and segment id of a SEGMENT.
    """

    part: PartRow
    state: PurgeState
    named: tuple[str, str, str]
    answered_while_held: bool = False


class PartCounts(NamedTuple):
    """How far one holder's part is."""

    holder: str
    states: Mapping[PurgeState, int]
    overdue: int
    last_failure: str


class OrderCounts(NamedTuple):
    """Orders of a tenant, or of all. `failed`: with an item that could not be deleted, or was still there."""

    open: int
    overdue: int
    failed: int
    held: int
    done: int


class Posting(NamedTuple):
    """A holder that is posted to."""

    tenant: str
    holder: HolderRow
    claimed_until: Micros
    instance: str
    failures: int
    last_failure: str


class Late(NamedTuple):
    """An order that nobody was told about yet, with how many of its items are overdue, or failed."""

    tenant: str
    order_id: str
    notice: str
    items: int


class PurgeLook(Protocol):
    """What can be read of purges. `Look.purges`."""

    def deliverable(self, tenant: str, holder: str, limit: int) -> Sequence[Shown]:
        """Items that the holder is to be asked for now, not those under a hold; those due first come first."""
        ...

    def held(self, tenant: str, holder: str, limit: int) -> Sequence[PartKey]:
        """Items that a hold covers, not done, and whose time has come, or that failed: in the order of their keys."""
        ...

    def mark(self) -> PurgeMark:
        """What tells that something moved, of all tenants with a holder; cheap whatever the index holds."""
        ...

    def next_due(self, tenant: str, holder: str) -> Micros | None:
        """When the next item of the holder becomes due; None where none will by itself."""
        ...

    def parts(self, tenant: str, holder: str, keys: Sequence[PartKey]) -> Mapping[PartKey, Shown]:
        """Named items of a holder's part."""
        ...

    def open_items(self, tenant: str) -> Mapping[str, int]:
        """By holder: items that are neither purged nor not there."""
        ...

    def orders(
        self, tenant: str, before: int | None, limit: int, *, open_only: bool, overdue_only: bool
    ) -> Sequence[OrderRow]:
        """Orders with a smaller seq, newest first."""
        ...

    def order(self, tenant: str, order_id: str) -> OrderRow | None:
        """One by its id."""
        ...

    def order_parts(self, tenant: str, order_ids: Sequence[str]) -> Mapping[str, Sequence[PartCounts]]:
        """How far each part of each order is, in the order of the holders' names."""
        ...

    def items(
        self, tenant: str, order_id: str, holder: str, after: tuple[str, int] | None, limit: int
    ) -> Sequence[Shown]:
        """Items of an order in the order of (holder, item), after the given one; `holder` empty: of every part."""
        ...

    def holder_parts(self, tenant: str) -> Sequence[PartCounts]:
        """How far each holder is with all orders together."""
        ...

    def order_counts(self, tenant: str | None) -> OrderCounts:
        """Orders by how they stand; None: of every tenant."""
        ...

    def open_by_kind(self) -> Mapping[HolderKind, int]:
        """Items that are neither purged nor not there, of every tenant, by the kind of their holder."""
        ...

    def late(self, limit: int) -> Sequence[Late]:
        """Orders with items that are overdue or failed, and of which no notice was taken."""
        ...

    def postings(self) -> Sequence[Posting]:
        """Holders with a webhook, of every tenant, that may be posted to."""
        ...

    def posting(self, tenant: str) -> Mapping[str, tuple[int, str]]:
        """By holder: how many posts failed since the last that did not, and why the last one did."""
        ...
