"""What an index transaction can do about revocations: standing facts, tombstones, approvals, holders, purge orders.

Part of the store's contract in `discreet.server.ports`: same transaction, same order, same rules. Every method that
writes takes its own number of the order unless it says otherwise.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from discreet.policy.facts import Freeze, Hold, Micros, RecordFacts, Ref, Revoke, Standing, Target
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeOutcome, PurgeState, TombstoneKind

if TYPE_CHECKING:
    from discreet.server.ports_purge import PurgeLook


class TombstoneRow(NamedTuple):
    """What keeps revoked content from coming back. `ref`: DIGEST: the version; RECORD: with an empty version."""

    tombstone_id: str
    kind: TombstoneKind
    digest: str = ""
    ref: Ref = Ref("", "")
    label: str = ""
    order_id: str = ""
    at: Micros = Micros(0)
    lifted: bool = False


class TombstoneFilter(NamedTuple):
    """Which tombstones are listed; empty: any. `lifted`: also those that refuse nothing any more."""

    record_id: str = ""
    digest: str = ""
    lifted: bool = False


class ApprovalRow(NamedTuple):
    """A change that waits, or waited, for a second person. `settled`: None while nobody settled it, else (by, yes)."""

    approval_id: str
    method: str
    request: bytes
    summary: str
    requester: str
    reason: str
    ticket: str
    at: Micros
    expires_at: Micros
    seq: int = 0
    settled: tuple[str, bool] | None = None


@dataclass(frozen=True, slots=True)
class RecordQuery:
    """Which record versions a revoke takes; empty or None: not asked. `as_of_before` takes none without a past time."""

    label: str = ""
    id_prefix: str = ""
    scope: str = ""
    collector: str = ""
    as_of_before: Micros | None = None
    attributes: Mapping[str, object] | None = None


class Found(NamedTuple):
    """What a query found, in the order of record id and version. `records`: those not revoked, at most the limit."""

    records: tuple[RecordFacts, ...]
    revoked: int
    terms: frozenset[Revoke]
    """The different revokes that the revoked ones are under."""
    without_time: int
    more: bool


class Under(NamedTuple):
    """A record version under a label. `revoke`: its own, None where it has none."""

    ref: Ref
    digest: str
    revoke: Revoke | None


class HeldPart(NamedTuple):
    """One item of one holder's part that a hold covers; `state` is the stored one, `said` the holder's last answer."""

    order_id: str
    item: int
    holder: str
    state: PurgeState
    said: PurgeOutcome | None


class Resting(NamedTuple):
    """A committed segment that rests on something."""

    ledger_id: str
    digest: str
    store_by: Micros


class Released(NamedTuple):
    """A committed segment: whose it is, and whether it was reported as shown."""

    principal_id: str
    session_id: str
    confirmed: bool


class HolderRow(NamedTuple):
    """A holder as it stands. `labels` empty: all sources."""

    holder: str
    kind: HolderKind
    labels: tuple[str, ...]
    webhook_url: str
    webhook_secret: bytes | None
    at: Micros
    removed: bool = False


class ItemRow(NamedTuple):
    """An item of an order, whoever holds it. SEGMENT: ledger_id; RECORD: ref and label."""

    order_id: str
    item: int
    kind: PurgeItemKind
    digest: str
    ledger_id: str = ""
    ref: Ref = Ref("", "")
    label: str = ""
    store_by: Micros | None = None


class OrderRow(NamedTuple):
    """A purge order: one a revoke."""

    order_id: str
    extent: str
    actor: str
    reason: str
    ticket: str
    at: Micros
    purge_not_before: Micros
    due_at: Micros
    recheck_after: int | None
    records: int
    segments: int
    seq: int = 0


class PartRow(NamedTuple):
    """One item of one holder's part, as it stands; `state` is the stored one, see `purge_part`."""

    item: ItemRow
    holder: str
    state: PurgeState
    available_at: Micros
    due_at: Micros
    answers: int
    recheck: bool
    failure: str
    answered_at: Micros | None


class Answer(NamedTuple):
    """What a holder said of an item, and where the item stands after it."""

    order_id: str
    item: int
    holder: str
    outcome: PurgeOutcome
    reason: str
    held: bool
    state: PurgeState
    available_at: Micros
    recheck: bool


class AuthorityWork(Protocol):
    """Standing facts, tombstones, approvals, and what a revoke looks up. `Work.authority`."""

    def standing(self, tenant: str) -> Standing:
        """What stands for the tenant, that for every tenant included."""
        ...

    def revoke_source(self, tenant: str, label: str, order: OrderRow) -> int:
        """Revokes a source as a standing fact; returns its seq. The fact's id is the order's."""
        ...

    def end_source_revoke(self, tenant: str, order_id: str, actor: str, reason: str, ticket: str) -> int:
        """Ends the standing fact, after every record under it was revoked itself; returns its seq."""
        ...

    def write_freeze(self, tenant: str, freeze: Freeze) -> int:
        """A freeze of the tenant or one of its sources; tenant empty: of everything. Returns its seq."""
        ...

    def end_freeze(self, tenant: str, freeze_id: str, actor: str, reason: str) -> int:
        """Ends a freeze; returns its seq."""
        ...

    def write_hold(self, tenant: str, hold: Hold) -> int:
        """Places a legal hold; returns its seq."""
        ...

    def end_hold(self, tenant: str, hold_id: str, actor: str, reason: str, ticket: str) -> int:
        """Ends a hold; returns its seq."""
        ...

    def tombstones(
        self, tenant: str, digests: Sequence[str], record_ids: Sequence[str], labels: Sequence[str]
    ) -> tuple[TombstoneRow, ...]:
        """Those that refuse: of any of the digests, records or labels, and not lifted; in the order of their ids."""
        ...

    def tombstone(self, tenant: str, tombstone_id: str) -> TombstoneRow | None:
        """One by its id, lifted or not."""
        ...

    def write_tombstones(self, tenant: str, rows: Sequence[TombstoneRow]) -> None:
        """Keeps them under the number of the event that revoked; takes none of its own."""
        ...

    def lift_tombstone(self, tenant: str, tombstone_id: str, actor: str, reason: str, ticket: str) -> int:
        """From now on it refuses nothing; returns the seq."""
        ...

    def write_approval(self, tenant: str, row: ApprovalRow) -> int:
        """A change that waits; returns its seq."""
        ...

    def approval(self, tenant: str, approval_id: str) -> ApprovalRow | None:
        """One by its id, settled or not."""
        ...

    def waiting_approvals(self, tenant: str) -> int:
        """How many changes wait for a second person; neither settled nor expired ones."""
        ...

    def settle_approval(self, tenant: str, approval_id: str, approved: bool, actor: str, reason: str) -> int:
        """Approved or rejected, once; returns the seq."""
        ...

    def find_records(self, tenant: str, query: RecordQuery, limit: int) -> Found:
        """Latest revisions that fit."""
        ...

    def revoke_each(self, tenant: str, label: str, revoke: Revoke, step: str) -> int:
        """Gives each version under the label that has no revoke of its own this one, as a revision; returns how many.

        One number a record. `revoke.seq` is the number of each one's own event.
        """
        ...

    def has_label(self, tenant: str, label: str) -> bool:
        """True where any record version of the tenant stands under the label, revoked or not."""
        ...

    def under(self, tenant: str, label: str) -> tuple[Under, ...]:
        """Every version under a label, in the order of record id and version: what a revoke of the source covers."""
        ...

    def built_on(self, tenant: str, refs: Sequence[Ref], label: str = "") -> tuple[Ref, ...]:
        """Versions with any of the versions behind them, or any under the label that has no revoke of its own.

        Revoked ones, too; each once, in the order of record id and version.
        """
        ...

    def held_parts(self, tenant: str, target: Target) -> tuple[HeldPart, ...]:
        """Every holder's items that a hold on the target covers, answered ones too, in the order of their keys."""
        ...

    def freed_items(self, tenant: str, hold_id: str, target: Target) -> tuple[tuple[str, int], ...]:
        """Items of orders, by order id and number, that the hold on the target covers and no other hold does.

        Whether or not any holder has a part in them: it is what becomes PURGE when the hold ends.
        """
        ...

    def versions(self, tenant: str, record_id: str) -> tuple[RecordFacts, ...]:
        """All versions of a record, at their latest revisions, in the order of version."""
        ...

    def resting(self, tenant: str, refs: Sequence[Ref], label: str = "") -> tuple[Resting, ...]:
        """Committed segments with any of the versions among their roots, or any version under the label.

        Of those under the label, the ones with no revoke of their own. Each once, in the order of ledger id.
        """
        ...


class PurgeWork(Protocol):
    """Holders, purge orders and what became of them. `Work.purges`. Times are the database's, from `Work.now`."""

    def holders(self, tenant: str, *, removed: bool = False) -> tuple[HolderRow, ...]:
        """Holders in the order of their names."""
        ...

    def write_holder(self, tenant: str, row: HolderRow, actor: str, reason: str) -> int:
        """Registers, changes or (`removed`) removes a holder; returns the seq."""
        ...

    def write_order(self, tenant: str, order: OrderRow, items: Sequence[ItemRow]) -> int:
        """An order with its items, and a part for every holder that it concerns; returns the seq.

        Segments concern SEGMENT_STOREs, records the DOCUMENT_STOREs that keep their label.
        """
        ...

    def add_parts(self, tenant: str, row: HolderRow) -> int:
        """Parts in all orders for a holder that has none in them yet; returns how many items."""
        ...

    def put_off(self, tenant: str, items: Iterable[tuple[str, int]]) -> None:
        """Has the open parts of the items be due no sooner than as long from now as their order gave; no number."""
        ...

    def order(self, tenant: str, order_id: str) -> OrderRow | None:
        """One by its id."""
        ...

    def part(self, tenant: str, holder: str, items: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], PartRow]:
        """Named items of a holder's part."""
        ...

    def write_answers(self, tenant: str, answers: Sequence[Answer]) -> int:
        """Puts answers on record and moves their items; returns the seq. One number for all."""
        ...

    def roots(self, tenant: str, ledger_ids: Sequence[str]) -> Mapping[str, tuple[tuple[Ref, str], ...]]:
        """Every root of committed segments, with the label it has now."""
        ...

    def open_items(self, tenant: str, holder: str) -> int:
        """How many items of a holder are neither purged nor not there."""
        ...

    def is_open(self, tenant: str, order_id: str) -> bool:
        """True where an item of any part of the order is neither purged nor not there."""
        ...

    def claim_post(self, tenant: str, holder: str, instance: str, until: Micros) -> bool:
        """True where no other server posts to the holder until then; takes no number."""
        ...

    def note_post(self, tenant: str, holder: str, until: Micros, failure: str) -> None:
        """How a post went, and until when none is made; takes no number. `failure` empty: it went well."""
        ...

    def take_notice(self, tenant: str, order_id: str, notice: str) -> bool:
        """True for the one that takes notice first, under a number of its own."""
        ...


class Look(Protocol):
    """Reads of what follows from revocations: one state of the database, on a connection that cannot write."""

    @property
    def now(self) -> Micros:
        """The database's clock."""
        ...

    def standing(self, tenant: str) -> Standing:
        """What stands for the tenant, that for every tenant included."""
        ...

    def tombstones(self, tenant: str, wanted: TombstoneFilter, after: str, limit: int) -> tuple[TombstoneRow, ...]:
        """Tombstones that fit, in the order of their ids, after the given one."""
        ...

    def approvals(self, tenant: str, settled: bool, before: int | None, limit: int) -> tuple[ApprovalRow, ...]:
        """Changes that wait, with `settled` also those that do not any more; newest first, before the given number."""
        ...

    def holders(self, tenant: str, *, removed: bool = False) -> tuple[HolderRow, ...]:
        """Holders in the order of their names."""
        ...

    def released(self, tenant: str, ledger_ids: Sequence[str]) -> Mapping[str, Released]:
        """Those of up to 1,000 ids that are in the ledger."""
        ...

    @property
    def purges(self) -> "PurgeLook":
        """Purge orders and what became of them."""
        ...
