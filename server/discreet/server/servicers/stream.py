"""CheckStream: many checks on one stream, each decided by itself and answered when it is ready.

Frames are decided side by side, a bounded number at a time; while that many are under way, no further frame is read,
so a fast sender is held back by gRPC's own flow control.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from typing import NamedTuple

from discreet.policy.codec import Malformed
from discreet.server.calls import Call, Rest, new_id
from discreet.server.errors import CallRefused, Unavailable
from discreet.server.fleet.lease import Lease
from discreet.server.metrics.counts import CallCounts, labelled
from discreet.server.servicers.check import Checking
from discreet.server.wire.frames import joined, refused, split

FRAMES_UNDER_WAY_MAX = 64

Refusal = Callable[[Call, Exception], Awaitable[CallRefused]]


class _Answered(NamedTuple):
    """An answer that waits to be sent."""

    frame_id: int
    data: bytes
    rest: Rest
    code: str
    started: float


class Streaming:
    """Answers CheckStream. Once drained, streams take no further frame and end when those under way are answered."""

    def __init__(self, checking: Checking, refusal: Refusal, counts: CallCounts, lease: Lease) -> None:
        self._checking = checking
        self._lease = lease
        self._refusal = refusal
        self._counts = counts
        self._readers: set[asyncio.Task[None]] = set()
        self._draining = False

    def drain(self) -> None:
        """Reads no further frame on any stream."""
        self._draining = True
        for reader in self._readers:
            reader.cancel()

    async def check_stream(self, call: Call, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """One answer a frame, in the order of their completion."""
        answers: asyncio.Queue[_Answered | None] = asyncio.Queue(FRAMES_UNDER_WAY_MAX)
        under_way: set[asyncio.Task[None]] = set()
        reader = asyncio.create_task(self._read(call, frames, answers, under_way))
        self._readers.add(reader)
        ending = asyncio.create_task(_end(reader, under_way, answers))
        if self._draining:
            reader.cancel()
        try:
            while (answer := await answers.get()) is not None:
                yield self._left(call, answer)
        finally:
            self._readers.discard(reader)
            for task in (reader, ending, *under_way):
                task.cancel()
            while not answers.empty():
                unsent = answers.get_nowait()
                if unsent is not None:
                    self._ended(call, unsent, "CANCELLED")

    def _left(self, call: Call, answer: _Answered) -> bytes:
        """The answer as it leaves: a refusal where it waited for too long. Nothing is awaited before it is sent."""
        try:
            self._lease.leave(answer.rest)
        except Unavailable as late:
            self._ended(call, answer, late.status.name)
            return refused(answer.frame_id, int(late.status.value[0]), str(late))
        self._ended(call, answer, answer.code)
        return answer.data

    def _ended(self, call: Call, answer: _Answered, code: str) -> None:
        self._lease.end(answer.rest)
        self._counts.ended(labelled(call.method), code, time.perf_counter() - answer.started)

    async def _read(
        self,
        call: Call,
        frames: AsyncIterator[bytes],
        answers: asyncio.Queue[_Answered | None],
        under_way: set[asyncio.Task[None]],
    ) -> None:
        room = asyncio.Semaphore(FRAMES_UNDER_WAY_MAX)
        async for data in frames:
            await room.acquire()
            task = asyncio.create_task(self._one(call, data, answers, room))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    async def _one(
        self, call: Call, data: bytes, answers: asyncio.Queue[_Answered | None], room: asyncio.Semaphore
    ) -> None:
        own, answer = replace(call, request_id=new_id(), rest=Rest()), None
        try:
            answer = await self._answer(own, data)
            await answers.put(answer)
        except asyncio.CancelledError:
            if answer is not None:
                self._ended(own, answer, "CANCELLED")
            raise
        finally:
            room.release()

    async def _answer(self, call: Call, data: bytes) -> _Answered:
        started = time.perf_counter()
        frame = split(data)
        try:
            if frame.problem is not None or frame.check is None:
                raise frame.problem or Malformed("check", "is missing")
            answer = joined(frame.frame_id, await self._checking.check(call, frame.check))
            return _Answered(frame.frame_id, answer, call.rest, "OK", started)
        except asyncio.CancelledError:
            self._ended(call, _Answered(frame.frame_id, b"", call.rest, "CANCELLED", started), "CANCELLED")
            raise
        except Exception as error:  # noqa: BLE001 - an outermost edge: this frame fails alone, and its caller withholds
            self._lease.end(call.rest)
            status = await self._refusal(call, error)
            answer = refused(frame.frame_id, int(status.status.value[0]), str(status))
            return _Answered(frame.frame_id, answer, call.rest, status.status.name, started)


async def _end(
    reader: asyncio.Task[None], under_way: set[asyncio.Task[None]], answers: asyncio.Queue[_Answered | None]
) -> None:
    """Ends the answers once no frame is read any more and none is under way."""
    await asyncio.wait({reader})
    while under_way:
        await asyncio.wait(set(under_way))
    await answers.put(None)
