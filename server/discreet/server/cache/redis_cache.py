"""The cache on Redis, or on anything that speaks its protocol: copies of bundles, a hint, and a bell.

Nothing that comes from here decides anything. Bundles are asked for by the digest that SQL names, and believed by it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from typing import Final

from discreet.server.bell import Bell
from discreet.server.cache.address import Address
from discreet.server.cache.door import Door
from discreet.server.cache.envelope import READ_BYTES_MAX, opened, sealed
from discreet.server.cache.hearing import SIGN_S, Hearing
from discreet.server.cache.keys import Keys
from discreet.server.cache.link import Link
from discreet.server.logs import Log
from discreet.server.ports_cache import CacheCounts, CacheState
from discreet.server.ports_policy import PolicyName

KEPT_S: Final = 7 * 86_400
"""How long a copy is kept: what nobody published or missed for a week goes, and SQL has it."""
BEHIND_MAX: Final = 16
"""Copies that are under way; what comes on top is not kept."""


class RedisCache:
    """Copies of bundles in Redis, and the bell between servers."""

    def __init__(self, address: Address, prefix: str, bell: Bell, log: Log) -> None:
        self.counts = CacheCounts()
        self._address = address
        self._prefix = prefix
        self._bell = bell
        self._log = log
        self._keys = Keys("", prefix)
        self._link: Link | None = None
        self._hearing: Hearing | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._behind: set[asyncio.Task[None]] = set()
        self._was = CacheState.UP
        """What was last said in the log: nothing, as where all is well."""

    @property
    def state(self) -> CacheState:
        """How this process stands with it."""
        return CacheState.UP if self._hearing is not None and self._hearing.up else CacheState.DOWN

    @property
    def silent_ms(self) -> int:
        """Since when nothing came back that this process sent; 0 while it is up."""
        return self._hearing.silent_ms if self._hearing is not None else 0

    @property
    def trouble(self) -> str:
        """Why it is down, as far as that is known."""
        link = self._link.trouble if self._link is not None else None
        hearing = self._hearing.trouble if self._hearing is not None else None
        return str(link or hearing or "")

    def start(self, epoch: str) -> None:
        """Begins to keep and to listen, for the database of that epoch; whether there is a cache is seen later."""
        self._keys = Keys(epoch, self._prefix)
        door = Door(self._address)
        link = self._link = Link(door, self.counts)
        hearing = self._hearing = Hearing(door, link, self._keys.bell, self._bell, self.counts)
        work = (hearing.hear(), hearing.sign(), hearing.pass_on(), self._tell())
        self._tasks = [asyncio.create_task(one) for one in work]

    async def stop(self) -> None:
        """Ends it."""
        tasks = [*self._tasks, *self._behind]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._link is not None:
            await self._link.stop()
        self._link = self._hearing = None

    async def get(self, digest: str) -> bytes | None:
        """What it holds under that digest; None where that is nothing, no bundle, or does not come soon."""
        if self._link is None:
            return None
        # GETRANGE and not GET: whatever stands there, no more is sent than a bundle can have.
        answer = await self._link.ask("GETRANGE", self._keys.bundle(digest), 0, READ_BYTES_MAX - 1)
        if answer.trouble is not None or answer.reply == b"":
            return None
        bundle = opened(digest, answer.reply) if isinstance(answer.reply, bytes) else None
        if bundle is None:
            self.counts.lies += 1
            self._link.doubt()  # it may be the answer to another question
        return bundle

    def put(self, digest: str, bundle: bytes) -> None:
        """Keeps a bundle, if it can; returns at once."""
        self._do_behind(self._put(digest, bundle))

    def published(self, name: PolicyName, bundle: bytes) -> None:
        """Keeps the bundle of a revision that came into force, then rings; returns at once."""
        self._do_behind(self._published(name, bundle))

    def _do_behind(self, work: Coroutine[None, None, None]) -> None:
        if self._link is None or len(self._behind) >= BEHIND_MAX:
            work.close()
            return
        task = asyncio.create_task(work)
        self._behind.add(task)
        task.add_done_callback(self._behind.discard)

    async def _put(self, digest: str, bundle: bytes) -> None:
        value = sealed(digest, bundle)
        if value is not None and self._link is not None:
            await self._set(self._keys.bundle(digest), value)

    async def _published(self, name: PolicyName, bundle: bytes) -> None:
        await self._put(name.digest, bundle)
        hint = {"number": name.number, "commit": name.commit, "digest": name.digest}
        await self._set(self._keys.head, json.dumps(hint).encode())
        self._bell.others.hear()

    async def _set(self, key: str, value: bytes) -> None:
        if self._link is None:
            return
        answer = await self._link.ask("SET", key, value, "EX", KEPT_S)
        if answer.trouble is None and answer.reply not in (b"OK", "OK"):
            self._link.doubt()

    async def _tell(self) -> None:
        """Says in the log when it goes and when it comes back, until cancelled."""
        while True:
            await asyncio.sleep(SIGN_S)
            if self.state is not self._was:
                self._was = self.state
                if self._was is CacheState.UP:
                    self._log.info("cache answers again", cache=self._address.shown)
                else:
                    self._log.warning(
                        "cache does not answer: revisions are read from the store, and changes seen by polling",
                        cache=self._address.shown, trouble=self.trouble,
                    )  # fmt: skip
