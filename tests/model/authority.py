"""A model of the one order: what commits and changes do to each other, in as few words as possible. Pure.

A state is a value. Commits are decided on a state that they read and offered to a later one; changes are one step. The
stores must give what `offer` gives, whatever came in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

A, B = "a", "b"
RECORDS = (A, B)
"""Two records of one source."""


class Does(Enum):
    """A change, in one step."""

    REVOKE_A = "revoke a"
    REVOKE_BOTH = "revoke a and b"
    REVOKE_SOURCE = "revoke the source"
    SUSPEND_A = "suspend a"
    RESUME_A = "resume a"
    SUPERSEDE_B = "supersede b"
    WITHDRAW = "withdraw the grant"
    GRANT = "grant"
    FREEZE = "freeze the source"
    UNFREEZE = "end the freezes"
    HOLD_A = "hold a"
    LIFT = "lift the holds"
    PUBLISH = "publish a policy"


class Record(NamedTuple):
    """A record as it stands."""

    revision: int
    order: int = 0
    """The number of the order that its revoke made."""
    suspended: bool = False
    superseded: bool = False


class Entry(NamedTuple):
    """A committed segment."""

    key: str
    fingerprint: str
    rests_on: tuple[str, ...]
    seq: int


class Order(NamedTuple):
    """A purge order: its number, and the keys of the segments that it covers."""

    seq: int
    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Everything that decides, and everything that was decided. Numbers count from the state that began."""

    seq: int = 0
    changed: int = 0
    policy: int = 0
    records: tuple[Record, Record] = (Record(0), Record(0))
    granted: bool = True
    grants: int = 0
    standing: int = 0
    source_order: int = 0
    frozen: int = 0
    held: int = 0
    ledger: tuple[Entry, ...] = ()
    orders: tuple[Order, ...] = ()

    def record(self, name: str) -> Record:
        """A record by its name."""
        return self.records[RECORDS.index(name)]

    def entry(self, key: str) -> Entry | None:
        """A committed segment by its key."""
        return next((entry for entry in self.ledger if entry.key == key), None)


class Segment(NamedTuple):
    """What a commit offers."""

    key: str
    fingerprint: str
    rests_on: tuple[str, ...]


class Told(Enum):
    """What is said of a segment."""

    ALLOW = "allow"
    WITHHOLD = "withhold"
    PURGE = "purge"


class Recorded(NamedTuple):
    """It stands, under this number."""

    seq: int


class Overtaken(NamedTuple):
    """What it was decided on has changed: which of it."""

    policy: bool
    grants: bool
    standing: bool
    records: tuple[str, ...]


class Exists(NamedTuple):
    """The key is taken."""

    same: bool


Offered = Recorded | Overtaken | Exists


def told(state: State, rests_on: tuple[str, ...]) -> Told:
    """What is said of a segment with these roots, on this state; the policy of the model allows everything."""
    records = [state.record(name) for name in rests_on]
    held = bool(state.held) and A in rests_on
    if any(record.order for record in records) or state.source_order:
        return Told.WITHHOLD if held else Told.PURGE
    hidden = held or state.frozen or not state.granted
    return Told.WITHHOLD if hidden or any(r.suspended or r.superseded for r in records) else Told.ALLOW


def offer(state: State, segment: Segment, seen: State) -> tuple[State, Offered]:
    """The state after a commit that was decided on `seen`, and how it ended."""
    taken = state.entry(segment.key)
    if taken is not None:
        return state, Exists(taken.fingerprint == segment.fingerprint)
    overtaken = Overtaken(
        state.policy != seen.policy,
        state.grants != seen.grants,
        state.standing != seen.standing,
        tuple(name for name in segment.rests_on if state.record(name).revision != seen.record(name).revision),
    )
    if any(overtaken):
        return state, overtaken
    entry = Entry(segment.key, segment.fingerprint, segment.rests_on, state.seq + 1)
    return replace(state, seq=entry.seq, ledger=(*state.ledger, entry)), Recorded(entry.seq)


def change(state: State, does: Does) -> State:
    """The state after a change; the same state where it changes nothing."""
    match does:
        case Does.REVOKE_A:
            return _revoke(state, (A,))
        case Does.REVOKE_BOTH:
            return _revoke(state, RECORDS)
        case Does.REVOKE_SOURCE:
            return _revoke_source(state)
        case Does.SUSPEND_A:
            return _edit(state, A, suspended=True)
        case Does.RESUME_A:
            return _edit(state, A, suspended=False)
        case Does.SUPERSEDE_B:
            return _edit(state, B, superseded=True)
        case Does.WITHDRAW | Does.GRANT:
            granted = does is Does.GRANT
            return state if state.granted == granted else replace(_fact(state), granted=granted, grants=state.seq + 1)
        case Does.PUBLISH:
            return replace(_fact(state), policy=state.policy + 1)
        case _:
            return _stand(state, does)


def _fact(state: State, count: int = 1) -> State:
    seq = state.seq + count
    return replace(state, seq=seq, changed=seq)


def _stand(state: State, does: Does) -> State:
    """Freezes and holds: any number may stand; ending them ends all, one after the other."""
    name = "frozen" if does in {Does.FREEZE, Does.UNFREEZE} else "held"
    count = state.frozen if name == "frozen" else state.held
    if does in {Does.FREEZE, Does.HOLD_A}:
        after = replace(_fact(state), standing=state.seq + 1)
        return replace(after, frozen=count + 1) if name == "frozen" else replace(after, held=count + 1)
    if not count:
        return state
    after = replace(_fact(state, count), standing=state.seq + count)
    return replace(after, frozen=0) if name == "frozen" else replace(after, held=0)


def _edit(state: State, name: str, **fields: bool) -> State:
    record = state.record(name)
    edited = record._replace(**fields, revision=state.seq + 1)
    if record.order or state.source_order or edited._replace(revision=record.revision) == record:
        return state
    return replace(_fact(state), records=_with(state, name, edited))


def _with(state: State, name: str, record: Record) -> tuple[Record, Record]:
    return (record, state.records[1]) if name == A else (state.records[0], record)


def _revoke(state: State, names: tuple[str, ...]) -> State:
    """One event a record, then the order: what was revoked before keeps its own."""
    fresh = () if state.source_order else tuple(name for name in names if not state.record(name).order)
    if not fresh:
        return state
    after = state
    order = state.seq + len(fresh) + 1
    for name in fresh:
        after = _fact(after)
        edited = after.record(name)._replace(revision=after.seq, order=order)
        after = replace(after, records=_with(after, name, edited))
    return _ordered(after, fresh)


def _revoke_source(state: State) -> State:
    """One standing fact, then the order over what rests on versions of the source that were not revoked before."""
    if state.source_order:
        return state
    fresh = tuple(name for name in RECORDS if not state.record(name).order)
    after = _fact(state)
    after = replace(after, standing=after.seq, source_order=after.seq + 1)
    return _ordered(after, fresh)


def _ordered(state: State, names: tuple[str, ...]) -> State:
    seq = state.seq + 1
    covers = tuple(sorted(entry.key for entry in state.ledger if set(names) & set(entry.rests_on)))
    return replace(state, seq=seq, orders=(*state.orders, Order(seq, covers)))
