"""Following decisions: each once, oldest first, also those whose rows come late."""

from __future__ import annotations

from discreet.cli.following import OVERLAP_US, follow
from discreet.v1.audit_pb2 import DecisionRecord

AT = 1_800_000_000_000_000


def decided(name: str, at_us: int) -> DecisionRecord:
    """A decision of a time."""
    made = DecisionRecord()
    made.decision.decision_id = name
    made.at.FromMicroseconds(at_us)
    return made


def followed(*turns: list[DecisionRecord]) -> tuple[list[str], list[int]]:
    """What is shown, and since when was asked, where the rows of each turn come before it is asked."""
    rows: list[DecisionRecord] = []
    shown: list[str] = []
    asked: list[int] = []
    rest = iter(turns)
    rows += next(rest)

    def ask(since_us: int) -> list[DecisionRecord]:
        asked.append(since_us)
        found = [row for row in rows if row.at.ToMicroseconds() >= since_us]
        return sorted(found, key=lambda row: row.at.ToMicroseconds(), reverse=True)

    def wait() -> bool:
        more = next(rest, None)
        rows.extend(more or [])
        return more is not None

    follow(ask, lambda row: shown.append(row.decision.decision_id), wait, AT)
    return shown, asked


def test_each_decision_is_shown_once_and_the_oldest_first() -> None:
    """AUD-04: equal times, late rows and empty turns lose nothing and repeat nothing."""
    late = decided("late", AT + 5)
    shown, asked = followed(
        [decided("b", AT + 20), decided("a", AT + 10), decided("before", AT - 1)],
        [],
        [decided("d", AT + 2 * OVERLAP_US), late, decided("c", AT + 20)],
        [decided("e", AT + 2 * OVERLAP_US)],
    )
    assert shown == ["a", "b", "late", "c", "d", "e"]
    assert asked == [AT, AT, AT, AT + OVERLAP_US]


def test_nothing_is_shown_where_nothing_comes() -> None:
    """It starts at the time given, and ends when nobody waits any more."""
    assert followed([decided("before", AT - 1)]) == ([], [AT])
