"""What stands between the service and its sidecar: a proxy of calls that a test can stop, and one of bytes to cut."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Self

import grpc

Hook = Callable[[str], Awaitable[None]]


async def _nothing(method: str) -> None:
    del method


class CallProxy(grpc.GenericRpcHandler):
    """Hands every call on, byte for byte; a test may act before a call goes on and before its answer comes back."""

    def __init__(self, target: str, sidecar: str) -> None:
        self.target = target
        self.before: Hook = _nothing
        self.after: Hook = _nothing
        self._channel = grpc.aio.insecure_channel(sidecar)
        self._server = grpc.aio.server(handlers=(self,))
        self._server.add_insecure_port(target)

    async def __aenter__(self) -> Self:
        await self._server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.stop(None)
        await self._channel.close()

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[bytes, bytes]:
        """A handler for whatever is called."""
        method = handler_call_details.method

        async def forward(data: bytes, context: grpc.aio.ServicerContext[bytes, bytes]) -> bytes:
            await self.before(method.rpartition("/")[2])
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel.unary_unary(method)
            try:
                answer: bytes = await call(data, timeout=context.time_remaining())
            except grpc.aio.AioRpcError as error:
                await context.abort(error.code(), error.details() or "")
            await self.after(method.rpartition("/")[2])
            return answer

        return grpc.unary_unary_rpc_method_handler(forward)


class CutLine:
    """Hands bytes on between two Unix sockets, until the test makes it deaf to answers, or cuts it."""

    def __init__(self, path: Path, sidecar: Path) -> None:
        self.target = f"unix:{path}"
        self._path = path
        self._sidecar = sidecar
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self._is_cut = False
        # What the sidecar answers is swallowed.
        self.deaf = False

    async def open(self) -> None:
        """Listens, for the first time or again."""
        self.deaf = self._is_cut = False
        self._path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._connected, str(self._path))

    async def cut(self) -> None:
        """Ends all connections at once, and takes none."""
        self._is_cut = True
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        self._path.unlink(missing_ok=True)
        for writer in self._writers:
            writer.transport.abort()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        self._writers.clear()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        try:
            there, back = await asyncio.open_unix_connection(str(self._sidecar))
        except OSError:  # nobody is there
            writer.transport.abort()
            return
        self._writers.append(back)
        if self._is_cut:
            back.transport.abort()
            writer.transport.abort()
            return
        for source, sink, answers in ((reader, back, False), (there, writer, True)):
            task = asyncio.create_task(self._pump(source, sink, answers=answers))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, answers: bool) -> None:
        try:
            while data := await source.read(65_536):
                if not (answers and self.deaf):
                    sink.write(data)
                    await sink.drain()
        except ConnectionError:
            pass
        sink.close()
