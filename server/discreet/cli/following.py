"""Decisions as they come. Knows no clock but that of the decisions, and no way to wait but the one it is given."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from discreet.v1.audit_pb2 import DecisionRecord

OVERLAP_US = 60_000_000
"""A row may come to stand this long after the time that it names, and is found then all the same."""


def follow(
    ask: "Callable[[int], Sequence[DecisionRecord]]",
    show: "Callable[[DecisionRecord], None]",
    wait: Callable[[], bool],
    since_us: int,
) -> None:
    """Shows each decision since a time once, oldest first, until `wait` says that nobody waits any more.

    `ask` returns all decisions since a time (microseconds since 1970), newest first. It is asked again from a minute
    before the newest one that was shown, since rows do not come in the order of their times.
    """
    seen: dict[str, int] = {}
    newest = since_us
    while True:
        for one in reversed(ask(max(since_us, newest - OVERLAP_US))):
            if one.decision.decision_id not in seen:
                seen[one.decision.decision_id] = one.at.ToMicroseconds()
                newest = max(newest, seen[one.decision.decision_id])
                show(one)
        seen = {name: at for name, at in seen.items() if at >= newest - OVERLAP_US}
        if not wait():
            return
