"""CheckStream: many checks on one stream, each decided by itself and answered when it is ready.

Frames are decided side by side, a bounded number at a time; while that many are under way, no further frame is read,
so a fast sender is held back by gRPC's own flow control.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

from discreet.policy.codec import Malformed
from discreet.server.calls import Call, new_id
from discreet.server.errors import CallRefused
from discreet.server.metrics.counts import CallCounts, labelled
from discreet.server.servicers.check import Checking
from discreet.server.wire.frames import joined, refused, split

FRAMES_UNDER_WAY_MAX = 64

Refusal = Callable[[Call, Exception], Awaitable[CallRefused]]


class Streaming:
    """Answers CheckStream. Once drained, streams take no further frame and end when those under way are answered."""

    def __init__(self, checking: Checking, refusal: Refusal, counts: CallCounts) -> None:
        self._checking = checking
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
        answers: asyncio.Queue[bytes | None] = asyncio.Queue(FRAMES_UNDER_WAY_MAX)
        under_way: set[asyncio.Task[None]] = set()
        reader = asyncio.create_task(self._read(call, frames, answers, under_way))
        self._readers.add(reader)
        ending = asyncio.create_task(_end(reader, under_way, answers))
        if self._draining:
            reader.cancel()
        try:
            while (answer := await answers.get()) is not None:
                yield answer
        finally:
            self._readers.discard(reader)
            for task in (reader, ending, *under_way):
                task.cancel()

    async def _read(
        self,
        call: Call,
        frames: AsyncIterator[bytes],
        answers: asyncio.Queue[bytes | None],
        under_way: set[asyncio.Task[None]],
    ) -> None:
        room = asyncio.Semaphore(FRAMES_UNDER_WAY_MAX)
        async for data in frames:
            await room.acquire()
            task = asyncio.create_task(self._one(call, data, answers, room))
            under_way.add(task)
            task.add_done_callback(under_way.discard)

    async def _one(
        self, call: Call, data: bytes, answers: asyncio.Queue[bytes | None], room: asyncio.Semaphore
    ) -> None:
        try:
            await answers.put(await self._answer(replace(call, request_id=new_id()), data))
        finally:
            room.release()

    async def _answer(self, call: Call, data: bytes) -> bytes:
        started, code = time.perf_counter(), "CANCELLED"
        frame = split(data)
        try:
            if frame.problem is not None or frame.check is None:
                raise frame.problem or Malformed("check", "is missing")
            answer = joined(frame.frame_id, await self._checking.check(call, frame.check))
            code = "OK"
            return answer
        except Exception as error:  # noqa: BLE001 - an outermost edge: this frame fails alone, and its caller withholds
            status = await self._refusal(call, error)
            code = status.status.name
            return refused(frame.frame_id, int(status.status.value[0]), str(status))
        finally:
            self._counts.ended(labelled(call.method), code, time.perf_counter() - started)


async def _end(
    reader: asyncio.Task[None], under_way: set[asyncio.Task[None]], answers: asyncio.Queue[bytes | None]
) -> None:
    """Ends the answers once no frame is read any more and none is under way."""
    await asyncio.wait({reader})
    while under_way:
        await asyncio.wait(set(under_way))
    await answers.put(None)
