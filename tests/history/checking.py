"""What is wrong with a history: everything that cannot be so in one numbered order that agrees with real time. Pure.

Each rule is a function of its own and has histories made by hand that break it, in `test_checking`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.history.events import NO_SEQ, Call, Outcome, Told
from tests.history.final import Final
from tests.history.intervals import Blocked
from tests.history.ledger import LOST, ledger_agrees
from tests.history.purging import nothing_is_brought_back, orders_agree, purges_are_due
from tests.history.serial import At, Serial
from tests.history.violation import Violation
from tests.history.world import keys_of, roots_of

UNSETTLED = frozenset({"POLICY_REVISION_CHANGED", "AUTH_REVISION_CHANGED", "POLICY_STALE", "AUDIT_UNAVAILABLE"})
"""Reasons that say nothing of the facts."""


def violations(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """All that is wrong."""
    yield from nothing_against_a_change(calls)
    yield from numbers_are_whole(final)
    yield from numbers_agree_with_time(calls, final)
    yield from purges_are_due(calls)
    yield from nothing_is_brought_back(calls)
    yield from ledger_agrees(calls, final)
    yield from orders_agree(calls, final)
    yield from verdicts_follow(calls, final)
    yield from revisions_never_step_back(calls)


def nothing_against_a_change(calls: Sequence[Call]) -> Iterator[Violation]:
    """Nothing is allowed by a call that began after a change returned that forbids it."""
    blocked = Blocked(calls)
    for call in calls:
        for told in call.told:
            if told.verdict != "ALLOW":
                continue
            for key in keys_of(told.refs, call.principal):
                found = blocked.by(key, call.began, call.ended)
                if found is not None:
                    yield Violation("against a change", f"{call.name} allowed {told.refs} after {found.by.name}")


def numbers_are_whole(final: Final) -> Iterator[Violation]:
    """The numbers of all events together are 1 to the last, each once."""
    seen: dict[int, str] = {}
    for table, numbers in final.numbered.items():
        for number in numbers:
            if number in seen:
                yield Violation("a number twice", f"{number} in {seen[number]} and {table}")
            seen[number] = table
    missing = [number for number in range(1, final.seq + 1) if number not in seen]
    if missing:
        yield Violation("a gap", f"{len(missing)} numbers name no event, the first is {missing[0]}")
    beyond = [number for number in seen if not 1 <= number <= final.seq]
    if beyond:
        yield Violation("beyond the head", f"{len(beyond)} events are numbered past {final.seq}")


class Own(NamedTuple):
    """The numbers that calls took, as the database tells: by mark, and by ledger id."""

    marks: dict[str, int]
    ledger: dict[str, int]

    def of(self, call: Call) -> list[int]:
        """Those of one call."""
        found = [self.ledger[t.ledger_id] for t in call.told if t.order == "COMMITTED" and t.ledger_id in self.ledger]
        if call.change is not None and call.change.mark in self.marks:
            found.append(self.marks[call.change.mark])
        return found


def numbers_agree_with_time(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """What began after a call ended has a higher number, and reads a state that is not older."""
    own = Own(
        {entry.mark: entry.seq for entry in final.audit if entry.mark and entry.seq},
        {row.ledger_id: row.seq for row in final.ledger.values()},
    )
    high, named = 0, "the start"
    for at, call in _moments(calls):
        if at == "ended":
            reached = max([call.seq, *own.of(call)]) if call.outcome is Outcome.ANSWERED else 0
            if reached > high:
                high, named = reached, call.name
            continue
        floor, before = high, named
        if call.seq != NO_SEQ and call.seq < floor:
            yield Violation("an older state", f"{call.name} read {call.seq}, {before} had ended at {floor}")
        for number in own.of(call):
            if number <= floor:
                yield Violation("against real time", f"{call.name} took {number}, {before} had ended at {floor}")


def _moments(calls: Sequence[Call]) -> Iterator[tuple[str, Call]]:
    """Begins and ends in the order of time; at one instant begins come first, so that nothing is claimed of them."""
    moments = [(call.began, 0, number) for number, call in enumerate(calls)]
    moments += [(call.ended, 1, number) for number, call in enumerate(calls)]
    for _, kind, number in sorted(moments):
        yield ("ended" if kind else "began"), calls[number]


def revisions_never_step_back(calls: Sequence[Call]) -> Iterator[Violation]:
    """No call is decided under an older policy revision than one that had answered before it began."""
    high, named = 0, "the start"
    for at, call in _moments(calls):
        if at == "ended":
            if call.policy > high:
                high, named = call.policy, call.name
        elif call.policy != NO_SEQ and call.policy < high:
            yield Violation("an older policy", f"{call.name} under {call.policy}, {named} had ended under {high}")


def verdicts_follow(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """Each verdict is what the facts say at the number that it names."""
    serial = Serial(final)
    for call in calls:
        if call.seq == NO_SEQ or not call.told:
            continue
        span = At(call.seq, call.policy, call.wall - (call.ended - call.began) // 1_000, call.wall)
        for told in call.told:
            if told.decided and told.reason not in UNSETTLED and _named_by_token(call, told):
                yield from _verdict(call, told, serial, span)


def _named_by_token(call: Call, told: Told) -> bool:
    """True where the token of the answer names the state that this verdict was made on.

    A repeated commit is judged again on facts of its own; where a part was committed the token names the state after.
    What was overtaken until it was given up was withheld for that, whatever the facts say.
    """
    if told.order == "OVERTAKEN" and told.reason in LOST:
        return False
    committed = any(one.order == "COMMITTED" for one in call.told)
    return told.order == "COMMITTED" if committed else told.order != "REPEATED"


def _verdict(call: Call, told: Told, serial: Serial, span: At) -> Iterator[Violation]:
    roots = roots_of(told.refs)
    causes = list(serial.causes(roots, call.principal, told.kind, span))
    where = f"{call.name} at {span.seq}: {told.verdict} {told.reason} of {told.refs}"
    if told.verdict == "ALLOW":
        for cause in causes:
            if cause.certain:
                yield Violation("allowed against the order", f"{where}, but {cause.what}")
    elif told.verdict == "PURGE":
        if not any(serial.revokes(roots, span)):
            yield Violation("purged without a revoke", where)
        for hold in serial.holds(roots_of(told.judged), span.seq):
            yield Violation("purged under a hold", f"{where}, but {hold} stands")
    elif not causes:
        yield Violation("withheld without a cause", where)
    elif call.method == "replay" and not serial.holds(roots, span.seq):
        due = [cause.what for cause in serial.revokes(roots, span) if cause.certain]
        if due:
            yield Violation("not purged", f"{where}, but {due[0]}")


def by_rule(found: Sequence[Violation], shown: int = 5) -> str:
    """The violations in words, a few of each rule."""
    grouped: dict[str, list[str]] = defaultdict(list)
    for one in found:
        grouped[one.rule].append(one.what)
    return "\n".join(f"{rule} ({len(w)}):\n  " + "\n  ".join(w[:shown]) for rule, w in grouped.items())
