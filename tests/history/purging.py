"""Purges follow from due revokes alone; orders cover exactly what rests on what they revoked. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from tests.history.events import Call, Outcome, Told
from tests.history.final import Final, Order
from tests.history.intervals import Blocked
from tests.history.violation import Violation
from tests.history.world import keys_of, label_of, record_of, ref_of, source_of

DONE = frozenset({"PURGED", "NOT_FOUND"})
GONE = DONE | {"ABSENT"}
"""Answers that say that an item is there no more."""


def purges_are_due(calls: Sequence[Call]) -> Iterator[Violation]:
    """No PURGE without a revoke that had begun and was due; and none under a hold that had returned."""
    revokes: dict[str, list[Call]] = defaultdict(list)
    for call in calls:
        if call.change is not None and call.change.register == "revoked" and call.outcome is not Outcome.REFUSED:
            for key in call.change.keys:
                revokes[key].append(call)
    held = Blocked(call for call in calls if call.change is not None and call.change.register == "held")
    for call in calls:
        for told in call.told:
            if told.verdict == "PURGE":
                yield from _purge(call, told, revokes, held)


def _purge(call: Call, told: Told, revokes: dict[str, list[Call]], held: Blocked) -> Iterator[Violation]:
    keys = keys_of(told.refs, call.principal)
    begun = [one for key in keys for one in revokes.get(key, ()) if one.began < call.ended]
    if not begun:
        yield Violation("purged without a revoke", f"{call.name}: {told.refs}")
    elif not any(one.change is not None and one.change.due_us <= call.wall for one in begun):
        yield Violation("purged before its time", f"{call.name}: {told.refs}")
    for key in keys_of(told.judged, call.principal):
        hold = held.by(key, call.began, call.ended)
        if hold is not None:
            yield Violation("purged under a hold", f"{call.name}: {told.refs} after {hold.by.name}")


def nothing_is_brought_back(calls: Sequence[Call]) -> Iterator[Violation]:
    """What was revoked is registered by no call that began after the revoke returned."""
    revoked = Blocked(call for call in calls if call.change is not None and call.change.register == "revoked")
    for call in calls:
        if call.change is None or call.change.register != "put" or call.outcome is not Outcome.ANSWERED:
            continue
        for key in call.change.keys:
            if call.change.instance != "KIND_REFUSED" and revoked.by(key, call.began, call.ended) is not None:
                yield Violation("brought back", f"{call.name}: {key}, {call.change.instance}")


def orders_agree(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """Each order names what was committed on what it revoked, and is done only where everything was answered."""
    resting: dict[str, list[str]] = defaultdict(list)
    for row in final.ledger.values():
        for root in row.roots:
            resting[root].append(row.ledger_id)
    for order in final.orders:
        yield from _covers(order, final, resting)
        yield from _parts(order, final)
        said = final.done.get(order.order_id)
        if said is not None and said not in _may_say(order, final):
            yield Violation("done or not", f"{order.order_id}, due {order.due_us}: the server says {said}")
    yield from _answers(calls, final)


def _may_say(order: Order, final: Final) -> set[bool]:
    """Whether an order is done: with parts once all are, without any, since there is nobody to ask, once it is due."""
    parts = [part for item in order.items for part in item.parts]
    if parts:
        return {all(part.state in DONE for part in parts)}
    return {order.due_us <= at for at in final.asked_us}


def _parts(order: Order, final: Final) -> Iterator[Violation]:
    """One part of each item for each holder that may keep it; done only by an answer that says so."""
    for item in order.items:
        kind = "SEGMENT_STORE" if item.ledger_id else "DOCUMENT_STORE"
        should = sorted(holder for holder, of in final.holders.items() if of == kind)
        if sorted(part.holder for part in item.parts) != should:
            yield Violation("not handed out", f"{order.order_id} item {item.item} at {item.parts}, not {should}")
        for part in item.parts:
            if part.state in DONE and not GONE.intersection(part.answers):
                yield Violation("done unanswered", f"{order.order_id} item {item.item} at {part.holder}")


def _answers(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """What a holder was told is taken down is there."""
    said = {
        (order.order_id, item.item, part.holder): set(part.answers)
        for order in final.orders
        for item in order.items
        for part in item.parts
    }
    for call in calls:
        if call.change is None or call.change.register != "acknowledged" or call.outcome is not Outcome.ANSWERED:
            continue
        for key in call.change.keys:
            order_id, item, outcome = key.split("/")
            found = said.get((order_id, int(item), call.change.instance))
            if found is None or (outcome not in found and not found & GONE):
                yield Violation("answer lost", f"{call.name}: {key} at {call.change.instance}, there is {found}")


def _covers(order: Order, final: Final, resting: dict[str, list[str]]) -> Iterator[Violation]:
    refs = {ref for ref, states in final.records.items() if any(state.order_id == order.order_id for state in states)}
    for row in final.standing:
        if row.fact == "source-revoke" and row.fact_id == order.order_id and not row.ends:
            under = {ref for ref in final.records if label_of(record_of(ref)) == row.label}
            refs |= {ref for ref in under if not _revoked_before(final, ref, order.seq)}
    should = {ledger_id for ref in refs for ledger_id in resting[ref] if final.ledger[ledger_id].seq < order.seq}
    named = [item.ledger_id for item in order.items if item.ledger_id]
    if len(named) != len(set(named)):
        yield Violation("an item twice", order.order_id)
    for ledger_id in should - set(named):
        yield Violation("not covered", f"{order.order_id} leaves out {ledger_id}")
    for ledger_id in set(named) - should:
        yield Violation("covered without cause", f"{order.order_id} names {ledger_id}")
    records = {item.ref for item in order.items if item.ref}
    falls = refs | {ref for ref in final.records if _built_on(ref, refs) and not _revoked_before(final, ref, order.seq)}
    for ref in sorted(records ^ falls):
        yield Violation("not covered" if ref in falls else "covered without cause", f"{order.order_id}: {ref}")


def _built_on(ref: str, refs: set[str]) -> bool:
    """True for evidence that was taken from one of these; no version was registered after its order could be made."""
    source = source_of(record_of(ref))
    return source is not None and ref_of(source) in refs


def _revoked_before(final: Final, ref: str, seq: int) -> bool:
    return any(state.revoked and state.seq < seq for state in final.records[ref])
