"""The line to the sidecar for callers under asyncio: one open channel a loop."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import grpc

from discreet.client.channel import OPTIONS, checked_target
from discreet.client.encode import REQUEST_BYTES_MAX
from discreet.client.forking import FORKED, begin, depth, end, era, is_broken
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

    __slots__ = ("calls", "channel", "depth", "era", "gatherer", "loop", "under_way")

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self.loop = asyncio.get_running_loop()
        self.depth = depth()
        self.era = era()
        self.under_way = 0
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
        return self.depth == depth() and self.loop is asyncio.get_running_loop()

    @property
    def is_current(self) -> bool:
        """Whether it is to be asked: its own, and no fork has fallen into its use since."""
        return self.era == era() and self.is_own

    async def close(self) -> None:
        """Ends it; calls under way fail as CANCELLED."""
        await self.gatherer.close()
        await self.channel.close()
        end(self)


class LoopLine:
    """Sends asks and gives the response, or why there is none; never raises for a failing server."""

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None, *, stream: bool) -> None:
        self._target = checked_target(target, credentials)
        self._credentials = credentials
        self._stream = stream
        # The last is in use. Earlier ones belong to loops that ended or to the process before a fork, and are not
        # touched, or to this loop from before it forked: those are closed when their last call is over.
        self._opened: list[_Open] = []

    async def send(self, ask: Ask) -> Response | Failure:
        """The response, or why there is none. Only the caller's own cancellation passes through."""
        if is_broken():
            return FORKED
        opened = self._line()
        opened.under_way += 1
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
        finally:
            opened.under_way -= 1
            if len(self._opened) > 1:
                await self._retire()

    async def close(self) -> None:
        """Ends the running loop's channels; calls under way fail as CANCELLED."""
        own = [opened for opened in self._opened if opened.is_own]
        self._opened = [opened for opened in self._opened if opened not in own]
        for opened in own:
            await opened.close()

    async def _retire(self) -> None:
        over = [old for old in self._opened if old.is_own and not old.is_current and not old.under_way]
        self._opened = [opened for opened in self._opened if opened not in over]
        for old in over:
            await old.close()

    def _line(self) -> _Open:
        if not self._opened or not self._opened[-1].is_current:
            if self._credentials is None:
                channel = grpc.aio.insecure_channel(self._target, options=OPTIONS)
            else:
                channel = grpc.aio.secure_channel(self._target, self._credentials, options=OPTIONS)
            self._opened.append(_Open(channel))
            begin(self._opened[-1])
        return self._opened[-1]
