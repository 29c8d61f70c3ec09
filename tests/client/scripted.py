"""A real gRPC server on a Unix socket whose answers a test writes: messages, raw bytes, statuses, silence.

Runs as a program too, for tests that stop or fork processes: `python -m tests.client.scripted SOCKET` answers ALLOW to
everything.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import grpc
from google.protobuf.message import Message

from discreet.v1 import disclosure_pb2, server_pb2
from tests.client.answers import Reply, Request, confirmed, well_formed

Script: TypeAlias = Callable[[Request, grpc.ServicerContext], Reply | bytes]
FrameScript: TypeAlias = Callable[
    [disclosure_pb2.CheckStreamRequest, grpc.ServicerContext], Iterator[disclosure_pb2.CheckStreamResponse]
]


ReportScript: TypeAlias = Callable[
    [disclosure_pb2.ReportShownRequest, grpc.ServicerContext], disclosure_pb2.ReportShownResponse
]


# The id of a segment that the program answers late.
SLOW = "slow"


class ScriptedServer:
    """Answers by `script`, and keeps what it was asked; `reset` returns to answering ALLOW."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.api_level = 1
        self.asked: list[Request] = []
        self.reports: list[disclosure_pb2.ReportShownRequest] = []
        self.deadlines: list[float | None] = []
        self.infos = 0
        self.streams = 0
        # Set when a test is over, for scripts that keep silent until then.
        self.over = threading.Event()
        self.reset()
        self._pool = ThreadPoolExecutor(16)
        self._server = grpc.server(self._pool)
        self._server.add_generic_rpc_handlers((_disclosure(self), _info(self)))
        # Where it listens, if the target is TCP with port 0.
        self.port = self._server.add_insecure_port(target)
        self._server.start()

    def reset(self) -> None:
        """Forgets what was asked, and answers ALLOW."""
        self.script: Script = lambda request, context: well_formed(request)
        self.frame_script: FrameScript = self._frame
        self.report_script: ReportScript = lambda request, context: confirmed(request)
        self.reports.clear()
        self.asked.clear()
        self.deadlines.clear()
        self.infos = self.streams = 0
        self.api_level = 1
        self.over.clear()

    def stop(self) -> None:
        """Ends the server and everything that waits in it."""
        self.over.set()
        self._server.stop(0).wait()
        self._pool.shutdown()

    def unary(self, request: Request, context: grpc.ServicerContext) -> Reply | bytes:
        self.asked.append(request)
        self.deadlines.append(context.time_remaining())
        return self.script(request, context)

    def stream(
        self, frames: Iterator[disclosure_pb2.CheckStreamRequest], context: grpc.ServicerContext
    ) -> Iterator[disclosure_pb2.CheckStreamResponse]:
        self.streams += 1
        for frame in frames:
            self.asked.append(frame.check)
            yield from self.frame_script(frame, context)

    def info(self, request: server_pb2.GetServerInfoRequest, _: grpc.ServicerContext) -> Message:
        self.infos += 1
        return server_pb2.GetServerInfoResponse(
            version="0.1.0", api_level=self.api_level, instance="scripted", caller_name="agent", tenants=["acme"]
        )

    def _frame(
        self, frame: disclosure_pb2.CheckStreamRequest, context: grpc.ServicerContext
    ) -> Iterator[disclosure_pb2.CheckStreamResponse]:
        """Plays the script of single checks on the stream; a status it gives becomes the frame's own."""
        try:
            reply = self.script(frame.check, context)
        except Refused as refused:
            error = disclosure_pb2.FrameError(code=refused.code.value[0], message=refused.message)
            yield disclosure_pb2.CheckStreamResponse(frame_id=frame.frame_id, error=error)
            return
        answer = disclosure_pb2.CheckStreamResponse(frame_id=frame.frame_id)
        if isinstance(reply, bytes):
            answer.response.MergeFromString(reply)
        else:
            assert isinstance(reply, disclosure_pb2.CheckResponse)
            answer.response.CopyFrom(reply)
        yield answer


class Refused(Exception):
    """A status that a script gives instead of an answer, by call or by frame."""

    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def _bytes(reply: Reply | bytes) -> bytes:
    return reply if isinstance(reply, bytes) else reply.SerializeToString()


def _disclosure(server: ScriptedServer) -> grpc.GenericRpcHandler:
    def unary(request: Request, context: grpc.ServicerContext) -> Reply | bytes:
        try:
            return server.unary(request, context)
        except Refused as refused:
            context.abort(refused.code, refused.message)

    def shown(
        request: disclosure_pb2.ReportShownRequest, context: grpc.ServicerContext
    ) -> disclosure_pb2.ReportShownResponse:
        server.reports.append(request)
        try:
            return server.report_script(request, context)
        except Refused as refused:
            context.abort(refused.code, refused.message)

    return grpc.method_handlers_generic_handler(
        "discreet.v1.DisclosureService",
        {
            "ReportShown": grpc.unary_unary_rpc_method_handler(
                shown,
                disclosure_pb2.ReportShownRequest.FromString,
                disclosure_pb2.ReportShownResponse.SerializeToString,
            ),
            "Check": grpc.unary_unary_rpc_method_handler(unary, disclosure_pb2.CheckRequest.FromString, _bytes),
            "Commit": grpc.unary_unary_rpc_method_handler(unary, disclosure_pb2.CommitRequest.FromString, _bytes),
            "CheckStream": grpc.stream_stream_rpc_method_handler(
                server.stream,
                disclosure_pb2.CheckStreamRequest.FromString,
                disclosure_pb2.CheckStreamResponse.SerializeToString,
            ),
        },
    )


def _info(server: ScriptedServer) -> grpc.GenericRpcHandler:
    return grpc.method_handlers_generic_handler(
        "discreet.v1.ServerService",
        {
            "GetServerInfo": grpc.unary_unary_rpc_method_handler(
                server.info, server_pb2.GetServerInfoRequest.FromString, lambda reply: reply.SerializeToString()
            )
        },
    )


def _slowly(request: Request, _: grpc.ServicerContext) -> Reply:
    """ALLOW, three seconds later where a segment asks for it."""
    if any(segment.id == SLOW for segment in request.segments):
        running.over.wait(3)
    return well_formed(request)


if __name__ == "__main__":
    running = ScriptedServer(sys.argv[1])
    running.script = _slowly
    print("ready", flush=True)
    sys.stdin.read()
    running.stop()
