"""Every fault of Redis in turn while policies are pushed, segments checked and committed; then all of it is checked."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.storm.redis_faults import Fault
from tests.storm.repo import StormRepo
from tests.storm.scene import Scene, scene
from tests.storm.sets import Kind
from tests.storm.storm import Outcome, judged

SERVERS = ("one", "two")
WITHIN_S = 120.0


@dataclass(slots=True)
class Chaos:
    """What came of it. `pushes`: under which fault, and after how long it was in force on both servers, in seconds."""

    outcome: Outcome
    pushes: list[tuple[str, float]] = field(default_factory=list)


async def chaos(seed: int, directory: Path, rounds: int = 1, within_s: float = WITHIN_S) -> Chaos:
    """Every fault, as often as there are rounds, each round in an order of its own."""
    repo = StormRepo(directory / "policy.git", 0.0, random.Random(f"{seed} commits"))
    repo.begin()
    pushes: list[tuple[str, float]] = []
    async with scene(directory, repo, SERVERS) as over, asyncio.timeout(within_s):
        await over.in_force(repo.last.commit)
        await over.ask(["batches", "stream", "commits"], 2)
        order = over.faults.in_order(random.Random(f"{seed} faults"))
        for _ in range(rounds * len(over.faults.every)):
            await _befall(over, next(order), pushes)
        await over.stop_asking()
        return Chaos(judged(over), pushes)


async def _befall(over: Scene, fault: Fault, pushes: list[tuple[str, float]]) -> None:
    """One fault: while it lasts and once it is over, what is pushed comes into force and questions are decided."""
    await fault.begin()
    try:
        pushes.append((fault.name, await _push(over)))
    finally:
        await fault.end()
    pushes.append((f"after: {fault.name}", await _push(over)))


async def _push(over: Scene) -> float:
    """How long a commit took until it was in force on every server; something is decided under it."""
    began = time.monotonic()
    made = await asyncio.to_thread(over.repo.commit, Kind.GOOD)
    await over.in_force(made.commit)
    took = time.monotonic() - began
    decided = over.decided
    await over.decided_at_least(decided + 1)
    return took
