"""The guard of a streamed answer for asyncio; its twin for threads, and what both share, is in `guard`."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable
from types import TracebackType
from typing import Self

from discreet.client.cutting import Item
from discreet.client.draft import Piece
from discreet.client.guard import Answering, Cutting, Flow
from discreet.client.holding import Asks
from discreet.client.model import Binding, Segment
from discreet.client.reporting import Reported
from discreet.client.result import Answer
from discreet.client.resuming import Owner, Repeat, Stored


class AsyncGuard(Answering):
    """Guards one streamed answer; made by `AsyncClient.guard`. Not for use by two tasks at once."""

    def __init__(
        self,
        owner: Owner,
        cutting: Cutting,
        commit: Callable[[tuple[Segment, ...]], Awaitable[Answer]],
        replay: Callable[[tuple[str, ...]], Awaitable[Answer]],
        report: Callable[[tuple[str, ...]], Awaitable[Reported]],
    ) -> None:
        super().__init__(owner, cutting)
        self._commit = commit
        self._replay = replay
        self._report = report

    def stream(self, items: AsyncIterable[Item], *, bindings: Iterable[Binding] = ()) -> "AsyncHeldStream":
        """A context in which to iterate over the pieces of a stream of generated text.

        `bindings` are added to those of every bound segment. Text is read ahead within the guard's limits while a
        commit is under way or the consumer is slow; segments that are ready together are committed together.
        """
        return AsyncHeldStream(self._flow(bindings), items, self._commit)

    async def resume(self, rows: Iterable[Stored], *, after: str = "", notices: bool = False) -> AsyncIterator[Piece]:
        """The stored segments after the one that was shown last, each with its text only if it may be shown now.

        `after` names a segment; empty: all are shown again. Where it names none of this answer, nothing comes, and of
        rows of another principal, session or answer nothing comes either. With `notices`, segments of before come too
        where they may no longer be shown or were undecided, as pieces that replace them. A PURGE says: delete the
        stored copy.
        """
        steps = self._resumption(rows, after, notices=notices)
        answer: Answer | None = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(step, Piece):
                yield step
            elif isinstance(step, Repeat):
                answer = await self._commit(step.segments)
            else:
                answer = await self._replay(step.ledger_ids)

    async def report(self) -> Reported:
        """Says which pieces were shown, all that were noted since; what could not be said is kept for the next time."""
        ledger_ids = self._shown.ledger_ids
        reported = await self._report(ledger_ids) if ledger_ids else Reported()
        self._shown.settle(reported)
        return reported


class AsyncHeldStream:
    """The pieces of one stream, in order; iterate inside `async with`, which ends the task that reads the text.

    An error of the text's source ends it, and what has not left never does. So does leaving early, or cancellation.
    """

    def __init__(
        self, flow: Flow, items: AsyncIterable[Item], commit: Callable[[tuple[Segment, ...]], Awaitable[Answer]]
    ) -> None:
        self._flow = flow
        self._items = aiter(items)
        self._commit = commit
        self._reader: asyncio.Task[None] | None = None
        self._over = False
        # Set when something was read, and when something left.
        self._read_on = asyncio.Event()
        self._taken = asyncio.Event()

    async def __aenter__(self) -> Self:
        if self._reader is not None:
            raise RuntimeError("this stream was entered before; open another with stream()")
        self._reader = asyncio.create_task(self._read())
        self._reader.add_done_callback(self._note_end)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        if self._reader is not None:
            self._reader.cancel()
            self._flow.clear()
            await asyncio.wait([self._reader])

    def __aiter__(self) -> AsyncIterator[Piece]:
        return self

    async def __anext__(self) -> Piece:
        """The next piece, after its commit."""
        if self._reader is None:
            raise RuntimeError("iterate inside `async with`, so that nothing is left behind")
        if self._over:
            raise StopAsyncIteration
        holding = self._flow.holding
        while not holding.ready:
            self._refuse_after_failure(self._reader)
            uncommitted = holding.uncommitted()
            if uncommitted:
                await self._drive(holding.asks(uncommitted))
            elif self._reader.done():
                raise StopAsyncIteration
            else:
                self._read_on.clear()
                await self._read_on.wait()
        expired = holding.expired()
        if expired:
            await self._drive(holding.asks(expired))
        self._refuse_after_failure(self._reader)
        self._taken.set()
        return holding.take()

    def _refuse_after_failure(self, reader: asyncio.Task[None]) -> None:
        """Raises what ended the text's source before its time; from then on nothing leaves."""
        if not reader.done():
            return
        if reader.cancelled():
            self._flow.clear()
            raise RuntimeError("the source of the text was cancelled; nothing more of it is published")
        failure = reader.exception()
        if failure is not None:
            self._flow.clear()
            raise failure

    async def _read(self) -> None:
        """Takes text in while there is room; closes its source, whatever happens."""
        holding = self._flow.holding
        try:
            async for item in self._items:
                if self._over:
                    return
                self._flow.feed(item)
                self._read_on.set()
                while not holding.has_room:
                    self._taken.clear()
                    await self._taken.wait()
            self._flow.finish()
        finally:
            close = getattr(self._items, "aclose", None)
            if close is not None:
                await close()

    def _note_end(self, reader: asyncio.Task[None]) -> None:
        """Wakes the consumer. Looks at the failure, so that one that nobody waits for any more is not reported late."""
        if not reader.cancelled():
            reader.exception()
        self._read_on.set()

    async def _drive(self, asks: Asks) -> None:
        segments = next(asks, None)
        while segments is not None:
            try:
                segments = asks.send(await self._commit(segments))
            except StopIteration:
                return
