"""Runs a history: servers, clients and faults, then reads the database back and says what is wrong."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.v1 import index_pb2, purge_pb2
from tests.history.checking import violations
from tests.history.cluster import Cluster
from tests.history.events import Call, read_calls
from tests.history.final import Final
from tests.history.reading_back import Place, read_back
from tests.history.sites import Site
from tests.history.violation import Violation
from tests.history.worker import Task
from tests.history.world import (
    DESK,
    HOLDERS,
    KINDS,
    PRINCIPALS,
    SUCCESSOR,
    TENANT,
    World,
    document,
    evidence,
    policy_files,
    source_of,
    withheld_kinds,
)
from tests.server.support import PolicyRepo, git, make_repo

ROOT = Path(__file__).parents[2]
BATCH = 100
FURNISH_S = 60.0
"""What is done before and after a history may take its time."""
REVOKED_SHARE = 0.35
"""Of all records, over a whole history."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How large a history is. What happens follows from the seed, how it interleaves does not."""

    seed: int
    calls: int
    clients: int = 6
    processes: int = 2
    faults: int = 4
    publications: int = 3
    calls_per_block: int = 2_000

    @property
    def world(self) -> World:
        """Blocks enough for so many calls."""
        return World(max(3, self.calls // self.calls_per_block))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a history."""

    calls: Sequence[Call]
    final: Final
    wrong: Sequence[Violation]
    faults: Counter[str]
    lines_cut: int
    seconds: float


async def run(plan: Plan, place: Place, directory: Path, tell: Callable[[int], None] = lambda _: None) -> Outcome:
    """One history on an empty database."""
    began = time.monotonic()
    repo = make_repo(directory / "policy", policy_files(plan.world, ()))
    cluster = Cluster(directory, repo.path, place)
    try:
        await cluster.start()
        await _furnish(plan.world, Site(cluster.sites()[0]))
        workers = [await _worker(plan, number, cluster, directory) for number in range(plan.processes)]
        await _watch(plan, workers, cluster, repo, tell)
        before_us = time.time_ns() // 1000
        done = await _done(Site(cluster.sites()[0]))
        after_us = time.time_ns() // 1000
    finally:
        await cluster.stop()
    calls = list(read_calls(directory / f"calls-{number}" for number in range(plan.processes)))
    final = read_back(place, lambda commit: withheld_kinds(git(repo.path, "show", f"{commit}:rules.yaml")))
    final.done, final.asked_us = done, (before_us, after_us)
    wrong = list(violations(calls, final))
    return Outcome(calls, final, wrong, cluster.faults, cluster.lines_cut, time.monotonic() - began)


async def _furnish(world: World, site: Site) -> None:
    """Registers all records, documents before the evidence that was taken from them."""
    every = [name for block in range(world.blocks) for name in world.block(block)]
    documents = [SUCCESSOR, *(name for name in every if source_of(name) is None)]
    pieces = [name for name in every if source_of(name) is not None]
    for start in range(0, len(documents), BATCH):
        given = [document(name) for name in documents[start : start + BATCH]]
        _created(await site.call("collector", index_pb2.PutDocumentsRequest(tenant=TENANT, documents=given), FURNISH_S))
    for start in range(0, len(pieces), BATCH):
        taken = [evidence(name) for name in pieces[start : start + BATCH]]
        _created(
            await site.call("collector", index_pb2.RegisterEvidenceRequest(tenant=TENANT, evidence=taken), FURNISH_S)
        )
    for number in range(PRINCIPALS):
        given_to = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id=f"p{number}", scope=DESK, reason="first")
        await site.call("operator", given_to, FURNISH_S)
    kinds = (purge_pb2.HOLDER_KIND_SEGMENT_STORE, purge_pb2.HOLDER_KIND_DOCUMENT_STORE)
    for holder, kind in zip(HOLDERS, kinds, strict=True):
        registered = purge_pb2.RegisterHolderRequest(tenant=TENANT, holder=holder, kind=kind)
        await site.call("operator", registered, FURNISH_S)
    await site.close()


async def _done(site: Site) -> dict[str, bool]:
    """What the server says of each purge order: whether it is done."""
    found: dict[str, bool] = {}
    request = purge_pb2.ListPurgeOrdersRequest(tenant=TENANT)
    while True:
        answer = await site.call("operator", request, FURNISH_S)
        assert isinstance(answer, purge_pb2.ListPurgeOrdersResponse)
        found |= {order.order_id: order.done for order in answer.orders}
        request.page_token = answer.next_page_token
        if not request.page_token:
            await site.close()
            return found


def _created(answer: object) -> None:
    assert isinstance(answer, index_pb2.PutDocumentsResponse | index_pb2.RegisterEvidenceResponse)
    refused = [one for one in answer.outcomes if one.kind != index_pb2.PutOutcome.KIND_CREATED]
    assert refused == [], refused[:3]


async def _worker(plan: Plan, number: int, cluster: Cluster, directory: Path) -> asyncio.subprocess.Process:
    clients = plan.clients // plan.processes
    records = sum(len(plan.world.block(block)) for block in range(plan.world.blocks))
    task = Task(
        number=number,
        seed=plan.seed,
        blocks=plan.world.blocks,
        clients=clients,
        calls=plan.calls // (clients * plan.processes),
        revoke=min(REVOKED_SHARE * records / plan.calls, 0.08),
        sockets=cluster.sites(),
        file=str(directory / f"calls-{number}"),
    )
    paths = os.pathsep.join(str(ROOT / part) for part in (".", "proto", "policy", "server", "client"))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.history.worker", cwd=ROOT, env=os.environ | {"PYTHONPATH": paths},
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    process.stdin.write(task.text().encode() + b"\n")
    await process.stdin.drain()
    return process


async def _watch(
    plan: Plan,
    workers: Sequence[asyncio.subprocess.Process],
    cluster: Cluster,
    repo: PolicyRepo,
    tell: Callable[[int], None],
) -> None:
    """Lets faults and new policies happen as the calls go on, until all are made."""
    chance = random.Random(f"{plan.seed} faults")
    done = [0] * len(workers)
    news = asyncio.Event()

    async def listen(number: int) -> None:
        stdout = workers[number].stdout
        assert stdout is not None
        while line := await stdout.readline():
            done[number] = int(line)
            news.set()
        code = await workers[number].wait()
        assert code == 0, f"worker {number} ended with {code} after {done[number]} calls"

    async def befall(times: int, act: Callable[[int], object]) -> None:
        for number in range(times):
            await _until(news, done, plan.calls * (number + 1) // (times + 1))
            acted = act(number)
            if asyncio.iscoroutine(acted):
                await acted

    def publish(number: int) -> None:
        kinds = tuple(chance.sample(KINDS, number % 2))
        repo.commit(policy_files(plan.world, kinds) | {"note.txt": str(number)}, f"revision {number}")

    listening = [asyncio.create_task(listen(number)) for number in range(len(workers))]
    happening = [
        asyncio.create_task(befall(plan.faults, lambda _: cluster.fault(chance))),
        asyncio.create_task(befall(plan.publications, publish)),
    ]
    try:
        while any(not task.done() for task in listening):
            await asyncio.wait([*listening, *(t for t in happening if not t.done())], timeout=1,
                               return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
            for task in (*listening, *happening):
                if task.done():
                    task.result()
            tell(sum(done))
        await asyncio.gather(*happening)
    finally:
        for task in (*listening, *happening):
            task.cancel()
        for worker in workers:
            with suppress(ProcessLookupError):
                worker.kill()


async def _until(news: asyncio.Event, done: Sequence[int], wanted: int) -> None:
    while sum(done) < wanted:
        news.clear()
        await news.wait()
