"""What must hold of every run of the model, whatever its order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.model.authority import RECORDS, Recorded, State, Told, told
from tests.model.exploring import Commit, Process, Run


def broken(processes: Sequence[Process], run: Run) -> Iterator[str]:
    """Everything that does not hold."""
    for step in run:
        process = processes[step.process]
        if isinstance(step.gives, Recorded) and isinstance(process, Commit):
            if told(step.before, process.segment.rests_on) is not Told.ALLOW:
                yield "a commit was written against what stood"
            if step.gives.seq != step.before.seq + 1:
                yield "a commit's number is not the next one"
        if step.after.seq < step.before.seq or step.after.changed < step.before.changed:
            yield "a number went back"
    if run:
        yield from _ledger(run[-1].after)
        yield from _purges(run)


def _ledger(state: State) -> Iterator[str]:
    numbers = [entry.seq for entry in state.ledger] + [order.seq for order in state.orders]
    if len(numbers) != len(set(numbers)) or any(not 0 < number <= state.seq for number in numbers):
        yield "numbers are not unique, or beyond the head"
    keys = [entry.key for entry in state.ledger]
    if len(keys) != len(set(keys)):
        yield "a key stands twice"


def _purges(run: Run) -> Iterator[str]:
    """Once a revoke stands, what rests on it is never allowed again, is covered by an order, and nothing joins it."""
    state = run[-1].after
    for entry in state.ledger:
        said = [told(step.after, entry.rests_on) for step in run]
        if Told.PURGE in said and Told.ALLOW in said[said.index(Told.PURGE) :]:
            yield "what was to be purged was allowed again"
        covered = [order for order in state.orders if entry.key in order.covers]
        if Told.PURGE in said and not covered:
            yield "what is to be purged is in no order"
        for order in covered:
            if entry.seq > order.seq:
                yield "an order covers what came after it"
    revoked = {name for name in RECORDS if state.record(name).order or state.source_order}
    for entry in state.ledger:
        if entry.rests_on and not revoked & set(entry.rests_on) and any(entry.key in o.covers for o in state.orders):
            yield "an order covers what rests on nothing that was revoked"
