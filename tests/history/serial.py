"""What the numbered order says of a segment at one number: the database's own history as the oracle. Pure.

A decision names the state that it was made on. So its verdict must follow from the facts as they were at that number,
and from nothing else: what is forbidden there is not allowed, what is not forbidden there is not withheld.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tests.history.events import NEVER
from tests.history.final import Final, RecordState, StandingState
from tests.history.world import DESK, label_of, needs_desk, record_of


class At(NamedTuple):
    """What is asked about: a state, and the span of time in which the decision was made."""

    seq: int
    policy: int
    since_us: int
    until_us: int


class Cause(NamedTuple):
    """Something that forbids. `certain` False: only at a part of the span."""

    what: str
    certain: bool = True


class Serial:
    """Answers from what the database holds."""

    def __init__(self, final: Final) -> None:
        self._final = final
        self._numbers = {ref: [state.seq for state in states] for ref, states in final.records.items()}
        ends = {row.fact_id: row.seq for row in final.standing if row.ends}
        self._standing: dict[str, list[tuple[StandingState, int]]] = defaultdict(list)
        for row in final.standing:
            if not row.ends:
                self._standing[_key(row)].append((row, ends.get(row.fact_id, NEVER)))

    def record(self, ref: str, seq: int) -> RecordState | None:
        """The record version as it was at a number."""
        place = bisect_right(self._numbers.get(ref, ()), seq)
        return self._final.records[ref][place - 1] if place else None

    def causes(self, roots: tuple[str, ...], principal: str, kind: str, at: At) -> Iterator[Cause]:
        """Everything that forbids a segment with these roots to this reader."""
        for ref in roots:
            state = self.record(ref, at.seq)
            if state is None:
                yield Cause(f"{ref} is not there")
                continue
            yield from _of_record(ref, state, at)
            if not state.scopes:
                yield Cause(f"{ref} has no scopes")
        if any(needs_desk(record_of(ref)) for ref in roots) and not self._granted(principal, at.seq):
            yield Cause(f"{principal} has no grant")
        for fact in ("freeze", "hold", "source-revoke"):
            for row, _ in self._over(roots, fact, at.seq):
                past = fact == "freeze" and row.until_us <= at.until_us
                if not (fact == "freeze" and row.until_us <= at.since_us):
                    yield Cause(f"{fact} {row.fact_id}", not past)
        if kind in self._final.withheld.get(at.policy, frozenset()):
            yield Cause(f"policy revision {at.policy} withholds {kind}")

    def revokes(self, roots: tuple[str, ...], at: At) -> Iterator[Cause]:
        """The retention revokes that are due; `certain` where they were due all the span.

        A version that has a revoke of its own keeps it, its time too, whatever becomes of its source.
        """
        for ref in roots:
            state = self.record(ref, at.seq)
            if state is not None and state.revoked:
                if state.due_us <= at.until_us:
                    yield Cause(f"{ref} is revoked", state.due_us <= at.since_us)
                continue
            for row, _ in self._over((ref,), "source-revoke", at.seq):
                if row.until_us <= at.until_us:
                    yield Cause(f"{row.label} is revoked", row.until_us <= at.since_us)

    def holds(self, roots: tuple[str, ...], seq: int) -> list[str]:
        """The legal holds on any of the roots."""
        return [row.fact_id for row, _ in self._over(roots, "hold", seq)]

    def _over(self, roots: tuple[str, ...], fact: str, seq: int) -> Iterator[tuple[StandingState, int]]:
        keys = dict.fromkeys(["tenant", *(f"ref:{r}" for r in roots), *(f"label:{_label(r)}" for r in roots)])
        for key in keys:
            for row, end in self._standing.get(key, ()):
                if row.fact == fact and row.seq <= seq < end:
                    yield row, end

    def _granted(self, principal: str, seq: int) -> bool:
        standing: dict[int, bool] = {}
        for row in self._final.grants.get(principal, ()):
            if row.seq <= seq and row.scope == DESK:
                standing[row.generation] = standing.get(row.generation, True) and not row.withdrawn
        return any(standing.values())


def _of_record(ref: str, state: RecordState, at: At) -> Iterator[Cause]:
    if state.revoked:
        yield Cause(f"{ref} is revoked")
    if state.suspended and state.suspended_until_us > at.since_us:
        yield Cause(f"{ref} is suspended", state.suspended_until_us > at.until_us)
    if state.unreachable:
        yield Cause(f"{ref} is unreachable")
    if state.superseded:
        yield Cause(f"{ref} is superseded")
    if state.assessed_until_us <= at.until_us:
        yield Cause(f"{ref}'s assessment has ended", state.assessed_until_us <= at.since_us)


def _label(ref: str) -> str:
    return label_of(record_of(ref))


def _key(row: StandingState) -> str:
    """What a standing fact is about."""
    if row.ref:
        return f"ref:{row.ref}"
    return f"label:{row.label}" if row.label else "tenant"
