"""A process with several clients of a history. Run as `python -m tests.history.worker`, its task as JSON on stdin.

Each call goes to a file once it has ended; a line on stdout says how many there are, so that faults can be timed by it.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from tests.history.actor import Actor, Habits
from tests.history.events import Call, encoded
from tests.history.sites import Site
from tests.history.world import World

TELL_EVERY = 10


@dataclass(frozen=True, slots=True)
class Task:
    """What a worker does."""

    number: int
    seed: int
    blocks: int
    clients: int
    calls: int
    """Of each client."""
    revoke: float
    sockets: list[dict[str, str]]
    """Where its clients may go: the addresses of each server, by identity."""
    file: str

    def text(self) -> str:
        """The task as JSON."""
        return json.dumps(asdict(self))


async def work(task: Task, file: TextIO) -> None:
    """Runs the clients, side by side; their calls go to the file."""
    sites = [Site(sockets) for sockets in task.sockets]
    done = 0

    def told() -> None:
        nonlocal done
        done += 1
        if done % TELL_EVERY == 0:
            print(done, flush=True)

    def write(call: Call) -> None:
        file.write(encoded(call) + "\n")

    async with asyncio.TaskGroup() as group:
        for number in range(task.clients):
            name = f"c-{task.number * task.clients + number}"
            chance = random.Random(f"{task.seed} {name}")
            actor = Actor(name, World(task.blocks), sites, chance, Habits(task.revoke), write)
            group.create_task(actor.run(task.calls, told))
    for site in sites:
        await site.close()
    print(done, flush=True)


def task_of(given: Mapping[str, object]) -> Task:
    """The task of its JSON."""
    return Task(**given)  # type: ignore[arg-type] # made by Task.text on the other side


def main() -> None:
    """Does the task of stdin."""
    task = task_of(json.loads(sys.stdin.readline()))
    with Path(task.file).open("w") as file:
        asyncio.run(work(task, file))


if __name__ == "__main__":
    main()
