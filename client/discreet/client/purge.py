"""Being a holder: a store of copies that is told what must go, deletes it, and answers item by item.

`Holder` waits in the calling thread, `AsyncHolder` under asyncio. `run` goes on until it is closed: the line is opened
again whenever it breaks, and what was not answered comes again. A handler that raises is told as FAILED, with the kind
of its error and nothing else of it.
"""

import asyncio
import inspect
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from types import TracebackType
from typing import Final, Self, TypeAlias

import grpc

from discreet.client.channel import OPTIONS, checked_target
from discreet.client.forking import begin, end
from discreet.client.line import failure_of
from discreet.client.model import texts
from discreet.client.purge_lines import (
    ENDED,
    SILENCE_S,
    SILENT,
    AsyncStream,
    Ended,
    HolderRefused,
    Line,
    Silent,
    Stream,
    heard,
    needs_connection,
)
from discreet.client.purging import (
    Desk,
    HolderKind,
    Outcome,
    PurgeItem,
    Recheck,
    Task,
    ack_failed,
    ack_purged,
    ack_rechecked,
)
from discreet.v1 import purge_pb2, purge_pb2_grpc

__all__ = ["AsyncHolder", "Holder", "HolderKind", "HolderRefused", "Outcome", "PurgeItem"]

DEADLINE_S: Final = 10.0
TELL_AFTER_S: Final = 1.0
"""Answers are told together, but none waits longer than this for another."""

Purge: TypeAlias = Callable[[PurgeItem], Outcome]
Has: TypeAlias = Callable[[str], bool]
AsyncPurge: TypeAlias = Callable[[PurgeItem], Outcome | Awaitable[Outcome]]
AsyncHas: TypeAlias = Callable[[str], bool | Awaitable[bool]]
Recalled: TypeAlias = Callable[[str, int], None]


def _registration(tenant: str, kind: HolderKind, source_labels: Iterable[str]) -> purge_pb2.RegisterHolderRequest:
    if not isinstance(kind, HolderKind):
        raise TypeError(f"kind is {type(kind).__name__}; give HolderKind")
    labels = texts("source_labels", source_labels)
    return purge_pb2.RegisterHolderRequest(
        tenant=tenant, kind=purge_pb2.HolderKind.ValueType(kind.value), source_labels=labels
    )


def _hear(desk: Desk, recalled: Recalled | None) -> None:
    heard, desk.recalled = desk.recalled, []
    if recalled is not None:
        for order_id, item in heard:
            recalled(order_id, item)


class AsyncHolder:
    """A holder under asyncio. Handlers may be plain functions or coroutines; they are called one at a time."""

    def __init__(
        self, target: str, *, tenant: str = "", credentials: grpc.ChannelCredentials | None = None,
        resume_token: str = "", silence_s: float = SILENCE_S,
    ) -> None:  # fmt: skip
        self._target = checked_target(target, credentials)
        self._credentials = credentials
        self._silence_s = silence_s
        self._connect()
        self._tenant = tenant
        self._desk = Desk(resume_token)
        self._news = asyncio.Event()
        begin(self)

    def _connect(self) -> None:
        self._channel = (
            grpc.aio.insecure_channel(self._target, options=OPTIONS)
            if self._credentials is None
            else grpc.aio.secure_channel(self._target, self._credentials, options=OPTIONS)
        )
        self._stub = purge_pb2_grpc.PurgeServiceStub(self._channel)

    @property
    def resume_token(self) -> str:
        """Where to go on in another process: everything up to it was answered."""
        return self._desk.resume_token

    async def register(self, kind: HolderKind, source_labels: Iterable[str] = ()) -> int:
        """Registers this identity as a holder; how many items of earlier orders it has. HolderRefused if it may not."""
        try:
            asked = _registration(self._tenant, kind, source_labels)
            return int((await self._stub.RegisterHolder(asked, timeout=DEADLINE_S, wait_for_ready=True)).open_items)
        except grpc.RpcError as error:
            raise HolderRefused(failure_of(error)) from None

    async def run(self, purge: AsyncPurge, has: AsyncHas, recalled: Recalled | None = None) -> None:
        """Answers what comes until it is cancelled. Raises HolderRefused where the server will not have it.

        `purge` deletes every copy of an item; `has` says whether anything with a digest is there, by another way than
        the one that deletes; `recalled` hears of items under a legal hold, on each stream once, sent before or not.
        """
        line = Line(self._desk)
        while True:
            try:
                await self._once(line, purge, has, recalled)
                failure = ENDED
            except Silent:
                failure = SILENT
            except grpc.RpcError as error:
                failure = failure_of(error)
            if needs_connection(failure):
                await self._channel.close()
                self._connect()
            await asyncio.sleep(line.broke(failure))

    async def _once(self, line: Line, purge: AsyncPurge, has: AsyncHas, recalled: Recalled | None) -> None:
        """Works on one stream until it ends."""
        token = self._desk.resume_token
        stream = self._stub.WatchPurgeOrders(purge_pb2.WatchPurgeOrdersRequest(tenant=self._tenant, resume_token=token))
        reading = asyncio.create_task(self._read(line, stream))
        try:
            since = time.monotonic()
            while not reading.done():
                _hear(self._desk, recalled)
                task = self._desk.next()
                if task is not None:
                    self._desk.answer(await self._answered(task, purge, has))
                if self._desk.next() is None or time.monotonic() - since >= TELL_AFTER_S:
                    await self._tell()
                    since = time.monotonic()
                if self._desk.next() is None:
                    await self._wait(reading)
            await reading
        finally:
            stream.cancel()
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, line: Line, stream: AsyncStream) -> None:
        while (message := await heard(stream, self._silence_s)) is not None:
            line.lives()
            self._desk.take(message)
            self._news.set()

    async def _wait(self, reading: asyncio.Task[None]) -> None:
        """Until something came, or the stream ended."""
        coming = asyncio.create_task(self._news.wait())
        await asyncio.wait({reading, coming}, return_when=asyncio.FIRST_COMPLETED)
        coming.cancel()
        self._news.clear()

    async def _answered(self, task: Task, purge: AsyncPurge, has: AsyncHas) -> purge_pb2.PurgeAck:
        key = task.order_id, task.item
        try:
            said = has(task.digest) if isinstance(task, Recheck) else purge(task)
            said = await said if inspect.isawaitable(said) else said
        except Exception as error:  # noqa: BLE001 - an outermost edge: whatever a handler raises, the item stays open
            return ack_failed(key, error)
        return ack_rechecked(key, said) if isinstance(task, Recheck) else ack_purged(key, said)

    async def _tell(self) -> None:
        while acks := self._desk.acks():
            asked = purge_pb2.AckPurgeRequest(tenant=self._tenant, acks=acks)
            await self._stub.AckPurge(asked, timeout=DEADLINE_S)
            self._desk.told(acks)

    async def close(self) -> None:
        """Ends the line; `run` is to be cancelled before."""
        await self._channel.close()
        end(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class Holder:
    """A holder that works in the thread that calls `run`. `close` may be called from any thread, and ends it."""

    def __init__(
        self, target: str, *, tenant: str = "", credentials: grpc.ChannelCredentials | None = None,
        resume_token: str = "", silence_s: float = SILENCE_S,
    ) -> None:  # fmt: skip
        self._target = checked_target(target, credentials)
        self._credentials = credentials
        self._silence_s = silence_s
        self._connect()
        self._tenant = tenant
        self._desk = Desk(resume_token)
        self._closed = threading.Event()
        self._closing = threading.Lock()
        self._stream: Stream | None = None

    def _connect(self) -> None:
        self._channel = (
            grpc.insecure_channel(self._target, options=OPTIONS)
            if self._credentials is None
            else grpc.secure_channel(self._target, self._credentials, options=OPTIONS)
        )
        self._stub = purge_pb2_grpc.PurgeServiceStub(self._channel)

    def _reconnect(self) -> None:
        with self._closing:
            if not self._closed.is_set():
                self._channel.close()
                self._connect()

    @property
    def resume_token(self) -> str:
        """Where to go on in another process: everything up to it was answered."""
        return self._desk.resume_token

    def register(self, kind: HolderKind, source_labels: Iterable[str] = ()) -> int:
        """Registers this identity as a holder; how many items of earlier orders it has. HolderRefused if it may not."""
        try:
            asked = _registration(self._tenant, kind, source_labels)
            return int(self._stub.RegisterHolder(asked, timeout=DEADLINE_S, wait_for_ready=True).open_items)
        except grpc.RpcError as error:
            raise HolderRefused(failure_of(error)) from None

    def run(self, purge: Purge, has: Has, recalled: Recalled | None = None) -> None:
        """Answers what comes until it is closed; see `AsyncHolder.run`."""
        line = Line(self._desk)
        begin(self)
        try:
            while not self._closed.is_set():
                failure = ENDED
                try:
                    self._once(line, purge, has, recalled)
                except Silent:
                    failure = SILENT
                except grpc.RpcError as error:
                    failure = failure_of(error)
                if needs_connection(failure):
                    self._reconnect()
                if not self._closed.is_set():
                    self._closed.wait(line.broke(failure))
        finally:
            end(self)

    def _once(self, line: Line, purge: Purge, has: Has, recalled: Recalled | None) -> None:
        """Works on one stream until it ends."""
        token = self._desk.resume_token
        asked = purge_pb2.WatchPurgeOrdersRequest(tenant=self._tenant, resume_token=token)
        self._stream = stream = Stream(self._stub.WatchPurgeOrders(asked), self._silence_s)
        try:
            since = time.monotonic()
            while not self._closed.is_set():
                for message in stream.came(wait=self._desk.next() is None):
                    line.lives()
                    self._desk.take(message)
                _hear(self._desk, recalled)
                task = self._desk.next()
                if task is not None:
                    self._desk.answer(_answered(task, purge, has))
                if self._desk.next() is None or time.monotonic() - since >= TELL_AFTER_S:
                    self._tell()
                    since = time.monotonic()
        except Ended:
            return
        finally:
            stream.end()

    def _tell(self) -> None:
        while acks := self._desk.acks():
            self._stub.AckPurge(purge_pb2.AckPurgeRequest(tenant=self._tenant, acks=acks), timeout=DEADLINE_S)
            self._desk.told(acks)

    def close(self) -> None:
        """Ends `run` after what it is doing, and the line."""
        with self._closing:
            self._closed.set()
            if self._stream is not None:
                self._stream.cancel()
            self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _answered(task: Task, purge: Purge, has: Has) -> purge_pb2.PurgeAck:
    key = task.order_id, task.item
    try:
        if isinstance(task, Recheck):
            return ack_rechecked(key, has(task.digest))
        return ack_purged(key, purge(task))
    except Exception as error:  # noqa: BLE001 - an outermost edge: whatever a handler raises, the item stays open
        return ack_failed(key, error)
