"""Whatever is revoked, held, registered and answered, and in which order: every order covers what its roots say.

A plain model of sets goes along with a server on each kind of database.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from discreet.v1 import purge_pb2 as pb
from tests.postgres_server import PostgresServer
from tests.server.purge.orders import DOCUMENTS, IDENTITIES, SEGMENTS, MovedClock, Scene, keys
from tests.server.support import PolicyRepo, binding, commit, config_of, document, in_process, segment

RECORDS = [f"handbook/d{number}" for number in range(5)]
STEPS = 70
DONE = {"PURGED", "NOT_FOUND"}
KINDS = {"threads": SEGMENTS, "vectors": DOCUMENTS, "files": DOCUMENTS}


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture(params=["sqlite", "postgresql"])
async def anywhere(request: pytest.FixtureRequest, place: Path, repo: PolicyRepo) -> AsyncIterator[Scene]:
    """A server on either kind of database, on its own clock."""
    changes = {}
    if request.param == "postgresql":
        changes["db"] = request.getfixturevalue("postgres").fresh_database("template1")
    async with in_process(config_of(place, repo.path, identities=IDENTITIES, **changes)) as running:
        yield Scene(running, MovedClock())


@dataclass(slots=True)
class Model:
    """What should be true, from what was done."""

    roots: dict[str, set[str]] = field(default_factory=dict)
    """Ledger id to the records it rests on."""
    revoked: dict[str, str] = field(default_factory=dict)
    """Record to order."""
    covered: dict[str, list[str]] = field(default_factory=dict)
    """Order to what it covers, in the order of items: ledger ids in their order, then the record."""
    holders: set[str] = field(default_factory=set)
    holds: dict[str, str] = field(default_factory=dict)
    """Hold to record."""
    states: dict[tuple[str, str, int], str] = field(default_factory=dict)
    """(holder, order, item) to the stored state."""

    def add_parts(self) -> None:
        """A part for each registered holder in each order, where it has none."""
        for holder in self.holders:
            for order, covered in self.covered.items():
                for item, name in enumerate(covered, 1):
                    if (name in self.roots) == (KINDS[holder] == SEGMENTS):
                        self.states.setdefault((holder, order, item), "OPEN")

    def held(self, order: str, item: int) -> bool:
        """Whether a hold covers any of the item's roots."""
        name = self.covered[order][item - 1]
        return bool(self.roots.get(name, {name}) & set(self.holds.values()))

    def shown(self, key: tuple[str, str, int]) -> str:
        """The state as it is shown."""
        state = self.states[key]
        return "HELD" if state not in DONE and self.held(key[1], key[2]) else state


class Player:
    """Does something at random on a server, and the same to the model."""

    def __init__(self, stage: Scene, seed: int) -> None:
        self.stage = stage
        self.model = Model()
        self.chance = random.Random(seed)

    async def step(self) -> None:
        """One act."""
        acts = (self.commit, self.commit, self.answer, self.answer, self.revoke, self.register, self.hold, self.lift)
        await self.chance.choice(acts)()

    async def commit(self) -> None:
        """Commits a segment on some records; on a revoked one it is refused."""
        chosen = self.chance.sample(RECORDS, self.chance.randint(1, 2))
        named = segment(f"s{self.chance.random()}", *(binding(name) for name in chosen))
        answer = await self.stage.line("agent").commit(commit(named))
        allowed = not (set(chosen) & (set(self.model.revoked) | set(self.model.holds.values())))
        assert bool(answer.results[0].ledger_id) == allowed
        if allowed:
            self.model.roots[answer.results[0].ledger_id] = set(chosen)

    async def revoke(self) -> None:
        """Revokes a record that is not."""
        left = [name for name in RECORDS if name not in self.model.revoked]
        if not left:
            return
        name = self.chance.choice(left)
        order = self.model.revoked[name] = await self.stage.revoke(name)
        resting = sorted(ledger_id for ledger_id, roots in self.model.roots.items() if name in roots)
        self.model.covered[order] = [*resting, name]
        self.model.add_parts()

    async def register(self) -> None:
        """Registers a holder, again or for the first time."""
        holder = self.chance.choice(list(KINDS))
        await self.stage.register(holder, KINDS[holder])
        self.model.holders.add(holder)
        self.model.add_parts()

    async def hold(self) -> None:
        """Holds a record."""
        name = self.chance.choice(RECORDS)
        self.model.holds[(await self.stage.hold(name)).hold_id] = name

    async def lift(self) -> None:
        """Lifts a hold, so that few stand."""
        while len(self.model.holds) > self.chance.randint(0, 1):
            hold_id = self.chance.choice(list(self.model.holds))
            await self.stage.lift(hold_id)
            del self.model.holds[hold_id]

    async def answer(self) -> None:
        """Answers some items, that are open or not."""
        for key in self.chance.sample(sorted(self.model.states), min(3, len(self.model.states))):
            holder, order, item = key
            outcome = self.chance.choice([pb.PURGE_OUTCOME_PURGED, pb.PURGE_OUTCOME_FAILED])
            failed = outcome == pb.PURGE_OUTCOME_FAILED
            state, refused = await self.stage.ack(holder, order, item, outcome, "locked" if failed else "")
            if failed or self.model.states[key] not in DONE:
                self.model.states[key] = "FAILED" if failed else "PURGED"
            assert (state, refused) == (self.model.shown(key), "")


async def compare(stage: Scene, model: Model) -> None:
    """The server's lists and deliveries are what the model says."""
    orders = {order.order_id: order for order in await stage.orders()}
    assert set(orders) == set(model.covered)
    for order, covered in model.covered.items():
        mine = {(holder, item): model.shown((holder, of, item)) for holder, of, item in model.states if of == order}
        assert await stage.states(order) == mine
        named = {one.item.item: one.item.ledger_id or one.item.record.record_id for one in await stage.items(order)}
        assert named == {item: covered[item - 1] for _, item in mine}
        assert orders[order].done == all(state in DONE for state in mine.values())
        told = {part.holder: (part.open, part.held, part.failed, part.purged) for part in orders[order].parts}
        for holder, counts in told.items():
            states = [state for (of, _), state in mine.items() if of == holder]
            assert counts == tuple(states.count(state) for state in ("OPEN", "HELD", "FAILED", "PURGED"))
    for holder in model.holders:
        watch = stage.watch(holder)
        sent = set(keys(await watch.next()))
        watch.close()
        due = {key for key in model.states if key[0] == holder and model.shown(key) == "OPEN"}
        assert sent == {(order, item) for _, order, item in due}


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_every_order_covers_exactly_the_segments_whose_roots_say_so(anywhere: Scene, seed: int) -> None:
    """B7, RET-01: over random commits, revokes, holds, registrations and answers, on both databases."""
    await anywhere.line("collector").put(*(document(name) for name in RECORDS))
    player = Player(anywhere, seed)
    for number in range(STEPS):
        await player.step()
        if number % 10 == 9:
            await compare(anywhere, player.model)
    status = await anywhere.status()
    done = sum(order.done for order in await anywhere.orders())
    assert (status.done_orders, status.open_orders) == (done, len(player.model.covered) - done)
    assert player.model.covered
