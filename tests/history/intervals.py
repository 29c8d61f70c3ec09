"""When a key was surely forbidden, from calls alone: what no serial order of the calls can explain away. Pure.

A change that blocks is in force from its end at the latest. What ends it may have taken effect as early as it began:
unless it ended before the block began, the block counts only up to there. So nothing is called forbidden that an
order of the calls could allow.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.history.events import NEVER, Call, Outcome


@dataclass(frozen=True, slots=True)
class Forbidden:
    """From `since` to `until`, both left out, a key was surely blocked by a call."""

    since: int
    until: int
    by: Call


def possible_end(call: Call) -> int:
    """When a call surely had its effect, or none: an unknown outcome may come at any time."""
    return NEVER if call.outcome is Outcome.UNKNOWN else call.ended


def forbidden(calls: Iterable[Call]) -> Iterator[tuple[str, Forbidden]]:
    """The intervals of each key."""
    blocks: dict[tuple[str, str], list[Call]] = defaultdict(list)
    ends: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in calls:
        if call.change is not None and call.outcome is not Outcome.REFUSED:
            register = (call.change.register, call.change.instance)
            for key in call.change.keys:
                (blocks if call.change.blocks else ends)[f"{register}{key}", key].append(call)
    for place, found in blocks.items():
        enders = sorted(ends.get(place, ()), key=lambda call: call.began)
        for call in found:
            if call.outcome is Outcome.ANSWERED:
                ended = [e.began for e in enders if possible_end(e) >= call.began]
                replaced = [_lapses(e) for e in found if e is not call and possible_end(e) >= call.began]
                yield place[1], Forbidden(call.ended, min([*ended, *replaced, _own_end(call)]), call)


def _lapses(call: Call) -> int:
    """When a block that replaced an earlier one has ended by itself, at the earliest."""
    if call.outcome is Outcome.ANSWERED or _own_end(call) == NEVER:
        return _own_end(call)
    return call.began


def _own_end(call: Call) -> int:
    """When the block ends by itself, on the monotonic clock."""
    until_us = call.change.until_us if call.change is not None else NEVER
    return NEVER if until_us >= NEVER else call.ended + (until_us - call.wall) * 1_000


class Blocked:
    """Answers whether a key was forbidden all the time that a call lasted."""

    def __init__(self, calls: Iterable[Call]) -> None:
        found: Mapping[str, list[Forbidden]] = defaultdict(list)
        for key, interval in forbidden(calls):
            found[key].append(interval)
        self._intervals = {key: sorted(mine, key=lambda i: i.since) for key, mine in found.items()}
        self._longest = {key: list(_running_longest(mine)) for key, mine in self._intervals.items()}

    def by(self, key: str, began: int, ended: int) -> Forbidden | None:
        """The interval that holds all of [began, ended], if there is one."""
        mine = self._intervals.get(key)
        if mine is None:
            return None
        place = bisect_left(mine, began, key=lambda interval: interval.since)
        if place == 0:
            return None
        best = self._longest[key][place - 1]
        return best if best.until > ended else None


def _running_longest(intervals: list[Forbidden]) -> Iterator[Forbidden]:
    best = intervals[0]
    for interval in intervals:
        best = max(best, interval, key=lambda one: one.until)
        yield best
