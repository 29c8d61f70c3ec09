"""Databases copied, lost, restored and adopted in any order: what one server is let serve never lacks what it saw.

A model of contents stands beside the real marks. One server writes; operators copy databases and adopt copies, with the
server's state in front of them or not.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.facts import Micros
from discreet.server.errors import StoreRefused
from discreet.server.ports import Adoption, Head
from discreet.server.reading.high_water import HighWater

ACTS = ("write", "write", "copy", "start", "start", "adopt with state", "adopt without")


@dataclass(frozen=True, slots=True)
class Database:
    """`forgiven`: what an operator was shown to be lost, and accepted, on the way to this database."""

    epoch: str
    events: tuple[int, ...] = ()
    adoptions: tuple[Adoption, ...] = ()
    forgiven: frozenset[int] = frozenset()

    @property
    def head(self) -> Head:
        return Head(self.epoch, len(self.events), len(self.events), 1, Micros(0))


class World:
    """Databases, and one server with real marks that serves one of them at a time. `must`: what it has seen."""

    def __init__(self, state: Path) -> None:
        self._state = state
        self._epochs: Iterator[str] = (f"{number:032x}" for number in itertools.count(1))
        self._events = itertools.count(1)
        self.databases = [Database(next(self._epochs))]
        self.serving: int | None = None
        self.water = HighWater(state)
        self.must: frozenset[int] = frozenset()
        self.starts = 0

    def write(self, place: int) -> None:
        """An event, where the server serves; noted at once."""
        if self.serving == place:
            old = self.databases[place]
            self.databases[place] = replace(old, events=(*old.events, next(self._events)))
            self.must = frozenset(self.databases[place].events)
            self.water.note(self.databases[place].head)

    def copy(self, place: int) -> None:
        """A backup, put somewhere else."""
        self.databases.append(self.databases[place])

    def start(self, place: int) -> bool:
        """Whether the server was let serve; if so, nothing that it saw may be missing, but for what was accepted."""
        found = self.databases[place]
        water = HighWater(self._state)
        try:
            water.admit(found.head, found.adoptions)
        except StoreRefused:
            return False
        assert self.must - found.forgiven <= set(found.events), "a database that lacks something was let serve"
        self.water, self.serving, self.must = water, place, frozenset(found.events)
        self.starts += 1
        return True

    def adopt(self, place: int, with_state: bool) -> None:
        """What `discreet db adopt` does to a database, where it would."""
        found = self.databases[place]
        if self.serving == place:
            return
        seen: dict[str, int] = {}
        forgiven = found.forgiven
        if with_state:
            water = HighWater(self._state)
            try:
                water.require(found.head, found.adoptions)
            except StoreRefused:
                seen = water.seen(found.head, found.adoptions)
                forgiven = forgiven | (self.must - set(found.events))
            else:
                return
        seq = len(found.events)
        accepted = {**seen, found.epoch: max(seq, seen.get(found.epoch, 0))}
        given = Adoption(next(self._epochs), found.epoch, seq, tuple(sorted(accepted.items())), Micros(0), "", "")
        self.databases[place] = Database(given.epoch, found.events, (given, *found.adoptions), forgiven)
        if with_state:
            assert self.start(place), "an operator who was shown everything is not believed"


@given(st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 5)), max_size=40))
def test_no_order_of_copies_and_adoptions_opens_a_database_that_lacks_what_was_seen(
    acts: list[tuple[str, int]],
) -> None:
    """F1, A12: whatever is restored, in any order, accepted with or without looking; and who looked is believed."""
    with TemporaryDirectory(prefix="da-") as state:
        world = World(Path(state))
        assert world.start(0)
        for act, number in acts:
            place = number % len(world.databases)
            if act.startswith("adopt"):
                world.adopt(place, with_state="without" not in act)
            else:
                getattr(world, act)(place)
        if world.serving is not None:
            assert world.start(world.serving), "the database that was served last is not served again"
