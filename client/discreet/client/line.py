"""The line to the sidecar for callers that wait in threads: one open channel a process, whatever was forked."""

import threading
from collections.abc import Callable
from typing import TypeAlias, cast

import grpc

from discreet.client.channel import OPTIONS, checked_target
from discreet.client.forking import FORKED, begin, end, generation, is_broken
from discreet.client.result import Failure
from discreet.client.talk import Ask, Method, Response
from discreet.v1 import disclosure_pb2_grpc, server_pb2_grpc

# What a call in a forked process may take beyond its deadline before gRPC itself counts as stuck.
STUCK_AFTER_S = 0.2
_Call: TypeAlias = Callable[..., Response]
_Open: TypeAlias = tuple[grpc.Channel, dict[Method, _Call]]


class ThreadsLine:
    """Sends asks and gives the response, or why there is none; never raises for a failing server.

    Opened by the first ask of each process. No lock is held, since a fork could leave it locked for good.
    """

    def __init__(self, target: str, credentials: grpc.ChannelCredentials | None) -> None:
        self._target = checked_target(target, credentials)
        self._credentials = credentials
        # By generation of the process. Those of ancestors are kept, untouched: closing one reaches into a dead line.
        self._opened: dict[int, _Open] = {}
        self._proven: set[int] = {0}
        self._stuck: set[int] = set()

    def send(self, ask: Ask) -> Response | Failure:
        """The response, or why there is none; in a forked process, first under watch."""
        process = generation()
        if process in self._proven:
            return self._call(process, ask)
        if is_broken() or process in self._stuck:
            return FORKED
        replies: list[Response | Failure] = []
        watched = threading.Thread(target=lambda: replies.append(self._call(process, ask)), daemon=True)
        watched.start()
        watched.join(ask.timeout_s + STUCK_AFTER_S)
        if not replies:
            self._stuck.add(process)
            return FORKED
        self._proven.add(process)
        return replies[0]

    def close(self) -> None:
        """Ends this process's channel; calls under way fail as CANCELLED."""
        opened = self._opened.pop(generation(), None)
        if opened is not None:
            opened[0].close()

    def _call(self, process: int, ask: Ask) -> Response | Failure:
        opened = self._opened.get(process)
        if opened is None:
            # Of two opened at once, one is kept.
            opened = self._opened.setdefault(process, self._open())
        use = object()
        begin(use)
        try:
            return opened[1][ask.method](ask.request, timeout=ask.timeout_s)
        except grpc.RpcError as error:
            return failure_of(error)
        finally:
            end(use)

    def _open(self) -> _Open:
        if self._credentials is None:
            channel = grpc.insecure_channel(self._target, options=OPTIONS)
        else:
            channel = grpc.secure_channel(self._target, self._credentials, options=OPTIONS)
        disclosure = disclosure_pb2_grpc.DisclosureServiceStub(channel)
        server = server_pb2_grpc.ServerServiceStub(channel)
        return channel, {
            Method.CHECK: disclosure.Check,
            Method.COMMIT: disclosure.Commit,
            Method.REPORT_SHOWN: disclosure.ReportShown,
            Method.SERVER_INFO: server.GetServerInfo,
        }


def failure_of(error: grpc.RpcError) -> Failure:
    """The status of a failed call."""
    status = cast("object", error)
    if isinstance(status, grpc.Call | grpc.aio.AioRpcError):
        return Failure(status.code().name, status.details() or "")
    return Failure("UNKNOWN", "the call failed without a status")
