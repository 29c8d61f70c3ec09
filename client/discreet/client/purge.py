"""Being a holder: a store of copies that is told what must go, deletes it, and answers item by item.

`Holder` waits in the calling thread, `AsyncHolder` under asyncio. `run` goes on until it is closed: the line is opened
again whenever it breaks, and what was not answered comes again. A handler that raises is told as FAILED, with the kind
of its error and nothing else of it.
"""

import asyncio
import contextlib
import inspect
import queue
import random
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from types import TracebackType
from typing import Final, Self, TypeAlias, cast

import grpc

from discreet.client.channel import OPTIONS, checked_target
from discreet.client.forking import begin, end
from discreet.client.line import failure_of
from discreet.client.model import texts
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
from discreet.client.result import Failure
from discreet.v1 import purge_pb2, purge_pb2_grpc

__all__ = ["AsyncHolder", "Holder", "HolderKind", "HolderRefused", "Outcome", "PurgeItem"]

DEADLINE_S: Final = 10.0
TELL_AFTER_S: Final = 1.0
"""Answers are told together, but none waits longer than this for another."""
BACKOFF_MIN_S: Final = 0.1
BACKOFF_MAX_S: Final = 30.0
QUEUED_MAX: Final = 16
"""Messages that may wait to be looked at; the line holds the server back beyond them."""

_HOPELESS: Final = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED", "INVALID_ARGUMENT", "UNIMPLEMENTED"})

Purge: TypeAlias = Callable[[PurgeItem], Outcome]
Has: TypeAlias = Callable[[str], bool]
AsyncPurge: TypeAlias = Callable[[PurgeItem], Outcome | Awaitable[Outcome]]
AsyncHas: TypeAlias = Callable[[str], bool | Awaitable[bool]]
Recalled: TypeAlias = Callable[[str, int], None]


class HolderRefused(Exception):
    """The server does not take this process for a holder; trying again would not mend it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


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


class _Line:
    """How a line that broke is opened again: at once after progress, else ever later; and when not at all."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waits = 0

    def lives(self) -> None:
        """A message came."""
        self._waits = 0

    def broke(self, failure: Failure) -> float:
        """Seconds to wait. Raises HolderRefused where waiting is in vain.

        After FAILED_PRECONDITION with a resume token the line is opened without it: the database is another one, and
        everything that is open comes again.
        """
        self._desk.line_lost()
        if failure.code in _HOPELESS or (failure.code == "FAILED_PRECONDITION" and not self._desk.resume_token):
            raise HolderRefused(failure)
        if failure.code == "FAILED_PRECONDITION":
            self._desk.resume_token = ""
            return 0.0
        wait: float = min(BACKOFF_MIN_S * 2**self._waits, BACKOFF_MAX_S)
        self._waits = min(self._waits + 1, 16)
        return wait * random.uniform(0.5, 1.0)  # noqa: S311 - spreads holders over time; nothing is kept secret by it


class AsyncHolder:
    """A holder under asyncio. Handlers may be plain functions or coroutines; they are called one at a time."""

    def __init__(
        self, target: str, *, tenant: str = "", credentials: grpc.ChannelCredentials | None = None,
        resume_token: str = "",
    ) -> None:  # fmt: skip
        checked_target(target, credentials)
        channel = (
            grpc.aio.insecure_channel(target, options=OPTIONS)
            if credentials is None
            else grpc.aio.secure_channel(target, credentials, options=OPTIONS)
        )
        self._channel = channel
        self._stub = purge_pb2_grpc.PurgeServiceStub(channel)
        self._tenant = tenant
        self._desk = Desk(resume_token)
        self._news = asyncio.Event()
        begin(self)

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
        line = _Line(self._desk)
        while True:
            try:
                await self._once(line, purge, has, recalled)
                failure = Failure("UNAVAILABLE", "the server ended the stream")
            except grpc.RpcError as error:
                failure = failure_of(error)
            await asyncio.sleep(line.broke(failure))

    async def _once(self, line: _Line, purge: AsyncPurge, has: AsyncHas, recalled: Recalled | None) -> None:
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

    async def _read(self, line: _Line, stream: grpc.aio.UnaryStreamCall[
        purge_pb2.WatchPurgeOrdersRequest, purge_pb2.WatchPurgeOrdersResponse
    ]) -> None:  # fmt: skip
        async for message in stream:
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
        resume_token: str = "",
    ) -> None:  # fmt: skip
        checked_target(target, credentials)
        channel = (
            grpc.insecure_channel(target, options=OPTIONS)
            if credentials is None
            else grpc.secure_channel(target, credentials, options=OPTIONS)
        )
        self._channel = channel
        self._stub = purge_pb2_grpc.PurgeServiceStub(channel)
        self._tenant = tenant
        self._desk = Desk(resume_token)
        self._closed = threading.Event()
        self._stream: _Stream | None = None

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
        line = _Line(self._desk)
        begin(self)
        try:
            while not self._closed.is_set():
                failure = Failure("UNAVAILABLE", "the server ended the stream")
                try:
                    self._once(line, purge, has, recalled)
                except grpc.RpcError as error:
                    failure = failure_of(error)
                if not self._closed.is_set():
                    self._closed.wait(line.broke(failure))
        finally:
            end(self)

    def _once(self, line: _Line, purge: Purge, has: Has, recalled: Recalled | None) -> None:
        """Works on one stream until it ends."""
        token = self._desk.resume_token
        asked = purge_pb2.WatchPurgeOrdersRequest(tenant=self._tenant, resume_token=token)
        self._stream = stream = _Stream(self._stub.WatchPurgeOrders(asked))
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
        except _Ended:
            return
        finally:
            stream.end()

    def _tell(self) -> None:
        while acks := self._desk.acks():
            self._stub.AckPurge(purge_pb2.AckPurgeRequest(tenant=self._tenant, acks=acks), timeout=DEADLINE_S)
            self._desk.told(acks)

    def close(self) -> None:
        """Ends `run` after what it is doing, and the line."""
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


class _Ended(Exception):
    """The server ended the stream."""


class _Stream:
    """A stream that a thread of its own reads, so that recalls are heard while items are worked on."""

    def __init__(self, call: Iterator[purge_pb2.WatchPurgeOrdersResponse]) -> None:
        self._call = call
        self._messages: queue.Queue[purge_pb2.WatchPurgeOrdersResponse | BaseException] = queue.Queue(QUEUED_MAX)
        self._thread = threading.Thread(target=self._read, name="discreet-holder", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for message in self._call:
                self._messages.put(message)
            self._messages.put(_Ended())
        except grpc.RpcError as error:
            self._messages.put(error)

    def came(self, *, wait: bool) -> Iterator[purge_pb2.WatchPurgeOrdersResponse]:
        """What came; with `wait` at least one. Raises what ended the stream."""
        while wait or not self._messages.empty():
            found = self._messages.get()
            if isinstance(found, BaseException):
                raise found
            wait = False
            yield found

    def cancel(self) -> None:
        """Ends it, from any thread."""
        cast("grpc.Call", self._call).cancel()

    def end(self) -> None:
        """Ends it, and lets the thread go."""
        self.cancel()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._messages.get(timeout=0.1)
