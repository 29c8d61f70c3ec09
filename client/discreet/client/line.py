"""The line to the sidecar for callers that wait in threads.

One open channel a process, and a new one where a fork may have spoiled it.
"""

import threading
from collections.abc import Callable
from typing import TypeAlias, cast

import grpc

from discreet.client.channel import OPTIONS, checked_target
from discreet.client.forking import FORKED, begin, depth, end, era, is_broken
from discreet.client.result import Failure
from discreet.client.talk import Ask, Method, Response
from discreet.v1 import disclosure_pb2_grpc, server_pb2_grpc

# What a call in a forked process may take beyond its deadline before gRPC itself counts as stuck.
STUCK_AFTER_S = 0.2
_Call: TypeAlias = Callable[..., Response]


class _Open:
    """An open channel, and the calls under way on it."""

    __slots__ = ("calls", "channel", "depth", "era", "under_way")

    def __init__(self, number: int, channel: grpc.Channel) -> None:
        self.era = number
        self.depth = depth()
        self.channel = channel
        self.under_way: set[object] = set()
        disclosure = disclosure_pb2_grpc.DisclosureServiceStub(channel)
        server = server_pb2_grpc.ServerServiceStub(channel)
        self.calls: dict[Method, _Call] = {
            Method.CHECK: disclosure.Check,
            Method.COMMIT: disclosure.Commit,
            Method.REPORT_SHOWN: disclosure.ReportShown,
            Method.SERVER_INFO: server.GetServerInfo,
        }


class ThreadsLine:
    """Sends asks and gives the response, or why there is none; never raises for a failing server.

    Opened by the first ask of each era. No lock is held, since a fork could leave it locked for good.
    """

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None) -> None:
        self._target = checked_target(target, credentials)
        self._credentials = credentials
        # By era. Those of ancestors are kept, untouched: closing one reaches into a dead line.
        self._opened: dict[int, _Open] = {}
        # Depths of processes in which gRPC is known to answer, and to be stuck.
        self._proven: set[int] = {0}
        self._stuck: set[int] = set()

    def send(self, ask: Ask) -> Response | Failure:
        """The response, or why there is none; in a forked process, first under watch."""
        process = depth()
        if process in self._proven:
            return self._call(ask)
        if is_broken() or process in self._stuck:
            return FORKED
        replies: list[Response | Failure] = []
        watched = threading.Thread(target=lambda: replies.append(self._call(ask)), daemon=True)
        watched.start()
        watched.join(ask.timeout_s + STUCK_AFTER_S)
        if not replies:
            self._stuck.add(process)
            return FORKED
        self._proven.add(process)
        return replies[0]

    def close(self) -> None:
        """Ends this process's channels; calls under way fail as CANCELLED."""
        for number, opened in list(self._opened.items()):
            if opened.depth == depth() and self._opened.pop(number, None) is not None:
                opened.channel.close()

    def _call(self, ask: Ask) -> Response | Failure:
        use = object()
        opened = self._enter(use)
        try:
            return opened.calls[ask.method](ask.request, timeout=ask.timeout_s)
        except grpc.RpcError as error:
            return failure_of(error)
        except ValueError:
            # What gRPC raises for a channel that was closed between these lines.
            if opened in self._opened.values():
                raise
            return Failure("CANCELLED", "the line was closed")
        finally:
            end(use)
            opened.under_way.discard(use)
            if opened.era != era():
                self._retire(opened)

    def _enter(self, use: object) -> _Open:
        """The line of this era, with a use on it that keeps it from being retired."""
        while True:
            number = era()
            opened = self._opened.get(number)
            if opened is None:
                # Of two opened at once, one is kept.
                opened = self._opened.setdefault(number, self._open(number))
            begin(use)
            opened.under_way.add(use)
            if self._opened.get(number) is opened:
                return opened
            opened.under_way.discard(use)
            end(use)

    def _retire(self, opened: _Open) -> None:
        """Closes what this process opened before it forked, once the last call on it is over."""
        if opened.depth == depth() and self._opened.pop(opened.era, None) is not None:
            if opened.under_way:  # somebody entered who had asked for the era before it changed
                self._opened[opened.era] = opened
            else:
                opened.channel.close()

    def _open(self, number: int) -> _Open:
        if self._credentials is None:
            return _Open(number, grpc.insecure_channel(self._target, options=OPTIONS))
        return _Open(number, grpc.secure_channel(self._target, self._credentials, options=OPTIONS))


def failure_of(error: grpc.RpcError) -> Failure:
    """The status of a failed call."""
    status = cast("object", error)
    if isinstance(status, grpc.Call | grpc.aio.AioRpcError):
        return Failure(status.code().name, status.details() or "")
    return Failure("UNKNOWN", "the call failed without a status")
