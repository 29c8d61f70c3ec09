"""One read for all who wait for it: how the head is read on PostgreSQL. Must know nothing of what is read.

A read serves those who asked before it was sent. Whoever asks while it is under way waits for the next one: so an
answer is never older than its question.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from discreet.server.ports import StoreError

T = TypeVar("T")


class SharedRead(Generic[T]):
    """Runs `read`, at most once at a time, for any number of callers."""

    def __init__(self, read: Callable[[], Awaitable[T]]) -> None:
        self._read = read
        self._next: asyncio.Future[T] | None = None
        self._runner: asyncio.Task[None] | None = None

    async def __call__(self) -> T:
        """What a read that begins after this call returns, or its error."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
            self._next.add_done_callback(_retrieve)
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        return await asyncio.shield(self._next)

    async def close(self) -> None:
        """Ends the read under way; those who wait for it get an error."""
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.wait([self._runner])

    async def _run(self) -> None:
        while (answer := self._next) is not None:
            self._next = None
            try:
                result = await self._read()
            except asyncio.CancelledError:
                for waiting in (answer, self._next):
                    if waiting is not None:
                        waiting.set_exception(StoreError("the store is closed"))
                self._next = None
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it belongs to those who asked
                answer.set_exception(error)
            else:
                answer.set_result(result)


def _retrieve(answer: asyncio.Future[T]) -> None:
    """Marks an error as seen, even where nobody waits for it any more."""
    if not answer.cancelled():
        answer.exception()
