"""What a segment made from others rests on: everything that they rest on, as the ledger stored it.

A parent is judged by its roots, not by whose it is: who may know of all of them may build on it, and nobody else. One
of another principal that rests on nothing leaves nothing to judge by, so it is for its own principal alone. To all
others a parent is as one that never was (F11). Its own claim is not carried over: what is asserted is claimed and bound
anew. Entries are immutable and hold all roots, so none of this is judged again by ledger id.
"""

from typing import NamedTuple

from discreet.policy.facts import LedgerFacts, Ref
from discreet.policy.request import Segment
from discreet.policy.subject import Call, Unusable, root_of, scope_cause

ROOTS_PER_CALL_MAX = 10_000
"""What the segments of one call may rest on together, at RETRIEVE and PUBLISH: ten records each for the most segments.

Each is judged, and at Commit compared and written while every other commit waits; so what one caller can ask for in a
call has to end, however its segments were made from others.
"""


class Parents(NamedTuple):
    """The entries of the usable parents, and the parents that are not usable, in their order."""

    entries: tuple[LedgerFacts, ...] = ()
    unusable: tuple[Unusable, ...] = ()

    @property
    def roots(self) -> tuple[Ref, ...]:
        """What the usable parents rest on, each once."""
        return tuple(dict.fromkeys(ref for entry in self.entries for ref in entry.roots))


NONE = Parents()


def parents_of(call: Call, ledger_ids: tuple[str, ...]) -> Parents:
    """The parents of a segment at RETRIEVE and PUBLISH."""
    if not ledger_ids:
        return NONE
    entries: list[LedgerFacts] = []
    unusable: list[Unusable] = []
    for ledger_id in ledger_ids:
        entry = call.facts.ledger.get(ledger_id)
        if ledger_id not in call.parents:
            call.parents[ledger_id] = _problem(call, ledger_id, entry)
        found = call.parents[ledger_id]
        if found is not None:
            unusable.append(found)
        elif entry is not None:
            entries.append(entry)
    return Parents(tuple(entries), tuple(unusable))


def weight_of(call: Call, segment: Segment, parents: Parents) -> int:
    """How much a segment counts before it is judged: its bindings, what is behind them and what its parents rest on.

    Only what this reader may know of counts, so that nothing else can be found out by what is left for other segments
    (F11). A record counts for each parent that brings it.
    """
    held, records = call.reader.held, call.facts.records
    weight = len(segment.bindings) + sum(len(entry.roots) for entry in parents.entries)
    for ref in {Ref(bound.record_id, bound.version) for bound in segment.bindings}:
        record = records.get(ref)
        if record is not None and record.roots and any(scope in held for scope in record.scopes):
            weight += len(record.roots)
    return weight


def _problem(call: Call, ledger_id: str, entry: LedgerFacts | None) -> Unusable | None:
    if entry is None:
        return Unusable(ledger_id, "not in the ledger")
    if entry.beyond:
        return Unusable(ledger_id, "the call's parents rest on too many records")
    if not entry.roots and entry.principal_id != call.request.principal.id:
        return Unusable(ledger_id, "of another principal, and rests on nothing")
    roots = tuple(root_of(call, ref, None) for ref in entry.roots)
    for root in roots:
        cause = scope_cause(call.reader, root)
        if cause is not None:
            name = f"{root.ref.record_id} version {root.ref.version}"
            return Unusable(ledger_id, f"{cause.short} of {name}", roots)
    return None
