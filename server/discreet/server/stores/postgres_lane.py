"""Gathers the jobs of many callers into groups, one group at a time. Must know nothing of SQL."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from discreet.server.ports import Job, JobOutcome, StoreError

GROUP_MAX = 256
QUEUE_MAX = 8_192
"""Calls that may wait; one more is refused at once."""

Outcomes = list[JobOutcome | StoreError]
_Waiting = tuple[Sequence[Job], "asyncio.Future[list[JobOutcome]]"]


class Lane:
    """Runs `record` on groups of what waits. What arrives while it runs goes into the next group."""

    def __init__(self, record: Callable[[Sequence[Job]], Awaitable[Outcomes]]) -> None:
        self._record = record
        self._waiting: deque[_Waiting] = deque()
        self._runner: asyncio.Task[None] | None = None
        self._closed = False

    async def __call__(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        """The outcomes of jobs, once they are durable."""
        if self._closed:
            raise StoreError("the store is closed")
        if len(self._waiting) >= QUEUE_MAX:
            raise StoreError(f"the store is busy: {QUEUE_MAX} writes are waiting; try again later")
        future: asyncio.Future[list[JobOutcome]] = asyncio.get_running_loop().create_future()
        self._waiting.append((jobs, future))
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        return await future

    async def close(self) -> None:
        """Finishes what waits."""
        self._closed = True
        if self._runner is not None:
            await asyncio.wait([self._runner])

    async def _run(self) -> None:
        while group := self._next_group():
            try:
                outcomes = iter(await self._record([job for jobs, _ in group for job in jobs]))
            except BaseException as error:
                for _, future in group:
                    if not future.done():
                        future.set_exception(StoreError(f"the write was ended: {type(error).__name__}"))
                raise
            for jobs, future in group:
                mine = [next(outcomes) for _ in jobs]
                if not future.cancelled():
                    _settle(future, mine)

    def _next_group(self) -> list[_Waiting]:
        group: list[_Waiting] = []
        size = 0
        while self._waiting and (not group or size + len(self._waiting[0][0]) <= GROUP_MAX):
            jobs, future = self._waiting.popleft()
            if not future.cancelled():
                group.append((jobs, future))
                size += len(jobs)
        return group


def _settle(future: "asyncio.Future[list[JobOutcome]]", outcomes: Outcomes) -> None:
    held: list[JobOutcome] = []
    for outcome in outcomes:
        if isinstance(outcome, StoreError):
            future.set_exception(outcome)
            return
        held.append(outcome)
    future.set_result(held)
