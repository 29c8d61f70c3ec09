"""A storm from its begin to its end: commits, questions, faults and rollbacks at once, then everything is checked."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import psycopg

from tests.storm.answers import Answer, read_answers
from tests.storm.checking import Published, violations
from tests.storm.repo import Made, StormRepo
from tests.storm.scene import Scene, scene
from tests.storm.sets import Kind

EVERY_S = 0.05
"""Between two commits."""
SERVERS = ("one", "two", "three")
WITHIN_S = 120.0
"""What a short storm may take; `make soak` says its own."""
REFUSED = {grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}
"""How a rollback may end that was overtaken, or that met a server which was stopped while it held a row."""
BACK = 3
"""How many revisions a rollback goes back, at most."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How large a storm is. What is committed and what befalls Redis follow from the seed."""

    seed: int
    decisions: int
    commits: int
    revisions: int
    """How many are to be published at least."""
    faults: int
    rollbacks: int
    stalls: int
    """How often a server is stopped where it stands until another one has published."""
    processes: int = 1
    repeats: int = 4
    """Of the pattern of segments, in a check."""
    fault_revisions: int = 1
    """How many are published while a fault lasts."""
    bad_share: float = 0.3
    within_s: float = WITHIN_S


@dataclass(slots=True)
class Outcome:
    """What came of a storm."""

    answers: Sequence[Answer]
    published: Sequence[Published]
    made: Sequence[Made]
    wrong: list[str]
    faults: Counter[str] = field(default_factory=Counter)
    rollbacks: int = 0
    stalls: int = 0
    seconds: float = 0.0

    @property
    def decided(self) -> int:
        """Segments that a revision decided."""
        return sum(one.decided for one in self.answers)

    @property
    def segments(self) -> int:
        """Segments that were answered."""
        return sum(one.segments for one in self.answers)


class Storm:
    """A storm over a scene."""

    def __init__(self, plan: Plan, over: Scene, tell: Callable[[int, int], None]) -> None:
        self._plan = plan
        self._scene = over
        self._tell = tell
        self._calm = asyncio.Lock()
        """While somebody holds it, nothing is committed."""
        self._all_run = asyncio.Lock()
        """While somebody holds it, no server is stopped, or only by whoever holds it."""
        self._committed = asyncio.Event()
        self._enough = asyncio.Event()
        self.faults: Counter[str] = Counter()
        self.rollbacks = 0
        self.stalls = 0

    async def run(self) -> None:
        """Storms until everything that was planned has happened, and ends with a good commit in force everywhere."""
        async with asyncio.timeout(self._plan.within_s), asyncio.TaskGroup() as group:
            committing = group.create_task(self._commit())
            befalling = group.create_task(self._befall())
            turning = group.create_task(self._turn_back())
            stalling = group.create_task(self._stall())
            await self._scene.decided_at_least(self._plan.decisions)
            await asyncio.gather(befalling, turning, stalling)
            await self._published(SERVERS[0], self._plan.revisions)
            self._enough.set()
            await committing
        made = await asyncio.to_thread(self._scene.repo.commit, Kind.GOOD)
        await self._scene.in_force(made.commit)
        reached = self._scene.decided  # and once more, under what is in force at the end
        await self._scene.decided_at_least(reached + 1)

    async def _commit(self) -> None:
        """A commit every so often, good or bad by chance, until there was enough of everything."""
        due = time.monotonic()
        while not (self._enough.is_set() and len(self._scene.repo.made) > self._plan.commits):
            async with self._calm:
                await asyncio.to_thread(self._scene.repo.commit, self._scene.repo.any_kind())
            self._committed.set()
            self._tell(len(self._scene.repo.made), self._scene.decided)
            due = max(due + EVERY_S, time.monotonic() - EVERY_S)
            pause = max(0.0, due - time.monotonic())
            await asyncio.sleep(pause)

    async def _commits(self, more: int) -> None:
        """Returns once so many more commits were made."""
        wanted = len(self._scene.repo.made) + more
        while len(self._scene.repo.made) < wanted:
            self._committed.clear()
            await self._committed.wait()

    async def _published(self, name: str, number: int) -> int:
        """The number of the revision in force at a server, once it is at least that one."""
        while (found := (await self._scene.status(name)).policy.number) < number:
            await self._commits(1)
        return found

    async def _part(self, number: int, of: int) -> None:
        """Returns once that part of the commits was made and of the segments decided."""
        commits, decisions = (whole * number // of for whole in (self._plan.commits, self._plan.decisions))
        while len(self._scene.repo.made) < commits or self._scene.decided < decisions:
            await self._commits(1)

    async def _befall(self) -> None:
        """Faults of Redis, one after the other: revisions are published before, during and after each."""
        order = self._scene.faults.in_order(random.Random(f"{self._plan.seed} faults"))
        for number, fault in zip(range(1, self._plan.faults + 1), order, strict=False):
            await self._part(number, self._plan.faults + 1)
            before = await self._published(SERVERS[0], 0)
            await fault.begin()
            await self._published(SERVERS[0], before + self._plan.fault_revisions)
            await fault.end()
            self.faults[fault.name] += 1

    async def _stall(self) -> None:
        """Stops a server where it stands, most often while it is about to publish, until another one has published."""
        chance = random.Random(f"{self._plan.seed} stalls")
        for number in range(1, self._plan.stalls + 1):
            await self._part(number, self._plan.stalls + 1)
            stopped, other = chance.sample(SERVERS, 2)
            async with self._all_run:
                before = await self._published(other, 0)
                with self._scene.stopped(stopped):
                    await self._published(other, before + 1)
            self.stalls += 1

    async def _turn_back(self) -> None:
        """Rollbacks, in turn through every server: in full flight, and while nothing is committed."""
        names = list(self._scene.servers)
        for number in range(1, self._plan.rollbacks + 1):
            await self._part(number, self._plan.rollbacks + 1)
            name = names[number % len(names)]
            await (self._in_flight(name) if number % 2 else self._and_stay(name))

    async def _in_flight(self, name: str) -> None:
        """A rollback while others publish: it goes through, or says why it does not."""
        revisions = await self._scene.revisions(name, BACK)
        try:
            await self._scene.roll_back(name, revisions[-1].revision.number)
            self.rollbacks += 1
        except grpc.aio.AioRpcError as error:
            if error.code() not in REFUSED:
                raise

    async def _and_stay(self, name: str) -> None:
        """A rollback of what the ref points at: every server sees it pinned out, and none brings it back."""
        async with self._all_run, self._calm:
            made = await asyncio.to_thread(self._scene.repo.commit, Kind.GOOD)
            await self._scene.in_force(made.commit)
            revisions = await self._scene.revisions(name, BACK)
            back = await self._scene.roll_back(name, revisions[-1].revision.number)
            assert back.pinned == made.commit, back
            await self._scene.pinned(made.commit)
            newest = (await self._scene.revisions(name, 1))[0]
            assert newest.revision == back.revision, f"{newest} after a rollback to {back.revision}"
            self.rollbacks += 1


async def storm(
    plan: Plan, directory: Path, tell: Callable[[int, int], None] = lambda _commits, _decided: None
) -> Outcome:
    """A storm in an empty directory, and what is wrong with it."""
    began = time.monotonic()
    repo = StormRepo(directory / "policy.git", plan.bad_share, random.Random(f"{plan.seed} commits"))
    repo.begin()
    async with scene(directory, repo, SERVERS) as over:
        await over.in_force(repo.last.commit)
        for number in range(plan.processes):
            await over.ask(["batches", "stream", "commits"] if number == 0 else ["batches", "stream"], plan.repeats)
        running = Storm(plan, over, tell)
        await running.run()
        await over.stop_asking()
        outcome = judged(over)
    outcome.faults, outcome.rollbacks, outcome.stalls = running.faults, running.rollbacks, running.stalls
    outcome.seconds = time.monotonic() - began
    return outcome


def judged(over: Scene) -> Outcome:
    """Everything that was answered, published and committed, and what is wrong with it."""
    answers, published = list(read_answers(iter(over.files))), read_published(over.url)
    return Outcome(answers, published, over.repo.made, violations(answers, published, over.repo.made))


def read_published(url: str) -> list[Published]:
    """The revisions, read past the servers."""
    asked = (
        "SELECT r.number, r.commit_id, r.digest, r.dirty, r.bundle, o.rolled_back_to"
        " FROM policy_revision r JOIN policy_origin o USING (number) ORDER BY r.number"
    )
    with psycopg.connect(url) as connection:
        return [Published(*row) for row in connection.execute(asked)]
