"""Copies in Redis: given back whole and under their own digest, or not at all, whatever stands under the key."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable

import pytest
from redis.asyncio import Redis

from discreet.server.cache.envelope import BUNDLE_BYTES_MAX, sealed
from discreet.server.cache.keys import Keys
from discreet.server.cache.link import ANSWER_S
from discreet.server.cache.redis_cache import KEPT_S
from discreet.server.ports_cache import CacheState, Trouble
from tests.server.redis.kept import BUNDLE, DIGEST, KEYS, NAME, kept
from tests.server.redis.relay import Relay
from tests.server.redis.test_bell import emptied
from tests.server.redis.test_link import SLACK_S
from tests.server.support import eventually
from tests.valkey_server import ValkeyServer

KEY = KEYS.bundle(DIGEST)
OTHER = b"another, just as valid"


async def test_what_is_put_is_given_back_for_a_time(valkey: ValkeyServer, own: Redis) -> None:
    """E2: under its digest, for a bounded time, with what was published named for people who look in."""
    async with kept(valkey.url) as one:
        assert await one.cache.get(DIGEST) is None
        one.cache.published(NAME, BUNDLE)
        assert await one.given() == BUNDLE

        async def named() -> bool:
            return await own.get(KEYS.head) is not None

        await eventually(named)
        assert json.loads(await own.get(KEYS.head) or "") == {"number": 3, "commit": "c" * 40, "digest": DIGEST}
        assert 0 < await own.ttl(KEY) <= KEPT_S
        assert 0 < await own.ttl(KEYS.head) <= KEPT_S
        assert one.cache.counts.lies == 0


async def _another_bundle(own: Redis) -> None:
    await own.set(KEY, sealed("0" * 64, OTHER) or b"")


async def _another_under_our_digest(own: Redis) -> None:
    await own.set(KEY, (sealed(DIGEST, BUNDLE) or b"").replace(b"files", b"lies!"))


async def _truncated(own: Redis) -> None:
    await own.set(KEY, (sealed(DIGEST, BUNDLE) or b"")[:-1])


async def _huge(own: Redis) -> None:
    await own.set(KEY, sealed(DIGEST, BUNDLE) or b"")
    await own.setrange(KEY, BUNDLE_BYTES_MAX * 4, b"x")


async def _another_version(own: Redis) -> None:
    await own.set(KEY, (sealed(DIGEST, BUNDLE) or b"").replace(b"bundle 1", b"bundle 2"))


async def _bare(own: Redis) -> None:
    await own.set(KEY, BUNDLE)


async def _list(own: Redis) -> None:
    await own.delete(KEY)
    await own.rpush(KEY, BUNDLE)


async def _hash(own: Redis) -> None:
    await own.delete(KEY)
    await own.hset(KEY, "bundle", BUNDLE)


LIES = (_another_bundle, _truncated, _huge, _another_version, _bare, _list, _hash)


@pytest.mark.parametrize("lie", LIES)
async def test_a_lie_under_our_key_is_counted_not_believed_and_mended(
    lie: Callable[[Redis], Awaitable[None]], valkey: ValkeyServer, own: Redis
) -> None:
    """E2: well-formed or not, of another type or far too large; the next copy that is put replaces it."""
    async with kept(valkey.url) as one:
        await lie(own)

        async def noticed() -> bool:
            assert await one.cache.get(DIGEST) is None
            counts = one.cache.counts  # on a busy machine what is far too large may also come too late
            return counts.lies > 0 or (lie is _huge and counts.troubles[Trouble.SLOW] > 0)

        await eventually(noticed)
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)
        await one.until(CacheState.UP)


async def test_a_bundle_that_is_another_in_an_envelope_that_is_right_is_the_readers_to_refuse(
    valkey: ValkeyServer, own: Redis
) -> None:
    """E2: the cache does not hash; who asked compares with the digest that SQL names (see `Bundles`)."""
    async with kept(valkey.url) as one:
        await _another_under_our_digest(own)
        assert await one.given() == BUNDLE.replace(b"files", b"lies!")


async def test_databases_and_prefixes_never_meet(valkey: ValkeyServer, own: Redis) -> None:
    """E2: the same bundle of two databases, and of one under two prefixes, is kept three times."""
    async with (
        kept(valkey.url) as one,
        kept(valkey.url, epoch="f" * 32) as other,
        kept(valkey.url, prefix="desk") as third,
    ):
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)
        assert not await other.holds()
        assert not await third.holds()
        for cache in (other, third):
            cache.cache.put(DIGEST, BUNDLE)
            await eventually(cache.holds)
        assert sorted(await own.keys("*bundle*")) == sorted(
            keys.bundle(DIGEST).encode() for keys in (KEYS, Keys("f" * 32), Keys("e" * 32, "desk"))
        )
        for cache in (one, third):
            await emptied(cache.ear)
        other.bell.ring()
        third.bell.ring()
        one.bell.others.hear()
        assert await third.ear.wait(5)
        assert not await one.ear.wait(0)


async def test_what_is_too_large_is_not_kept(valkey: ValkeyServer, own: Redis) -> None:
    """A bound holds for what is put; SQL has it all the same."""
    async with kept(valkey.url) as one:
        one.cache.put(DIGEST, bytes(BUNDLE_BYTES_MAX + 1))
        one.cache.put("0" * 64, BUNDLE)

        async def came() -> bool:
            return await own.exists(KEYS.bundle("0" * 64)) == 1

        await eventually(came)
        assert not await own.exists(KEY)


async def test_a_full_server_is_told_and_goes_on_ringing(valkey: ValkeyServer, own: Redis) -> None:
    """E6: out of memory on SET counts as `full`; the bell and what is kept already are there."""
    async with kept(valkey.url) as one, kept(valkey.url) as other:
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)
        await own.config_set("maxmemory", "1")
        await emptied(other.ear)
        one.cache.published(NAME, BUNDLE)
        assert await other.ear.wait(5)
        assert one.cache.counts.troubles[Trouble.FULL] >= 1
        assert await one.given() == BUNDLE
        await one.until(CacheState.UP)


async def test_flushed_evicted_and_restarted_it_is_empty_and_fills_again(valkey: ValkeyServer, own: Redis) -> None:
    """E2: a copy that is gone is no error; the next one that is put is there."""
    async with kept(valkey.url) as one:
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)
        await own.flushall()
        assert await one.cache.get(DIGEST) is None
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)
        valkey.kill()
        await one.until(CacheState.DOWN)
        assert await one.cache.get(DIGEST) is None
        valkey.start()
        await one.until(CacheState.UP)

        async def empty() -> bool:
            return await one.cache.get(DIGEST) is None and one.cache.counts.lies == 0

        await eventually(empty)
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)


async def test_without_a_server_nothing_is_given_and_nobody_waits(valkey: ValkeyServer) -> None:
    """E6: a start does not wait for it, a question at most for the bound, and it is found once it is there."""
    valkey.kill()
    async with kept(valkey.url, up=False) as one:
        began = time.monotonic()
        one.cache.published(NAME, BUNDLE)
        assert await one.cache.get(DIGEST) is None
        assert time.monotonic() - began < ANSWER_S + SLACK_S
        assert one.cache.state is CacheState.DOWN
        assert one.cache.silent_ms > 0
        valkey.start()
        await one.until(CacheState.UP)
        assert one.cache.silent_ms == 0


async def test_a_slow_server_costs_the_bound_and_then_nothing(valkey: ValkeyServer, relay: Relay) -> None:
    """E6: answers that come too late are none, and are nobody else's."""
    async with kept(relay.url) as one:
        one.cache.put(DIGEST, BUNDLE)
        await eventually(one.holds)
        relay.delay_s = ANSWER_S * 2
        began = time.monotonic()
        assert await one.cache.get(DIGEST) is None
        assert await one.cache.get(DIGEST) is None
        assert time.monotonic() - began < ANSWER_S * 2 + SLACK_S
        relay.delay_s = 0
        await eventually(one.holds)
        assert one.cache.counts.lies == 0


async def test_no_password_is_in_a_log(valkey: ValkeyServer) -> None:
    """OBS-03: a server that refuses the password is told with its address, why, and nothing else."""
    server = ValkeyServer(requirepass="right")
    try:
        async with kept(server.url.replace("//", "//ana:hush-hush@"), up=False) as one:

            async def told() -> bool:
                return "does not answer" in one.log.getvalue()

            await eventually(told)
            assert '"trouble":"denied"' in one.log.getvalue()
            assert f"redis://127.0.0.1:{server.port}/0" in one.log.getvalue()
            assert "hush" not in one.log.getvalue()
            assert one.cache.trouble == "denied"
    finally:
        server.stop()
