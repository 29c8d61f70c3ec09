"""Servers on one database and one Redis: the first follows a ref, the others serve what is published.

Clients ask each of them all the time, and every answer is compared with the revision that it names.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from discreet.server.ports_cache import CacheState
from discreet.server.stores import open_store
from discreet.v1 import disclosure_pb2
from tests.server.faults import FaultyStore
from tests.server.support import (
    POLICY,
    PolicyRepo,
    Running,
    check,
    config_of,
    document,
    eventually,
    in_process,
    verdicts,
)

STOP = """  - id: stop
    effect: WITHHOLD
    moments: [PUBLISH]
    sources: [handbook]
"""
MOVED = "POLICY_REVISION_CHANGED"
"""The reason of a question that was overtaken while it was answered: withheld, and asked again."""


def rules(number: int) -> str:
    """The rules of the commit of that number: odd ones withhold what even ones allow."""
    return f"# {number}\n" + POLICY["rules.yaml"] + (STOP if number % 2 else "")


@dataclass
class Fleet:
    """The servers, their stores, which count what is asked of them, and what was published."""

    servers: list[Running]
    stores: list[FaultyStore]
    repo: PolicyRepo
    withholds: dict[str, bool] = field(default_factory=dict)
    """Whether the set of a commit withholds what is asked about."""
    answers: int = 0
    stopped: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def publish(self) -> int:
        """The number of a next revision, once the first server has brought it into force."""
        number = next(self._numbers)
        commit = self.repo.commit({"rules.yaml": rules(number)})
        self.withholds[commit] = bool(number % 2)
        first = self.servers[0].server.policies

        async def in_force() -> bool:
            return first.snapshot is not None and first.snapshot.commit == commit

        await eventually(in_force)
        assert first.snapshot is not None
        return first.snapshot.number

    async def caught_up(self, number: int) -> None:
        """Returns once every server decides under that revision, or a later one."""

        async def everywhere() -> bool:
            held = [one.server.policies.snapshot for one in self.servers]
            return all(snapshot is not None and snapshot.number >= number for snapshot in held)

        await eventually(everywhere)

    async def until(self, state: CacheState) -> None:
        """Returns once every server stands so with its cache."""

        async def stand() -> bool:
            return all(one.server.bundles.cache.state is state for one in self.servers)

        await eventually(stand)

    async def ask(self, running: Running, least: int) -> int:
        """Asks once; the number of the revision that answered, which is at least that one and was obeyed."""
        answer = await running.lines.agent.check(check())
        self._judge(answer)
        assert answer.policy.number >= least, f"revision {answer.policy.number} after {least}"
        return answer.policy.number

    def _judge(self, answer: disclosure_pb2.CheckResponse) -> None:
        (verdict,) = verdicts(answer)
        self.answers += 1
        withheld = self.withholds.get(answer.policy.commit, False)
        wanted = "WITHHOLD" if withheld else "ALLOW"
        assert verdict[0] == wanted or verdict == ("WITHHOLD", MOVED), f"{verdict} under {answer.policy}"

    async def keep_asking(self, running: Running) -> None:
        """Asks until `stopped`; no answer is older than the one before it."""
        number = 0
        while not self.stopped:
            number = await self.ask(running, number)


@asynccontextmanager
async def fleet(place: Path, repo: PolicyRepo, db: str, redis: str, *names: str) -> AsyncIterator[Fleet]:
    """The servers, one a name, with a document in the index."""
    stores = [FaultyStore(open_store(db)) for _ in names]
    async with AsyncExitStack() as stack:
        servers: list[Running] = []
        for name, store in zip(names, stores, strict=True):
            policy = "published" if servers else repo.path
            config = config_of(
                place, policy, db=db, redis=redis, instance=name, socket_dir=place / name, state_dir=place / f"{name}-s"
            )
            servers.append(await stack.enter_async_context(in_process(config, store=store)))
        await servers[0].lines.collector.put(document())
        snapshot = servers[0].server.policies.snapshot
        assert snapshot is not None
        yield Fleet(servers, stores, repo, {snapshot.commit: False})


@asynccontextmanager
async def asking(among: Fleet) -> AsyncIterator[None]:
    """Has each server asked all the time, for as long as the block lasts; what was wrong is raised at its end."""
    clients = [asyncio.create_task(among.keep_asking(one)) for one in among.servers]
    try:
        yield
    finally:
        among.stopped = True
        done = await asyncio.gather(*clients, return_exceptions=True)
    for one in done:
        if isinstance(one, BaseException):
            raise one
