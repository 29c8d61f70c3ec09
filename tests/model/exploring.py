"""Every order in which the steps of a few calls can follow one another, on the model. Pure.

A commit reads, decides and offers, and begins again where it was overtaken, a bounded number of times; a replay reads;
a change is one step. Between two steps of one call any step of any other may come.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tests.model.authority import Does, Offered, Overtaken, Segment, State, Told, change, offer, told

ROUNDS_MAX = 2


class Commit(NamedTuple):
    """A call that commits a segment."""

    segment: Segment


class Replay(NamedTuple):
    """A call that asks about a stored segment."""

    key: str


Process = Commit | Replay | Does


class Position(NamedTuple):
    """Where a call is: how many rounds it began, what it read for the present one, whether it is over."""

    rounds: int = 0
    seen: State | None = None
    over: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One step of one call. `before` and `after`: the state around it; `gives`: what the call learns from it."""

    process: int
    what: str
    before: State
    after: State
    gives: Told | Offered | None = None


Run = tuple[Step, ...]


def runs(processes: Sequence[Process], start: State = State()) -> Iterator[Run]:  # noqa: B008 - a state is a value
    """All runs of the calls, each once."""
    yield from _from(tuple(processes), start, tuple(Position() for _ in processes), ())


def _from(processes: tuple[Process, ...], state: State, at: tuple[Position, ...], so_far: Run) -> Iterator[Run]:
    ready = [number for number, position in enumerate(at) if not position.over]
    if not ready:
        yield so_far
    for number in ready:
        step, position = _step(processes[number], number, state, at[number])
        moved = (*at[:number], position, *at[number + 1 :])
        yield from _from(processes, step.after, moved, (*so_far, step))


def _step(process: Process, number: int, state: State, at: Position) -> tuple[Step, Position]:
    over = Position(over=True)
    if isinstance(process, Does):
        return Step(number, "change", state, change(state, process)), over
    if isinstance(process, Replay):
        entry = state.entry(process.key)
        said = None if entry is None else told(state, entry.rests_on)
        return Step(number, "replay", state, state, said), over
    if at.seen is None:
        said = told(state, process.segment.rests_on)
        step = Step(number, "read", state, state, said)
        return step, Position(at.rounds + 1, state) if said is Told.ALLOW else over
    after, outcome = offer(state, process.segment, at.seen)
    again = isinstance(outcome, Overtaken) and at.rounds < ROUNDS_MAX
    return Step(number, "offer", state, after, outcome), at._replace(seen=None) if again else over
