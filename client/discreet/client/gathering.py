"""Gathers concurrent checks on one stream: frames go out as they come, answers are matched by frame id.

A frame fails alone with its own status. A stream that breaks, answers a frame that was never sent, or is silent for as
long as the oldest frame may wait, is given up: its frames fail as UNAVAILABLE (which withholds) and the next check
opens another.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import TypeAlias

import grpc

from discreet.client.line import failure_of
from discreet.client.result import Failure
from discreet.v1 import disclosure_pb2

_Answer: TypeAlias = disclosure_pb2.CheckResponse | Failure
_Frames: TypeAlias = AsyncIterator[disclosure_pb2.CheckStreamRequest]
Opener: TypeAlias = Callable[
    [_Frames], "grpc.aio.StreamStreamCall[disclosure_pb2.CheckStreamRequest, disclosure_pb2.CheckStreamResponse]"
]

BROKEN = Failure("UNAVAILABLE", "the stream broke")


class Gatherer:
    """The stream of one client on one line; opened by its first check."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._stream: _Stream | None = None

    async def check(self, request: disclosure_pb2.CheckRequest, timeout_s: float) -> _Answer:
        """The answer to one request, within its time."""
        if self._stream is None or self._stream.over:
            self._stream = _Stream(self._opener)
        return await self._stream.check(request, timeout_s)

    async def close(self) -> None:
        """Ends the stream; frames that wait fail."""
        if self._stream is not None:
            await self._stream.end()


class _Stream:
    """One stream from its opening to its end; frame ids are never used twice."""

    def __init__(self, opener: Opener) -> None:
        self._ids = count(1)
        self._sent_max = 0
        self._received = 0
        self._waiting: dict[int, asyncio.Future[_Answer]] = {}
        self._frames: asyncio.Queue[disclosure_pb2.CheckStreamRequest] = asyncio.Queue()
        self._call = opener(self._outgoing())
        self._reader = asyncio.create_task(self._read())
        self.over = False

    async def check(self, request: disclosure_pb2.CheckRequest, timeout_s: float) -> _Answer:
        frame_id = next(self._ids)
        received = self._received
        waiting: asyncio.Future[_Answer] = asyncio.get_running_loop().create_future()
        self._waiting[frame_id] = waiting
        self._sent_max = frame_id
        self._frames.put_nowait(disclosure_pb2.CheckStreamRequest(frame_id=frame_id, check=request))
        try:
            async with asyncio.timeout(timeout_s):
                return await waiting
        except TimeoutError:
            if received == self._received:
                self._give_up(BROKEN)
            return Failure("DEADLINE_EXCEEDED", "no answer in time")
        finally:
            self._waiting.pop(frame_id, None)

    async def end(self) -> None:
        """Gives the stream up and waits until its reader has noticed."""
        self._give_up(Failure("CANCELLED", "the line was closed"))
        await asyncio.wait([self._reader])

    async def _outgoing(self) -> _Frames:
        while True:
            yield await self._frames.get()

    async def _read(self) -> None:
        """Hands answers to those who wait for them, until the stream is over."""
        failure = BROKEN
        try:
            async for answer in self._call:
                if not 0 < answer.frame_id <= self._sent_max:
                    failure = Failure("MALFORMED_ANSWER", "the stream answered a frame that was never sent")
                    break
                self._received += 1
                waiting = self._waiting.pop(answer.frame_id, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(_outcome(answer))
        except grpc.RpcError as error:
            failure = failure_of(error)
        except asyncio.CancelledError:
            failure = BROKEN
        self._give_up(failure)

    def _give_up(self, failure: Failure) -> None:
        self.over = True
        self._call.cancel()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(failure)
        self._waiting.clear()


def _outcome(answer: disclosure_pb2.CheckStreamResponse) -> _Answer:
    """The response of a frame, or its own status; a frame that holds neither, or success as an error, is no answer."""
    match answer.WhichOneof("outcome"):
        case "response":
            return answer.response
        case "error":
            return Failure(_status_name(answer.error.code), answer.error.message)
    return Failure("MALFORMED_ANSWER", "a frame without an outcome")


def _status_name(code: int) -> str:
    names = {status.value[0]: status.name for status in grpc.StatusCode}
    return names.get(code, "UNKNOWN") if code else "MALFORMED_ANSWER"
