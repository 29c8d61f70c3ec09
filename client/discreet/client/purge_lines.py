"""The line of a holder to the server: when it counts as broken, how it is opened again, and a stream for threads.

Nothing here works on items. A line on which nothing comes for three heartbeats of the server is broken, whatever the
transport believes: a router that forgot it, or a server that was stopped, says nothing.
"""

import asyncio
import contextlib
import queue
import random
import threading
import time
from collections.abc import Iterator
from typing import Final, cast

import grpc

from discreet.client.purging import Desk
from discreet.client.result import Failure
from discreet.v1 import purge_pb2

BACKOFF_MIN_S: Final = 0.1
BACKOFF_MAX_S: Final = 30.0
QUEUED_MAX: Final = 16
"""Messages that may wait to be looked at; the line holds the server back beyond them."""
SILENCE_S: Final = 60.0
"""Three heartbeats: the server says something every 20 seconds."""
LAGGING_S: Final = 1.0
"""What may have come while this process was busy is looked for so long before the line counts as silent."""

_HOPELESS: Final = frozenset({"PERMISSION_DENIED", "UNAUTHENTICATED", "INVALID_ARGUMENT", "UNIMPLEMENTED"})

AsyncStream = grpc.aio.UnaryStreamCall[purge_pb2.WatchPurgeOrdersRequest, purge_pb2.WatchPurgeOrdersResponse]


class HolderRefused(Exception):
    """The server does not take this process for a holder; trying again would not mend it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class Silent(Exception):
    """Nothing came for so long that the connection below the line cannot be believed in either."""


ENDED: Final = Failure("UNAVAILABLE", "the server ended the stream")
SILENT: Final = Failure("UNAVAILABLE", "the server said nothing for three heartbeats")


def needs_connection(failure: Failure) -> bool:
    """True where the line is to be opened again over another connection: this one gave no answer."""
    return failure is SILENT or failure.code == "DEADLINE_EXCEEDED"


async def heard(stream: AsyncStream, silence_s: float) -> purge_pb2.WatchPurgeOrdersResponse | None:
    """The next message; None at the end of the stream. Raises Silent."""
    reading = asyncio.ensure_future(stream.read())
    try:
        for wait_s in (silence_s, LAGGING_S):
            if (await asyncio.wait({reading}, timeout=wait_s))[0]:
                message = await reading
                return message if isinstance(message, purge_pb2.WatchPurgeOrdersResponse) else None
        raise Silent
    finally:
        reading.cancel()


class Line:
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


class Ended(Exception):
    """The server ended the stream."""


class Stream:
    """A stream that a thread of its own reads, so that recalls are heard while items are worked on."""

    def __init__(self, call: Iterator[purge_pb2.WatchPurgeOrdersResponse], silence_s: float) -> None:
        self._call = call
        self._silence_s = silence_s
        self._heard = time.monotonic()
        self._messages: queue.Queue[purge_pb2.WatchPurgeOrdersResponse | BaseException] = queue.Queue(QUEUED_MAX)
        self._thread = threading.Thread(target=self._read, name="discreet-holder", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for message in self._call:
                self._messages.put(message)
                self._heard = time.monotonic()
            self._messages.put(Ended())
        except grpc.RpcError as error:
            self._messages.put(error)

    def came(self, *, wait: bool) -> Iterator[purge_pb2.WatchPurgeOrdersResponse]:
        """What came; with `wait` at least one. Raises what ended the stream, or Silent."""
        while wait or not self._messages.empty():
            found = self._next()
            if isinstance(found, BaseException):
                raise found
            wait = False
            yield found

    def _next(self) -> purge_pb2.WatchPurgeOrdersResponse | BaseException:
        while True:
            left = self._heard + self._silence_s - time.monotonic()
            try:
                return self._messages.get(timeout=max(left, LAGGING_S))
            except queue.Empty:
                if self._heard + self._silence_s <= time.monotonic():
                    raise Silent from None

    def cancel(self) -> None:
        """Ends it, from any thread."""
        cast("grpc.Call", self._call).cancel()

    def end(self) -> None:
        """Ends it, and lets the thread go."""
        self.cancel()
        while self._thread.is_alive():
            with contextlib.suppress(queue.Empty):
                self._messages.get(timeout=0.1)
