"""What brings a policy revision into force, takes it back, and ends pins: one transaction each, whoever asks for it.

A publication names the revision that was in force before its ref was read. So of two that read a ref one after the
other, the later one stands, without a lease. What a rollback leaves is pinned out in the same transaction, and nothing
publishes it until the ref has moved on or the pin is taken away. The outcome is a value: each caller says it its way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from discreet.policy.engine import engine_needed
from discreet.policy.words import AuditAct
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call
from discreet.server.ports import Head, Work
from discreet.server.ports_policy import Origin, Pin, PolicyName, PolicyRow


class InForce(NamedTuple):
    """The set is in force. `published` False: it was already, and nothing was written."""

    name: PolicyName
    head: Head
    published: bool
    pinned: str = ""
    """What a rollback pinned out."""


class Overtaken(NamedTuple):
    """Another revision than the expected one is in force; 0: none. Nothing was written."""

    number: int


class PinnedOut(NamedTuple):
    """A rollback pinned the set out. Nothing was written."""

    pin: Pin


class TooOld(NamedTuple):
    """Live servers cannot decide under the set. Nothing was written."""

    engine: int
    """Which they would need."""
    servers: tuple[str, ...]

    def __str__(self) -> str:
        named = ", ".join(self.servers[:10]) + (" and more" if len(self.servers) > 10 else "")
        return f"the set needs engine {self.engine}, which these servers lack: {named}; upgrade them first"


class Nothing(NamedTuple):
    """What was named is not there, or there is nothing to do. `why` says it of the field that named it."""

    why: str
    missing: bool


class Unpinned(NamedTuple):
    """Pins that were taken away, sorted."""

    pinned: tuple[str, ...]
    head: Head


class Signed(NamedTuple):
    """Whose transaction it is, for the audit."""

    call: Call
    instance: str

    def audit(self, index: Work, detail: str, reason: str = "") -> None:
        """Puts the change on record in its own transaction."""
        change = Change(self.call.name, seq=index.head.seq, reason=reason, detail=detail)
        index.audit(row_of(self.call, AuditAct.CHANGE, "", index.now, self.instance, change))


def names_of(revision: PolicyName | PolicyRow) -> frozenset[str]:
    """What a pin could name it by: its commit, and its digest."""
    return frozenset({revision.commit, revision.digest} - {""})


def pin_of(revision: PolicyName | PolicyRow, pins: Iterable[Pin]) -> Pin | None:
    """The pin that keeps a set out; None where nothing does."""
    names = names_of(revision)
    return next((pin for pin in pins if pin.pinned in names), None)


def same_set(one: PolicyName | PolicyRow, other: PolicyName | PolicyRow) -> bool:
    """Whether two revisions are the same commit with the same content."""
    return (one.commit, one.digest, one.dirty) == (other.commit, other.digest, other.dirty)


def publish(
    index: Work, signed: Signed, row: PolicyRow, origin: Origin, expected: int, *, ref_moved: bool = False
) -> InForce | Overtaken | PinnedOut | TooOld:
    """Brings a set into force if the revision in force is still the expected one.

    `ref_moved`: whoever publishes follows a ref, which has left what is pinned out: that ends every pin. A set that
    somebody publishes by hand says nothing of where the ref is, so it ends none.
    """
    held = index.policies.in_force()
    if held is not None and same_set(held, row):
        return InForce(held, index.head, published=False)
    number = held.number if held is not None else 0
    if number != expected:
        return Overtaken(number)
    pins = index.policies.pins()
    pin = pin_of(row, pins)
    if pin is not None:
        return PinnedOut(pin)
    ending = pins if ref_moved else ()
    too_old = _too_old(index, row)
    if too_old is not None:
        return too_old
    name = _written(index, row, origin, expected)
    for ended in ending:
        index.policies.unpin(ended.pinned, signed.call.caller.name, f"revision {name.number} came into force")
    signed.audit(index, _words(name) + _ended(ending))
    return InForce(name, index.head, published=True)


def roll_back(
    index: Work, signed: Signed, row: PolicyRow, origin: Origin, expected: int
) -> InForce | Overtaken | TooOld | Nothing:
    """Brings an earlier revision into force again as a new one, and pins out what it leaves.

    `expected` 0: whichever is in force. The pin of what is brought back ends; those of others stay.
    """
    held = index.policies.in_force()
    if held is None or row.number > held.number:
        return Nothing("there is no such revision", missing=True)
    if expected not in {0, held.number}:
        return Overtaken(held.number)
    if row.number == held.number or same_set(held, row):
        return Nothing("that is the revision in force", missing=False)
    pinned = _pin_that_spares(held, row)
    if not pinned:
        return Nothing("it has the same files as the revision in force", missing=False)
    too_old = _too_old(index, row)
    if too_old is not None:
        return too_old
    name, actor = _written(index, row, origin, held.number), signed.call.caller.name
    ended = [pin for pin in index.policies.pins() if pin.pinned in names_of(row)]
    for pin in ended:
        index.policies.unpin(pin.pinned, actor, origin.reason)
    index.policies.pin(pinned, actor, origin.reason)
    detail = f"{_words(name)}, back to revision {row.number}, pins out {pinned}{_ended(ended)}"
    signed.audit(index, detail, origin.reason)
    return InForce(name, index.head, published=True, pinned=pinned)


def unpin(index: Work, signed: Signed, pinned: str, reason: str) -> Unpinned | Nothing:
    """Takes a pin away, or every one where none is named: what it kept out may come into force again."""
    ended = [pin for pin in index.policies.pins() if pinned in {"", pin.pinned}]
    if not ended:
        return Nothing("nothing of the kind is pinned out" if pinned else "nothing is pinned out", missing=True)
    for pin in ended:
        index.policies.unpin(pin.pinned, signed.call.caller.name, reason)
    signed.audit(index, _ended(ended).removeprefix(", "), reason)
    return Unpinned(tuple(sorted(pin.pinned for pin in ended)), index.head)


def _pin_that_spares(left: PolicyName, brought: PolicyRow) -> str:
    """What to pin the left set out by, so that what is brought back is not; empty where nothing tells them apart."""
    return next((name for name in (left.pin, left.digest) if name not in names_of(brought)), "")


def _too_old(index: Work, row: PolicyRow) -> TooOld | None:
    needed = engine_needed(row.bundle)
    older = sorted(one.beat.instance for one in index.policies.servers() if one.beat.engine < needed)
    return TooOld(needed, tuple(older)) if older else None


def _written(index: Work, row: PolicyRow, origin: Origin, expected: int) -> PolicyName:
    fresh = row._replace(number=expected + 1, published_at=index.now)
    number = index.policies.publish(expected, fresh, origin)
    # The row of the order is held: what was in force above is in force.
    assert number == fresh.number
    return fresh.name


def _words(name: PolicyName) -> str:
    return f"revision {name.number}, commit {name.commit or 'none'}, digest {name.digest}"


def _ended(pins: Iterable[Pin]) -> str:
    named = ", ".join(sorted(pin.pinned for pin in pins))
    return f", ends the pins of {named}" if named else ""
