"""The subscription to the bell, and what proves that it is one.

A subscription can look alive and bring nothing: a connection whose other side is gone, a proxy that keeps it open, a
server that forgot it. So each server sends signs to itself through the very channel. Only a sign that came back lately
counts as hearing; after `QUIET_S` without one the connection is dropped for a new one, and the gap is told.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import Final

from redis.asyncio.connection import AbstractConnection

from discreet.server.bell import Bell, Ear
from discreet.server.cache.door import Door, drop
from discreet.server.cache.link import ANSWER_S, Link, Pause, trouble_of
from discreet.server.cache.messages import Message, understood, written
from discreet.server.ports_cache import CacheCounts, Rung, Trouble

SIGN_S: Final = 1.0
"""How often a server sends a sign to itself."""
QUIET_S: Final = 3.0
"""A subscription that brought no sign for so long is none."""


class OddReply(Exception):
    """What came is no answer to what was asked, or nothing that a subscription brings."""


class Hearing:
    """Keeps subscribed, and knows for how long it has not heard itself."""

    def __init__(self, door: Door, link: Link, channel: str, bell: Bell, counts: CacheCounts) -> None:
        self._door = door
        self._link = link
        self._channel = channel
        self._bell = bell
        self._counts = counts
        self._run = secrets.token_hex(16)
        self._sent = 0
        self._came_back = 0
        """The newest sign that came back; older ones, and what was never sent, prove nothing."""
        self._heard_at = time.monotonic()
        self._proved = False
        """Whether a sign came back through the subscription that there is now."""
        self._sign_now = Ear()
        self._pause = Pause()
        self.trouble: Trouble | None = None
        """Why the last subscription ended; None once signs come back through another one."""

    @property
    def up(self) -> bool:
        """True while what this server sends comes back."""
        return self._proved and time.monotonic() - self._heard_at <= QUIET_S

    @property
    def silent_ms(self) -> int:
        """Since when nothing came back; 0 while `up`."""
        return 0 if self.up else max(1, round((time.monotonic() - self._heard_at) * 1_000))

    async def sign(self) -> None:
        """Sends signs until cancelled: at once where somebody subscribed, else at intervals."""
        while True:
            self._sent += 1
            await self._link.ask("PUBLISH", self._channel, written(Message(self._run, self._sent)))
            await self._sign_now.wait(SIGN_S)

    async def pass_on(self) -> None:
        """Tells the other servers what is rung here, until cancelled."""
        while True:
            if await self._bell.others.wait(SIGN_S):
                await self._link.ask("PUBLISH", self._channel, written(Message(self._run)))

    async def hear(self) -> None:
        """Hears what others ring, until cancelled; subscribes again however often it has to."""
        while True:
            subscription = asyncio.create_task(self._subscription())
            try:
                await asyncio.wait({subscription})
            finally:
                subscription.cancel()
                await asyncio.wait({subscription})
            error = None if subscription.cancelled() else subscription.exception()
            self._proved = False
            self.trouble = trouble_of(error) if error is not None else Trouble.UNREACHABLE
            self._counts.troubles[self.trouble] += 1
            self._pause.failed()
            await asyncio.sleep(self._pause.left_s)

    async def _subscription(self) -> None:
        """One subscription until it ends; only ever by an error."""
        line: AbstractConnection | None = None
        try:
            async with asyncio.timeout(ANSWER_S):
                line = await self._door.open()
                await line.send_command("SUBSCRIBE", self._channel)
                if await line.read_response() != [b"subscribe", self._channel.encode(), 1]:
                    raise OddReply
            self._bell.heard()  # what was rung while nobody listened
            self._sign_now.hear()
            due = time.monotonic()
            while True:
                quiet = max(due, self._heard_at) + QUIET_S - time.monotonic()
                async with asyncio.timeout(quiet):
                    self._take(await line.read_response())
                await asyncio.sleep(0)  # a flood that is read without waiting lets others run all the same
        finally:
            if line is not None:
                drop(line)

    def _take(self, came: object) -> None:
        if not (isinstance(came, list) and len(came) == 3 and came[:2] == [b"message", self._channel.encode()]):
            raise OddReply
        message = understood(came[2])
        if message is None:
            self._counts.rung[Rung.IGNORED] += 1
        elif message.sign:
            self._counts.rung[Rung.SIGN] += 1
            if message.run == self._run and self._came_back < message.sign <= self._sent:
                self._came_back, self._heard_at, self._proved = message.sign, time.monotonic(), True
                self.trouble = None
                self._pause.over()
        else:
            self._counts.rung[Rung.RING] += 1
            if message.run != self._run:
                self._bell.heard()
