"""Answers, ledger and audit say the same: none lost, none twice, none from nowhere. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from tests.history.events import Call, Outcome, Told
from tests.history.final import Final, LedgerRow
from tests.history.violation import Violation
from tests.history.world import roots_of

LOST = frozenset({"AUDIT_UNAVAILABLE", "DEPENDENCY_UNAVAILABLE"})
"""Reasons under which an earlier attempt within the same call may have been written."""


def ledger_agrees(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """All rules on ledger and audit."""
    for broken in final.broken_links:
        yield Violation("the audit chain", broken)
    yield from _answers_are_there(calls, final)
    yield from _rows_come_from_calls(calls, final)
    yield from rows_have_audit(final)
    yield from _marks_come_from_calls(calls, final)
    yield from _reports_are_there(calls, final)


def _answers_are_there(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """What an answer says was committed is in the ledger, under the number that the answer names."""
    for call in calls:
        for told in call.told:
            if told.order not in {"COMMITTED", "REPEATED"}:
                continue
            row = final.ledger.get(told.ledger_id)
            if row is None:
                yield Violation("lost", f"{call.name}: {told.ledger_id} was {told.order} and is not in the ledger")
            elif row.key != told.key or row.roots != roots_of(told.refs):
                yield Violation("differs", f"{call.name}: {told.ledger_id} stands for {row.key}, {row.roots}")
            elif told.order == "COMMITTED" and row.seq != call.seq:
                yield Violation("differs", f"{call.name}: {told.ledger_id} has {row.seq}, the answer said {call.seq}")


def _rows_come_from_calls(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """Each row was asked for, by a call that could have written it; and no key stands twice."""
    may: dict[str, bool] = defaultdict(bool)
    asked: dict[str, tuple[str, ...]] = {}
    for call in calls:
        if call.method == "commit":
            for told in call.told:
                asked[told.key] = roots_of(told.refs)
                may[told.key] |= _may_have_written(call, told)
    rows: dict[str, LedgerRow] = {}
    for row in final.ledger.values():
        if row.key in rows:
            yield Violation("twice", f"{row.key}: {rows[row.key].ledger_id} and {row.ledger_id}")
        rows[row.key] = row
        if row.key not in asked:
            yield Violation("from nowhere", f"{row.ledger_id} for {row.key}, which nobody asked for")
        elif not may[row.key]:
            yield Violation("refused and written", f"{row.ledger_id} for {row.key}")
        elif row.roots != asked[row.key]:
            yield Violation("differs", f"{row.ledger_id} rests on {row.roots}, asked was {asked[row.key]}")


def _may_have_written(call: Call, told: Told) -> bool:
    """REPEATED: by an earlier call, or by an attempt of this one whose answer got lost."""
    written = told.order in {"COMMITTED", "REPEATED"}
    return written or call.outcome is Outcome.UNKNOWN or not told.decided or told.reason in LOST


def rows_have_audit(final: Final) -> Iterator[Violation]:
    """Each ledger row is in one audit row, written in the same transaction; and no audit row is of none."""
    found: Counter[str] = Counter()
    for entry in final.audit:
        for ledger_id in entry.committed:
            found[ledger_id] += 1
            row = final.ledger.get(ledger_id)
            if row is None:
                yield Violation("audit without ledger", f"{ledger_id} in link {entry.link}")
            elif row.link != entry.link:
                yield Violation("audit elsewhere", f"{ledger_id}: ledger says {row.link}, audit {entry.link}")
    for ledger_id in final.ledger:
        if found[ledger_id] != 1:
            yield Violation("ledger without audit", f"{ledger_id} is in {found[ledger_id]} audit rows")


def _marks_come_from_calls(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """Each change on record was asked for by a call that was not refused, and stands once."""
    asked = {call.change.mark: call for call in calls if call.change is not None}
    found: Counter[str] = Counter()
    for entry in final.audit:
        if not entry.mark or not entry.seq:
            continue
        found[entry.mark] += 1
        call = asked.get(entry.mark)
        if call is None:
            yield Violation("from nowhere", f"a change marked {entry.mark}")
        elif call.outcome is Outcome.REFUSED:
            yield Violation("refused and written", f"{call.name}, {entry.mark}")
    for mark, count in found.items():
        if count > 1 and mark in asked:
            yield Violation("twice", f"{count} audit rows of {asked[mark].name}")


def _reports_are_there(calls: Sequence[Call], final: Final) -> Iterator[Violation]:
    """What was confirmed as shown is on record so, and nothing that nobody reported."""
    reported: set[str] = set()
    for call in calls:
        for told in call.told if call.method == "report" else ():
            reported.add(told.ledger_id)
            if told.verdict == "CONFIRMED" and told.ledger_id not in final.shown:
                yield Violation("report lost", f"{call.name}: {told.ledger_id}")
            if told.verdict == "NO_SUCH" and told.ledger_id in final.ledger:
                yield Violation("report refused", f"{call.name}: {told.ledger_id} is in the ledger")
    for ledger_id in final.shown - reported:
        yield Violation("from nowhere", f"{ledger_id} is on record as shown, and nobody said so")
