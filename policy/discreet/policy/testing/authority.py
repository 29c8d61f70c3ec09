"""Revokes, holds and freezes on the in-memory index, with the purge orders that follow, as the server makes of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from discreet.policy.facts import Freeze, Hold, LedgerFacts, Micros, RecordFacts, Ref, Revoke
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.index import Index, Refusal
from discreet.policy.testing.kinds import HeldItem, NamedItem
from discreet.policy.testing.purging import Holder, Item, Order
from discreet.policy.testing.state import target_of
from discreet.policy.testing.steps import AcknowledgeStep, FreezeStep, HolderStep, RevokeStep
from discreet.policy.words import HolderKind, PurgeItemKind

FREEZE_US_MAX: Final = 31 * 86_400_000_000
Named = Callable[[NamedItem], Ref]
"""Returns the record version that a step names, as the index stands."""


def _require_known(index: Index, label: str | None, snapshot: Snapshot) -> None:
    """Raises Refusal for a label that nothing declares, no record has and nothing revokes; None and "" are no label."""
    known = not label or label in snapshot.sources or label in index.revoked_sources
    if not known and all(record.source_label != label for record in index.records.values()):
        raise Refusal("no SourceList declares the source, and no record has it")


def revoke(index: Index, step: RevokeStep, named: Named, snapshot: Snapshot) -> None:
    """Revokes retention for good. Raises Refusal for other terms than stand, and for a large one not looked at."""
    _require_known(index, step.source, snapshot)
    retention = snapshot.retention
    due = index.now if step.purge_not_before is None else max(Micros(step.purge_not_before), index.now)
    records, marks = _covered(index, step, named)
    standing = index.standing
    fresh = [record for record in records if standing.revoke_of(record) is None]
    if step.source is not None and not marks:
        fresh = []
    if not fresh and not marks:
        _repeat(index, step, due, [revoke for one in records if (revoke := standing.revoke_of(one)) is not None])
        return
    segments, built = _resting(index, fresh), _built(index, fresh)
    if len(fresh) + len(built) + len(segments) > retention.dry_run_above and not step.dry_run:
        raise Refusal(f"dry_run_digest: more than {retention.dry_run_above} versions and segments are covered")
    order_id = f"order-{len(index.purges.orders) + 1}"
    revoked = Revoke("operator", "test", step.ticket, index.now, due, index.seq + 1, order_id)
    _write(index, step, fresh, revoked)
    index.buried_digests |= {record.digest for record in (*fresh, *built)}
    index.purges.order(Order(order_id, due, retention.recheck_after_us, tuple(_items((*fresh, *built), segments))))
    index.names["order", step.called] = order_id


def _covered(index: Index, step: RevokeStep, named: Named) -> tuple[list[RecordFacts], bool]:
    """Returns the versions that a revoke is about, and whether it leaves a mark that is not there yet."""
    if step.record is not None:
        return [index.held(named(step.record))], False
    if step.source is not None:
        under = [record for record in index.records.values() if record.source_label == step.source]
        return under, step.source not in index.revoked_sources
    versions = [record for ref, record in index.records.items() if ref.record_id == step.all_versions_of]
    if not versions:
        raise Refusal("the index holds no such record")
    return versions, step.all_versions_of not in index.buried_ids


def _repeat(index: Index, step: RevokeStep, due: Micros, stand: list[Revoke]) -> None:
    """A repeat may ask for nothing that does not stand; it is about the order that stands, if that is one."""
    if step.source is not None:
        stand = [index.revoked_sources[step.source]]
    if any(one.ticket != step.ticket or due < one.purge_not_before for one in stand):
        raise Refusal("TOMBSTONED: its retention was revoked before, on other terms; those stand")
    orders = {one.order_id for one in stand}
    if len(orders) == 1:
        index.names["order", step.called] = orders.pop()


def _resting(index: Index, records: Iterable[RecordFacts]) -> list[LedgerFacts]:
    refs = {record.ref for record in records}
    return [entry for entry in index.ledger.values() if not refs.isdisjoint(entry.roots)]


def _built(index: Index, records: Iterable[RecordFacts]) -> list[RecordFacts]:
    """Returns what was built on the records: not revoked with them, but its copies go and its content stays out."""
    refs, standing = {record.ref for record in records}, index.standing
    above = [one for ref, one in index.records.items() if ref not in refs and not refs.isdisjoint(one.roots)]
    return [record for record in above if standing.revoke_of(record) is None]


def _write(index: Index, step: RevokeStep, fresh: list[RecordFacts], revoked: Revoke) -> None:
    if step.source is not None:
        index.revoked_sources[step.source] = revoked
        index.stood()
        return
    for record in fresh:
        index.write(replace(index.held(record.ref), revoked=revoked, recorded_at=index.now))
    if step.all_versions_of is not None:
        index.buried_ids.add(step.all_versions_of)


def _items(records: Iterable[RecordFacts], segments: Iterable[LedgerFacts]) -> Iterable[Item]:
    for entry in segments:
        yield Item(PurgeItemKind.SEGMENT, ledger_id=entry.ledger_id, store_by=entry.store_by)
    for record in records:
        yield Item(PurgeItemKind.RECORD, record.ref, record.source_label)


def place_hold(index: Index, item: HeldItem, ticket: str, snapshot: Snapshot | None = None) -> None:
    """Keeps what is named. A hold on the same with the same ticket stands already.

    Without a snapshot it is one that a file begins with: its source may have been declared once.
    """
    target = target_of(item)
    if snapshot is not None:
        _require_known(index, target.label, snapshot)
    if target.version:
        index.held(Ref(target.record_id, target.version))
    elif target.record_id and index.current(target.record_id) is None:
        raise Refusal("the index holds no such record")
    standing = [one for one in index.holds.values() if (one.target, one.ticket) == (target, ticket)]
    hold = standing[0] if standing else Hold(f"hold-{index.seq}", target, "operator", "test", ticket, index.now)
    if not standing:
        index.holds[hold.hold_id] = hold
        index.stood()
    index.names["hold", item.called] = hold.hold_id


def lift_hold(index: Index, name: str) -> None:
    """Ends a hold that stands."""
    if index.holds.pop(index.names.get(("hold", name), ""), None) is None:
        raise Refusal("no such hold stands")
    index.stood()


def freeze(index: Index, step: FreezeStep, snapshot: Snapshot) -> None:
    """Withholds a source, or everything, for a time."""
    _require_known(index, step.source, snapshot)
    until = Micros(step.until if step.until is not None else index.now + (step.for_ or 0))
    if not index.now < until <= index.now + FREEZE_US_MAX:
        raise Refusal("until: a freeze ends in the future, at most 31 days ahead")
    made = Freeze(f"freeze-{index.seq}", step.source or "", "operator", "test", index.now, until)
    index.freezes[made.freeze_id] = made
    index.names["freeze", step.called] = made.freeze_id
    index.stood()


def unfreeze(index: Index, name: str) -> None:
    """Ends a freeze that stands before its time."""
    freeze_id = index.names.get(("freeze", name), "")
    if freeze_id not in index.freezes or index.freezes[freeze_id].until <= index.now:
        raise Refusal("no such freeze stands")
    del index.freezes[freeze_id]
    index.stood()


def register_holder(index: Index, step: HolderStep) -> None:
    """Registers who keeps copies, or what it keeps."""
    if step.kind is HolderKind.SEGMENT_STORE and step.sources:
        raise Refusal("source_labels: only a DOCUMENT_STORE keeps sources")
    index.seq += 1
    index.purges.register(Holder(step.holder, step.kind, step.sources or ()))


def acknowledge(index: Index, step: AcknowledgeStep) -> None:
    """Answers for a holder: everything of an order that it is asked for now. Raises Refusal where that is nothing."""
    order_id = order_of(index, step.order)
    asked = index.purges.asked(order_id, step.holder, step.outcome, index.now, index.is_held)
    if not asked:
        raise Refusal("the holder is asked for nothing of this order now, or for another kind of answer")
    for part in asked:
        part.answer(step.outcome, index.now)
    index.seq += 1


def order_of(index: Index, name: str) -> str:
    """Returns the order of a revoke. Raises Refusal where it made none."""
    if ("order", name) not in index.names:
        raise Refusal("the revoke made no order")
    return index.names["order", name]
