"""What a segment made from others rests on: everything that they rest on, as the ledger stored it.

A parent is judged by its roots, not by whose it is: who may know of all of them may build on it, and nobody else. One
of another principal that rests on nothing leaves nothing to judge by, so it is for its own principal alone. To all
others a parent is as one that never was (F11). Its own claim is not carried over: what is asserted is claimed and bound
anew. Entries are immutable and hold all roots, so none of this is judged again by ledger id.
"""

from typing import NamedTuple

from discreet.policy.facts import LedgerFacts, Ref
from discreet.policy.subject import Call, Unusable, root_of, scope_cause

ROOTS_MAX = 10_000
"""What the parents of one segment may rest on together; a parent with which it would be more is unusable."""


class Parents(NamedTuple):
    """What the usable parents rest on, each once, and the parents that are not usable, in their order."""

    roots: tuple[Ref, ...] = ()
    unusable: tuple[Unusable, ...] = ()


NONE = Parents()


def parents_of(call: Call, ledger_ids: tuple[str, ...]) -> Parents:
    """The parents of a segment at RETRIEVE and PUBLISH."""
    if not ledger_ids:
        return NONE
    roots: dict[Ref, None] = {}
    unusable: list[Unusable] = []
    for ledger_id in ledger_ids:
        entry = call.facts.ledger.get(ledger_id)
        found = _problem(call, ledger_id, entry)
        if found is None and entry is not None and len(roots.keys() | set(entry.roots)) > ROOTS_MAX:
            found = Unusable(ledger_id, f"the parents rest on more than {ROOTS_MAX} records")
        if found is not None:
            unusable.append(found)
        elif entry is not None:
            roots.update(dict.fromkeys(entry.roots))
    return Parents(tuple(roots), tuple(unusable))


def _problem(call: Call, ledger_id: str, entry: LedgerFacts | None) -> Unusable | None:
    if entry is None:
        return Unusable(ledger_id, "not in the ledger")
    if not entry.roots and entry.principal_id != call.request.principal.id:
        return Unusable(ledger_id, "of another principal, and rests on nothing")
    roots = tuple(root_of(call, ref, None) for ref in entry.roots)
    for root in roots:
        cause = scope_cause(call.reader, root)
        if cause is not None:
            name = f"{root.ref.record_id} version {root.ref.version}"
            return Unusable(ledger_id, f"{cause.short} of {name}", roots)
    return None
