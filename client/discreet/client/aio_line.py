"""The line to the sidecar for callers under asyncio: one open channel a loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import grpc

from discreet.client.channel import OPTIONS, checked_target
from discreet.client.encode import REQUEST_BYTES_MAX
from discreet.client.forking import FORKED, begin, end, generation, is_broken
from discreet.client.gathering import Gatherer
from discreet.client.line import failure_of
from discreet.client.result import Failure
from discreet.client.talk import Ask, Method, Response
from discreet.v1 import disclosure_pb2, disclosure_pb2_grpc, server_pb2_grpc

# What a call may take beyond its deadline before it is given up from outside.
OVERTIME_S = 0.2

_Call: TypeAlias = Callable[..., Awaitable[Response]]


class _Open:
    """An open channel, tied to the loop and the process that opened it."""

    __slots__ = ("calls", "channel", "gatherer", "loop", "process")

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.loop = asyncio.get_running_loop()
        self.process = generation()
        self.channel = channel
        disclosure = disclosure_pb2_grpc.DisclosureServiceStub(channel)
        server = server_pb2_grpc.ServerServiceStub(channel)
        self.calls: dict[Method, _Call] = {
            Method.CHECK: disclosure.Check,
            Method.COMMIT: disclosure.Commit,
            Method.REPORT_SHOWN: disclosure.ReportShown,
            Method.SERVER_INFO: server.GetServerInfo,
        }
        self.gatherer = Gatherer(disclosure.CheckStream)

    @property
    def is_own(self) -> bool:
        """Whether it was opened by this process under the running loop."""
        return self.process == generation() and self.loop is asyncio.get_running_loop()


class LoopLine:
    """Sends asks and gives the response, or why there is none; never raises for a failing server."""

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None, *, stream: bool) -> None:
        self._target = checked_target(target, credentials)
        self._credentials = credentials
        self._stream = stream
        # The last is in use; earlier ones belong to loops that ended or to the process before a fork: not touched.
        self._opened: list[_Open] = []

    async def send(self, ask: Ask) -> Response | Failure:
        """The response, or why there is none. Only the caller's own cancellation passes through."""
        if is_broken():
            return FORKED
        opened = self._line()
        try:
            async with asyncio.timeout(ask.timeout_s + OVERTIME_S):
                frame = ask.request if self._stream else None
                # A frame that is too large would end the whole stream; it goes alone, and is refused alone.
                if isinstance(frame, disclosure_pb2.CheckRequest) and frame.ByteSize() <= REQUEST_BYTES_MAX:
                    return await opened.gatherer.check(frame, ask.timeout_s)
                return await opened.calls[ask.method](ask.request, timeout=ask.timeout_s)
        except grpc.RpcError as error:
            return failure_of(error)
        except TimeoutError:
            return Failure("DEADLINE_EXCEEDED", "no answer in time")
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            return Failure("CANCELLED", "the line was closed")

    async def close(self) -> None:
        """Ends the running loop's channel; calls under way fail as CANCELLED."""
        if self._opened and self._opened[-1].is_own:
            opened = self._opened.pop()
            await opened.gatherer.close()
            await opened.channel.close()
            end(opened)

    def _line(self) -> _Open:
        if not self._opened or not self._opened[-1].is_own:
            if self._credentials is None:
                channel = grpc.aio.insecure_channel(self._target, options=OPTIONS)
            else:
                channel = grpc.aio.secure_channel(self._target, self._credentials, options=OPTIONS)
            self._opened.append(_Open(channel))
            begin(self._opened[-1])
        return self._opened[-1]
