"""Takes holders' answers down, in one transaction with their audit rows: of AckPurge, and of webhooks' responses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from discreet.policy.facts import Standing, Target
from discreet.policy.words import AuditAct, PurgeItemKind, PurgeOutcome, PurgeState
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call
from discreet.server.ports import Work
from discreet.server.ports_authority import Answer, ItemRow, OrderRow, PartRow
from discreet.server.ports_purge import PartKey
from discreet.server.servicers.purge.answering import Step, Unfit, step

NO_SUCH_ITEM = "there is no such item in this holder's part"
"""Whatever the cause: another tenant's, another holder's, or nobody's."""


class Ack(NamedTuple):
    """One answer of a holder."""

    key: PartKey
    outcome: PurgeOutcome
    reason: str = ""


class Taken(NamedTuple):
    """What an answer led to. `state` None: it was refused, see `refused`."""

    key: PartKey
    state: PurgeState | None
    refused: str = ""


def take(index: Work, call: Call, tenant: str, instance: str, acks: Sequence[Ack]) -> list[Taken]:
    """What each answer of the calling holder led to; what changes something is on record."""
    holder = call.caller.name
    found = index.purges.part(tenant, holder, [ack.key for ack in acks])
    held = held_items(index, tenant, [part.item for part in found.values()])
    orders = {order_id: index.purges.order(tenant, order_id) for order_id in {key[0] for key in found}}
    answers, taken = [], []
    for ack in acks:
        part = found.get(ack.key)
        if part is None:
            taken.append(Taken(ack.key, None, NO_SUCH_ITEM))
            continue
        led = step(part, _recheck_after(orders[ack.key[0]]), ack.outcome, ack.reason, index.now)
        if isinstance(led, Unfit):
            taken.append(Taken(ack.key, None, led.why))
            continue
        if led is not None:
            answers.append(_answer(ack, holder, led, held=ack.key in held))
        state = part.state if led is None else led.state
        done = state in (PurgeState.PURGED, PurgeState.NOT_FOUND)
        taken.append(Taken(ack.key, PurgeState.HELD if ack.key in held and not done else state))
    if answers:
        index.purges.write_answers(tenant, answers)
        _record(index, call, tenant, instance, answers, found)
    return taken


def _recheck_after(order: OrderRow | None) -> int | None:
    return None if order is None else order.recheck_after


def _answer(ack: Ack, holder: str, led: Step, *, held: bool) -> Answer:
    order_id, item = ack.key
    return Answer(order_id, item, holder, ack.outcome, led.failure, held, led.state, led.available_at, led.recheck)


def _record(
    index: Work, call: Call, tenant: str, instance: str, answers: Sequence[Answer], before: Mapping[PartKey, PartRow]
) -> None:
    """One row an order, and one more for an order that is done by it: counts and ids, no reason of the holder."""
    done = (PurgeState.PURGED, PurgeState.NOT_FOUND)
    for order_id in dict.fromkeys(answer.order_id for answer in answers):
        mine = [answer for answer in answers if answer.order_id == order_id]
        said = Counter(answer.outcome.short for answer in mine)
        told = ", ".join(f"{count} {word}" for word, count in sorted(said.items()))
        held = sum(answer.held for answer in mine)
        detail = told + (f"; {held} under a legal hold" if held else "")
        _audit(index, call, tenant, instance, order_id, detail)
        was_open = any(before[order_id, answer.item].state not in done for answer in mine)
        if was_open and not index.purges.is_open(tenant, order_id):
            _audit(index, call, tenant, instance, order_id, "done: every item is purged or not there")


def _audit(index: Work, call: Call, tenant: str, instance: str, order_id: str, detail: str) -> None:
    change = Change("AckPurge", seq=index.head.seq, subject_id=order_id, detail=detail)
    index.audit(row_of(call, AuditAct.CHANGE, tenant, index.now, instance, change))


def held_items(index: Work, tenant: str, items: Sequence[ItemRow]) -> frozenset[PartKey]:
    """Those of the items that a standing legal hold covers."""
    standing = index.authority.standing(tenant)
    if not standing.holds:
        return frozenset()
    segments = [item.ledger_id for item in items if item.kind is PurgeItemKind.SEGMENT]
    roots = index.purges.roots(tenant, segments)
    records = index.records(tenant, [item.ref for item in items if item.kind is PurgeItemKind.RECORD])
    behind = index.records(tenant, [root for record in records.values() for root in record.roots])
    found = set()
    for item in items:
        if item.kind is PurgeItemKind.RECORD:
            built = [behind[root] for root in records[item.ref].roots if root in behind]
            itself = ((item.ref, item.label), *((root.ref, root.source_label) for root in built))
        else:
            itself = roots.get(item.ledger_id, ())
        if any(_covered(standing, ref.record_id, ref.version, label) for ref, label in itself):
            found.add((item.order_id, item.item))
    return frozenset(found)


def _covered(standing: Standing, record_id: str, version: str, label: str) -> bool:
    targets = (Target(record_id=record_id, version=version), Target(record_id=record_id), Target(label))
    return any(target in standing.holds for target in targets)
