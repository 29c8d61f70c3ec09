"""The one writer thread of a SQLite store: gathers jobs, runs index changes, answers futures. Must know nothing of SQL.

Jobs that arrive while a transaction runs go into the next one together. Jobs and index changes keep their order.
"""

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, cast

from discreet.server.ports import AuditRecord, Job, JobOutcome, OutcomeUnknown, StoreError, Work
from discreet.server.ports_policy import Beat

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

GROUP_MAX = 256
"""Jobs in one transaction."""
QUEUE_MAX = 8_192
"""Calls that may wait. One more is refused at once, so that a slow disk is felt as backpressure and not as memory."""


class Lanes(Protocol):
    """What the thread runs: it owns the connections that write."""

    def record(self, jobs: Sequence[Job]) -> list[JobOutcome | StoreError]:
        """Records jobs in one transaction."""
        ...

    def change(self, work: Callable[[Work], Any]) -> Any:
        """Runs an index change in a transaction of its own."""
        ...

    def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int | None:
        """Records rows of a spool file in a transaction of their own."""
        ...

    def beat(self, beat: Beat) -> bool:
        """Writes what a server tells of itself, in a transaction of its own."""
        ...


@dataclass(slots=True)
class _Recording:
    jobs: Sequence[Job]
    future: asyncio.Future[list[JobOutcome]]
    ordered: bool = True


@dataclass(slots=True)
class _Running:
    run: Callable[[], Any]
    future: asyncio.Future[Any]
    ordered: bool


_Answer = tuple[asyncio.Future[Any], Any, BaseException | None]


class WriterThread:
    """Runs what it is given, one thing at a time, in order."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self._waiting: deque[_Recording | _Running] = deque()
        self._wake = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="discreet-writer", daemon=True)
        self._thread.start()

    async def record(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        """The outcomes of jobs, once they are durable."""
        future: asyncio.Future[list[JobOutcome]] = asyncio.get_running_loop().create_future()
        self._enqueue(_Recording(jobs, future))
        return await future

    async def change(self, work: Callable[[Work], T]) -> T:
        """What `work` returned, once its changes are durable."""
        return cast(T, await self._ran(lambda: self._lanes.change(work)))

    async def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int | None:
        """How many rows of a spool file are recorded; None where it is not enrolled."""
        return cast(int | None, await self._ran(lambda: self._lanes.drain(name, first, records), ordered=False))

    async def beat(self, beat: Beat) -> bool:
        """Whether it was written: see the port."""
        return cast(bool, await self._ran(lambda: self._lanes.beat(beat), ordered=False))

    @property
    def ordered(self) -> int:
        """How many wait that take part in the one order, or record in it: all but what the server tells of itself."""
        with self._wake:
            return sum(item.ordered for item in self._waiting)

    async def _ran(self, run: Callable[[], Any], *, ordered: bool = True) -> Any:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._enqueue(_Running(run, future, ordered))
        return await future

    def stop(self) -> None:
        """Finishes what waits, then ends the thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._thread.join()

    def _enqueue(self, item: _Recording | _Running) -> None:
        with self._wake:
            if self._stopping:
                raise StoreError("the store is closed")
            if len(self._waiting) >= QUEUE_MAX:
                raise StoreError(f"the store is busy: {QUEUE_MAX} writes are waiting; try again later")
            self._waiting.append(item)
            self._wake.notify()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._stopping:
                    self._wake.wait()
                if not self._waiting:
                    return
                first = self._waiting.popleft()
                group = [first] if isinstance(first, _Running) else [first, *self._more(len(first.jobs))]
            _deliver(self._answers(group))

    def _more(self, size: int) -> list[_Recording]:
        """The jobs that wait right behind, as far as they fit."""
        more: list[_Recording] = []
        while self._waiting:
            item = self._waiting[0]
            if not isinstance(item, _Recording) or size + len(item.jobs) > GROUP_MAX:
                break
            size += len(item.jobs)
            self._waiting.popleft()
            more.append(item)
        return more

    def _answers(self, group: Sequence[_Recording | _Running]) -> list[_Answer]:
        wanted = [item for item in group if not item.future.cancelled()]
        recordings = [item for item in wanted if isinstance(item, _Recording)]
        answers = self._recorded(recordings) if recordings else []
        for item in wanted:
            if isinstance(item, _Running):
                answers.append((item.future, *_attempt(_call, item.run)))
        return answers

    def _recorded(self, recordings: Sequence[_Recording]) -> list[_Answer]:
        found, error = _attempt(self._lanes.record, [job for item in recordings for job in item.jobs])
        if found is None:
            lost = OutcomeUnknown(f"the writer failed and does not say what was written: {type(error).__name__}")
            return [(item.future, None, lost) for item in recordings]
        outcomes = iter(found)
        answers: list[_Answer] = []
        for item in recordings:
            mine = [next(outcomes) for _ in item.jobs]
            failed = next((outcome for outcome in mine if isinstance(outcome, StoreError)), None)
            answers.append((item.future, mine, failed))
        return answers


def _call(run: Callable[[], R]) -> R:
    return run()


def _attempt(run: Callable[[A], R], given: A) -> tuple[R | None, BaseException | None]:
    """What it returns, or what it raises: that goes to those who asked, and the thread goes on for those who come."""
    try:
        return run(given), None
    except BaseException as error:  # noqa: BLE001 - it is handed to its caller
        return None, error


def _deliver(answers: Sequence[_Answer]) -> None:
    """Answers on the loops that wait: one wake-up a loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Answer]] = {}
    for answer in answers:
        by_loop.setdefault(answer[0].get_loop(), []).append(answer)
    for loop, mine in by_loop.items():
        if not loop.is_closed():
            loop.call_soon_threadsafe(_settle, mine)


def _settle(answers: Sequence[_Answer]) -> None:
    for future, result, error in answers:
        if future.cancelled():
            continue
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)
