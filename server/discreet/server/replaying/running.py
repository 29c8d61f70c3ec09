"""A replay as a whole: the period's chunks, given to worker processes, their counts added up in order.

Workers are started afresh, never forked: each opens the database for itself and compiles its own revisions.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice

from discreet.policy.facts import Micros
from discreet.policy.problems import PolicyProblems
from discreet.policy.replay import Outcome
from discreet.server.policies.compile import compile_row
from discreet.server.ports import Head
from discreet.server.replaying.connecting import clock_of, reading
from discreet.server.replaying.pages import CHUNK, Chunk, Period, chunks, count_decisions
from discreet.server.replaying.work import Candidate, Worker
from discreet.server.stores.policies import policy_row
from discreet.server.stores.queries import read_head

ALONE_MAX = 4 * CHUNK
"""Up to so many decisions are replayed in this process: starting others would take longer."""
AHEAD = 4
"""Chunks a worker that are given out before their counts are taken: what is waiting is bounded."""

GC_AFTER = 100_000
"""A worker looks for unreachable cycles after so many objects more, since decisions make none."""

Progress = Callable[[int], None]
"""Told how many more decisions are done."""


@dataclass(frozen=True, slots=True)
class Started:
    """The database as it was when the replay began."""

    head: Head
    environment: str
    """Of the revision in force; empty where there is none, or where it declares none."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be replayed, on which database, against what."""

    url: str
    period: Period
    candidate: Candidate
    head: Head
    workers: int = 0
    """0: `jobs_by_default`, and none beside this process for few decisions."""


def jobs_by_default() -> int:
    """One worker a core that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


def start(url: str) -> Started:
    """Reads where the database stands. Raises StoreError."""
    with reading(url) as connection:
        head, _ = read_head(connection, clock_of(connection))
        row = policy_row(connection, head.policy_revision) if head.policy_revision else None
    try:
        return Started(head, compile_row(row).environment if row is not None else "")
    except PolicyProblems:
        return Started(head, "")


def total(url: str, period: Period) -> int:
    """How many decisions the period holds. Raises StoreError."""
    with reading(url) as connection:
        return count_decisions(connection, period)


def replay_period(job: Job, progress: Progress = lambda _done: None) -> Outcome:
    """What the period's decisions come to. Raises StoreError, PolicyProblems."""
    outcome = Outcome()
    with ExitStack() as stack:
        connection = stack.enter_context(reading(job.url))
        workers = job.workers or (jobs_by_default() if count_decisions(connection, job.period) > ALONE_MAX else 1)
        found = chunks(connection, job.period)
        if workers == 1:
            worker = Worker(stack.enter_context(reading(job.url)), job.candidate, job.head)
            counts: Iterator[tuple[Chunk, Outcome]] = ((chunk, worker.replay(chunk)) for chunk in found)
        else:
            counts = _beside(job, workers, found, stack)
        for chunk, counted in counts:
            outcome.merge(counted)
            progress(chunk.decisions)
    return outcome


def _beside(job: Job, workers: int, found: Iterator[Chunk], stack: ExitStack) -> Iterator[tuple[Chunk, Outcome]]:
    """The counts of all chunks, in the order of the chunks, made by other processes."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, context, _begin, (job.url, job.candidate, job.head))
    stack.callback(pool.shutdown, wait=True, cancel_futures=True)
    waiting: deque[tuple[Chunk, Future[Outcome]]] = deque()
    for chunk in islice(found, workers * AHEAD):
        waiting.append((chunk, pool.submit(_replay, chunk)))
    while waiting:
        chunk, counted = waiting.popleft()
        yield chunk, counted.result()
        for later in islice(found, 1):
            waiting.append((later, pool.submit(_replay, later)))


class _Here:
    """In a worker process: what it works with, opened for its first chunk, so that what fails is told as it is."""

    job: tuple[str, Candidate, Head]
    worker: Worker | None = None
    held = ExitStack()


def _begin(*job: *tuple[str, Candidate, Head]) -> None:
    """Ctrl-C is the first process's to answer: it ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _Here.job = job


def _replay(chunk: Chunk) -> Outcome:
    if _Here.worker is None:
        url, candidate, head = _Here.job
        _Here.worker = Worker(_Here.held.enter_context(reading(url)), candidate, head)
        # What is there now stays, and what a decision makes is gone after it: there is little to look for.
        gc.freeze()
        gc.set_threshold(GC_AFTER)
    return _Here.worker.replay(chunk)


def until_of(head: Head, until: Micros | None) -> Micros:
    """The end of a period: as asked for, and never later than the present."""
    return head.now if until is None else min(until, head.now)
