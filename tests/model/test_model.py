"""The authority in small: every interleaving of a few calls, in the model, and step by step on the real stores."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import settings

from discreet.server.stores import open_store
from tests.history.checking import numbers_are_whole
from tests.history.ledger import rows_have_audit
from tests.history.purging import orders_agree
from tests.history.reading_back import Place, read_back
from tests.model.authority import A, B, Does, Segment
from tests.model.exploring import Commit, Process, Replay, Run, runs
from tests.model.holds import broken
from tests.model.on_store import Played
from tests.postgres_server import PostgresServer

Calls = tuple[Process, ...]
ON_A, ON_BOTH = Segment("one", "f", (A,)), Segment("two", "f", (A, B))
SAME, OTHER = Segment("one", "f", (A,)), Segment("one", "g", (A,))
"""The same commit again, and another one under the same key."""


def small() -> Iterator[Calls]:
    """Two commits and a change; a commit, two changes and a replay: each kind of change, and each pair of kinds."""
    for does in Does:
        for other in (ON_BOTH, SAME, OTHER):
            yield Commit(ON_A), Commit(other), does
    for first, second in itertools.combinations_with_replacement(Does, 2):
        yield Commit(ON_BOTH), Replay("two"), first, second
        yield Commit(ON_A), first, second


def large() -> Iterator[Calls]:
    """Two commits and two changes."""
    for first, second in itertools.combinations_with_replacement(Does, 2):
        for other in (ON_BOTH, SAME) if deep() else (ON_BOTH,):
            yield Commit(ON_A), Commit(other), first, second


def test_every_interleaving_of_the_model_is_one_order() -> None:
    """B6, B7, F3, F5: in 30,000 runs nothing is written against what stands, no number twice, no order is too wide."""
    counted: Counter[str] = Counter()
    for calls in (*small(), *large()):
        for run in runs(calls):
            counted["runs"] += 1
            counted.update(type(step.gives).__name__ for step in run)
            assert list(broken(calls, run)) == [], (calls, run)
    assert counted["runs"] > 20_000
    assert min(counted["Recorded"], counted["Overtaken"], counted["Exists"]) > 500, counted


def test_what_must_hold_is_not_held_by_everything() -> None:
    """The invariants find a run in which a commit was written past a revoke, or an order covers what came later."""
    calls = (Commit(ON_A), Does.REVOKE_A)
    late = next(run for run in runs(calls) if [step.what for step in run] == ["read", "change", "offer", "read"])
    first = next(run for run in runs(calls) if [step.what for step in run] == ["read", "offer", "change"])
    forged = (*late[:2], replace(late[2], gives=first[1].gives))
    assert "a commit was written against what stood" in list(broken(calls, forged))


def sampled(every: Sequence[tuple[Calls, Run]], count: int) -> list[tuple[Calls, Run]]:
    """So many of the runs, the same each time; all of them where there are no more."""
    return list(every) if len(every) <= count else random.Random(7).sample(list(every), count)


def deep() -> bool:
    """True under `make fuzz`."""
    return settings.default is not None and settings.default.max_examples > 1_000


async def played(place: Place, chosen: Sequence[tuple[Calls, Run]]) -> None:
    """Plays runs on a store, each in a tenant of its own; then the database as a whole must be one order."""
    store = open_store(place.url)
    await store.open()
    for number, (calls, run) in enumerate(chosen):
        await Played(store, number).play(calls, run)
    await store.close()
    final = read_back(place, lambda _: frozenset())
    assert final.broken_links == []
    wrong = [*numbers_are_whole(final), *rows_have_audit(final), *orders_agree([], final)]
    assert wrong == []


SQLITE_RUNS, POSTGRESQL_RUNS, DEEP_RUNS = 700, 120, 9_900


@pytest.mark.hypothesis
async def test_the_sqlite_store_does_what_the_model_does(tmp_path: Path) -> None:
    """B6, F5: the same outcome at every step, for the same cause; ledger, audit, numbers, orders agree at the end."""
    every = [(calls, run) for calls in small() for run in runs(calls)]
    chosen = sampled(every, DEEP_RUNS if deep() else SQLITE_RUNS)
    await played(Place("sqlite", str(tmp_path / "discreet.db")), chosen)


@pytest.mark.hypothesis
async def test_the_postgresql_store_does_what_the_model_does() -> None:
    """B6, F5: the same, where every offer is one statement of the database's own."""
    every = [(calls, run) for calls in small() for run in runs(calls)]
    server = PostgresServer()
    try:
        chosen = sampled(every, DEEP_RUNS if deep() else POSTGRESQL_RUNS)
        await played(Place("postgresql", server.fresh_database()), chosen)
    finally:
        server.stop()
