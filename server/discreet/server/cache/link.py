"""One command at a time to Redis, on one connection that is kept only while every reply was what was asked for.

redis-py once handed the reply of a cancelled call to the next caller. Here a caller that is cancelled cancels nothing:
each exchange runs in a task of its own, to its end or its bound, and anything but a clean reply ends the connection.
"""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Final

from redis import exceptions as errors
from redis.asyncio.connection import AbstractConnection

from discreet.server.cache.door import Door, drop
from discreet.server.ports_cache import CacheCounts, Trouble

ANSWER_S: Final = 0.5
"""How long an exchange may take, with the wait for its turn and for a connection."""
PAUSE_S: Final = 0.1
PAUSE_MAX_S: Final = 1.0
"""After a failure nothing is asked for a while that doubles from the one to the other."""
WAITING_MAX: Final = 64
"""Exchanges under way and waiting; what comes on top is not asked."""

_DENIED: Final = (errors.AuthenticationError, errors.AuthorizationError, errors.NoPermissionError)


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply, or why there is none; `other_type`: the key holds a value of another type than the command is for."""

    reply: object = None
    trouble: Trouble | None = None
    other_type: bool = False


class Pause:
    """A time that doubles with each failure and is over with a success."""

    def __init__(self) -> None:
        self._length = PAUSE_S
        self._until = 0.0

    @property
    def left_s(self) -> float:
        """How much of it is left."""
        return max(0.0, self._until - time.monotonic())

    def failed(self) -> None:
        """Begins, or begins again for twice as long; by chance a little less, so that servers do not come in step."""
        self._until = time.monotonic() + self._length * random.uniform(0.7, 1)  # noqa: S311 - jitter, which is no secret
        self._length = min(self._length * 2, PAUSE_MAX_S)

    def over(self) -> None:
        """Ends."""
        self._length, self._until = PAUSE_S, 0.0


class Link:
    """A line to Redis for commands."""

    def __init__(self, door: Door, counts: CacheCounts) -> None:
        self._door = door
        self._counts = counts
        self._turn = asyncio.Lock()
        self._line: AbstractConnection | None = None
        self._doubted = False
        self._under_way: set[asyncio.Task[object]] = set()
        self.pause = Pause()
        self.trouble: Trouble | None = None
        """Why the last exchange failed; None where it did not."""

    async def ask(self, *words: str | bytes | int) -> Answer:
        """The reply to a command. Not asked, as if it were unreachable, while a failure is recent; raises nothing."""
        if self.pause.left_s or len(self._under_way) >= WAITING_MAX:
            return Answer(trouble=self.trouble or Trouble.SLOW)
        exchange = asyncio.create_task(self._exchange(words))
        self._under_way.add(exchange)
        exchange.add_done_callback(self._ended)
        await asyncio.wait({exchange})
        return _answer(exchange)

    def doubt(self) -> None:
        """The last reply was not what was asked for: the next command goes out on a new connection."""
        self._doubted = True

    async def stop(self) -> None:
        """Ends what is under way, and the connection."""
        for exchange in self._under_way:
            exchange.cancel()
        if self._under_way:
            await asyncio.wait(self._under_way)
        self._drop()

    async def _exchange(self, words: tuple[str | bytes | int, ...]) -> object:
        async with asyncio.timeout(ANSWER_S), self._turn:
            clean = False
            try:
                line = await self._connected()
                await line.send_command(*words)
                reply: object = await line.read_response()
                clean = True
                return reply
            except errors.ResponseError:
                clean = True  # an error that the server told: whole, and the answer to this command
                raise
            finally:
                if not clean:
                    self._drop()

    async def _connected(self) -> AbstractConnection:
        if self._doubted:
            self._drop()
        if self._line is None:
            self._line = await self._door.open()
        return self._line

    def _drop(self) -> None:
        line, self._line, self._doubted = self._line, None, False
        if line is not None:
            drop(line)

    def _ended(self, exchange: asyncio.Task[object]) -> None:
        self._under_way.discard(exchange)
        answer = _answer(exchange)
        if exchange.cancelled() or answer.other_type:
            return
        if answer.trouble is None:
            self.pause.over()
        else:
            self._counts.troubles[answer.trouble] += 1
            if answer.trouble is not Trouble.FULL:  # a full server still gives what it has, and rings
                self.pause.failed()
        self.trouble = answer.trouble


def _answer(exchange: asyncio.Task[object]) -> Answer:
    if exchange.cancelled():
        return Answer(trouble=Trouble.UNREACHABLE)
    error = exchange.exception()
    if error is None:
        return Answer(exchange.result())
    if isinstance(error, errors.ResponseError) and str(error).startswith("WRONGTYPE"):
        return Answer(other_type=True)
    return Answer(trouble=trouble_of(error))


def trouble_of(error: BaseException) -> Trouble:
    """Which of the closed set it is; never a text of the other side, which may say anything."""
    if isinstance(error, _DENIED) or str(error).startswith(("NOAUTH", "WRONGPASS", "NOPERM")):
        return Trouble.DENIED
    if isinstance(error, errors.OutOfMemoryError):
        return Trouble.FULL
    if isinstance(error, (TimeoutError, errors.TimeoutError)):
        return Trouble.SLOW
    if isinstance(error, (errors.ConnectionError, OSError, EOFError)):
        return Trouble.UNREACHABLE
    return Trouble.ODD
