"""Whatever becomes of Redis, one fault after the other, in an order that follows from a seed. Knows no server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from redis.asyncio import Redis

from discreet.server.cache.envelope import sealed
from tests.server.redis.relay import Relay
from tests.valkey_server import ValkeyServer

LIES_EVERY_S: Final = 0.01
STOP_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Fault:
    """How it begins, and how it ends where it does not end by itself."""

    name: str
    begin: Callable[[], Awaitable[None]]
    end: Callable[[], Awaitable[None]]


class RedisFaults:
    """The faults of one server, which the servers of a storm reach through a relay."""

    def __init__(self, valkey: ValkeyServer, relay: Relay, rogue: bytes, digests: Callable[[], Sequence[str]]) -> None:
        """`rogue`: a valid bundle that nobody published. `digests`: under which it is put, those to come included."""
        self._valkey = valkey
        self._relay = relay
        self._rogue = rogue
        self._digests = digests
        self._lying: asyncio.Task[None] | None = None
        self._over = asyncio.Event()
        """A flag and not a cancellation: a client library may swallow one."""
        self.every: Final = (
            Fault("flushed", self._flush, self._nothing),
            Fault("killed and started", self._kill, self._start),
            Fault("restored from an older dump", self._save, self._restore),
            Fault("evicting", self._evict, self._roomy),
            Fault("full", self._fill, self._roomy),
            Fault("partitioned", self._silence, self._speak),
            Fault("lines cut", self._cut, self._nothing),
            Fault("lies", self._lie, self._be_true),
            Fault("older bundles under newer digests", self._older, self._nothing),
            Fault("clients killed", self._kill_clients, self._nothing),
            Fault("subscriptions silent", self._mute, self._nothing),
            Fault("standing still", self._pause, self._resume),
        )

    def in_order(self, chance: random.Random) -> Iterator[Fault]:
        """Every fault once, then again in another order, without end."""
        while True:
            yield from chance.sample(self.every, len(self.every))

    async def stop(self) -> None:
        """Ends what is under way."""
        self._over.set()
        if self._lying is not None:
            await asyncio.wait({self._lying}, timeout=STOP_S)

    async def _nothing(self) -> None:
        """For faults that are over by themselves."""

    async def _flush(self) -> None:
        await self._do(lambda own: own.flushall())

    async def _kill(self) -> None:
        await asyncio.to_thread(self._valkey.kill)

    async def _start(self) -> None:
        await asyncio.to_thread(self._valkey.start)

    async def _save(self) -> None:
        await self._do(lambda own: own.save())

    async def _restore(self) -> None:
        """Nothing was saved since: what was written while the fault lasted is gone, and what was there then is back."""
        assert self._valkey.dump.exists(), "nothing was saved"
        await self._kill()
        await self._start()

    async def _evict(self) -> None:
        await self._do(lambda own: own.config_set("maxmemory-policy", "allkeys-lru"))
        await self._do(lambda own: own.config_set("maxmemory", "1"))

    async def _fill(self) -> None:
        await self._do(lambda own: own.config_set("maxmemory-policy", "noeviction"))
        await self._do(lambda own: own.config_set("maxmemory", "1"))

    async def _roomy(self) -> None:
        await self._do(lambda own: own.config_set("maxmemory", "0"))

    async def _silence(self) -> None:
        self._relay.silence()

    async def _speak(self) -> None:
        self._relay.speak()

    async def _cut(self) -> None:
        self._relay.cut()

    async def _lie(self) -> None:
        """Well-formed values, heads and messages that are not true, as soon as there are true ones, until it ends."""
        self._over.clear()
        self._lying = asyncio.create_task(self._keep_lying())

    async def _be_true(self) -> None:
        assert self._lying is not None
        self._over.set()
        await self._lying

    async def _keep_lying(self) -> None:
        async with self._own() as own:
            while not self._over.is_set():
                prefixes = {key.rpartition(b":bundle:")[0].decode() for key in await _bundles(own)}
                digests = self._digests()
                for ours in prefixes:
                    for digest in digests:
                        await own.set(f"{ours}:bundle:{digest}", sealed(digest, self._rogue) or b"")
                    await own.set(f"rival:{ours}:bundle:{digests[-1]}", b"somebody else's")
                    await own.set(f"{ours}:head", b'{"number":1,"commit":"","digest":""}')
                    for said in (
                        b"discreet/1 ring " + b"0" * 32,
                        b"discreet/1 sign " + b"0" * 32 + b" 9",
                        b"x" * 5_000,
                    ):
                        await own.publish(f"{ours}:bell", said)
                await asyncio.sleep(LIES_EVERY_S)

    async def _older(self) -> None:
        async with self._own() as own:
            keys = await _bundles(own)
            oldest = await own.get(keys[0]) if keys else None
            for key in keys:
                await own.set(key, oldest or b"")

    async def _kill_clients(self) -> None:
        async with self._own() as own:
            for kind in ("pubsub", "normal"):
                await own.client_kill_filter(_type=kind, skipme=True)

    async def _mute(self) -> None:
        self._relay.mute(b"SUBSCRIBE")

    async def _pause(self) -> None:
        self._valkey.pause()

    async def _resume(self) -> None:
        self._valkey.resume()

    def _own(self) -> Redis:
        return self._valkey.client()

    async def _do(self, work: Callable[[Redis], Awaitable[object]]) -> None:
        async with self._own() as own:
            await work(own)


async def _bundles(own: Redis) -> list[bytes]:
    return sorted(key for key in await own.keys("discreet:*:bundle:*") if isinstance(key, bytes))
