"""A cache without a server around it, as a test holds it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from discreet.policy.facts import Micros
from discreet.server.bell import Bell, Ear
from discreet.server.cache.address import parse_redis
from discreet.server.cache.keys import Keys
from discreet.server.cache.redis_cache import RedisCache
from discreet.server.logs import make_log
from discreet.server.ports_cache import CacheState
from discreet.server.ports_policy import PolicyName
from tests.server.support import eventually

EPOCH = "e" * 32
KEYS = Keys(EPOCH)
BUNDLE = b"the files of a policy set"
DIGEST = hashlib.sha256(BUNDLE).hexdigest()
NAME = PolicyName(3, "c" * 40, DIGEST, False, Micros(0))


@dataclass(frozen=True, slots=True)
class Kept:
    """A cache, the bell that it carries, an ear on it, and its log."""

    cache: RedisCache
    bell: Bell
    ear: Ear
    log: io.StringIO

    async def until(self, state: CacheState) -> None:
        """Returns once it stands so."""

        async def stands() -> bool:
            return self.cache.state is state

        await eventually(stands)

    async def given(self, digest: str = DIGEST) -> bytes:
        """The bundle of that digest, once it is given: on a busy machine an answer may come too late to be one."""
        found: list[bytes] = []

        async def came() -> bool:
            bundle = await self.cache.get(digest)
            found.extend([bundle] if bundle is not None else [])
            return bundle is not None

        await eventually(came)
        return found[-1]

    async def holds(self, digest: str = DIGEST) -> bool:
        """Whether it gives the bundle of that digest."""
        return await self.cache.get(digest) is not None


@asynccontextmanager
async def kept(url: str, *, epoch: str = EPOCH, prefix: str = "", up: bool = True) -> AsyncIterator[Kept]:
    """A cache at that address, once it hears itself."""
    bell, log = Bell(), io.StringIO()
    made = Kept(RedisCache(parse_redis(url), prefix, bell, make_log("json", "debug", log)), bell, bell.ear(), log)
    made.cache.start(epoch)
    try:
        if up:
            await made.until(CacheState.UP)
        yield made
    finally:
        await made.cache.stop()
