"""The bell: heard by every server at once, never a storm, and known to be silent when it is."""

from __future__ import annotations

import asyncio
import time

import pytest
from redis.asyncio import Redis

from discreet.server.bell import GAP_S, Bell, Ear
from discreet.server.cache.hearing import QUIET_S
from discreet.server.cache.messages import Message, written
from discreet.server.ports_cache import CacheState, Rung
from tests.server.redis.kept import KEYS, kept
from tests.server.redis.relay import Relay
from tests.server.support import eventually
from tests.valkey_server import ValkeyServer

STRANGER = "5" * 32


async def emptied(ear: Ear) -> None:
    """Takes what it has heard so far."""
    while await ear.wait(0):
        pass


async def test_a_ring_wakes_every_ear_and_is_not_lost_before_one_waits() -> None:
    """Each ear hears each ring once, whether it waits already or only comes to wait."""
    bell = Bell()
    ears = [bell.ear(), bell.ear()]
    waiting = asyncio.create_task(ears[0].wait(5))
    await asyncio.sleep(0)
    bell.ring()
    assert await waiting
    assert await ears[1].wait(0)
    assert [await ear.wait(0) for ear in ears] == [False, False]
    assert await bell.others.wait(0)
    bell.heard()
    assert not await bell.others.wait(0)


async def test_a_flood_of_rings_is_one_waking_a_gap() -> None:
    """However often somebody rings, an ear wakes at most every gap."""
    bell = Bell()
    ear = bell.ear()
    woken, began = 0, time.monotonic()
    while time.monotonic() - began < 10 * GAP_S:
        bell.ring()
        woken += await ear.wait(0)
    assert 1 <= woken <= (time.monotonic() - began) / GAP_S + 1


async def test_a_ring_is_heard_by_the_other_servers_of_the_database(valkey: ValkeyServer) -> None:
    """F1: at once; in the process that rang it is heard without going through Redis, and not a second time."""
    async with kept(valkey.url) as one, kept(valkey.url) as other:
        await emptied(one.ear)
        await emptied(other.ear)
        one.bell.ring()
        assert await one.ear.wait(0)
        assert await other.ear.wait(5)

        async def came_back() -> bool:
            return one.cache.counts.rung[Rung.RING] == 1

        await eventually(came_back)
        assert not await one.ear.wait(0)


async def test_rings_are_passed_on_at_most_once_a_gap(valkey: ValkeyServer) -> None:
    """A server that changes much does not flood the others."""
    async with kept(valkey.url) as one, kept(valkey.url) as other:
        began = time.monotonic()
        while time.monotonic() - began < 10 * GAP_S:
            one.bell.ring()
            await asyncio.sleep(0)
        assert await other.ear.wait(5)
        took = time.monotonic() - began
        assert 1 <= other.cache.counts.rung[Rung.RING] <= took / GAP_S + 1


async def test_a_flood_from_somebody_else_is_counted_and_wakes_once_a_gap(valkey: ValkeyServer, own: Redis) -> None:
    """Whoever can publish can at most have the database read every gap; noise wakes nobody."""
    async with kept(valkey.url) as one:
        await emptied(one.ear)
        for noise in (b"", b"ring", b"x" * 100_000, b"discreet/2 ring " + b"a" * 32):
            await own.publish(KEYS.bell, noise)

        async def ignored() -> bool:
            return one.cache.counts.rung[Rung.IGNORED] == 4

        await eventually(ignored)
        assert not await one.ear.wait(0)
        began, woken = time.monotonic(), 0
        pipeline = own.pipeline(transaction=False)
        for _ in range(2_000):
            pipeline.publish(KEYS.bell, written(Message(STRANGER)))
        flood = asyncio.create_task(pipeline.execute())
        while not flood.done() or one.cache.counts.rung[Rung.RING] < 2_000:
            woken += await one.ear.wait(GAP_S)
        await flood
        assert 1 <= woken <= (time.monotonic() - began) / GAP_S + 1
        await one.until(CacheState.UP)


async def test_signs_that_were_not_sent_or_came_before_prove_nothing(valkey: ValkeyServer, own: Redis) -> None:
    """REV-01: signs of others, one's own once more, and forged ones: a server that cannot send does not hear itself."""
    await own.acl_setuser("ana", enabled=True, nopass=True, keys=["*"], channels=["*"], commands=["+@all"])
    seen = own.pubsub(ignore_subscribe_messages=True)
    await seen.subscribe(KEYS.bell)
    async with kept(valkey.url.replace("//", "//ana:x@")) as one:
        sign = b""
        while b"sign" not in sign:
            message = await seen.get_message(timeout=5)
            sign = message["data"] if message is not None else b""
        run = sign.split()[2]
        await own.acl_setuser("ana", enabled=True, commands=["-publish"])

        async def silent() -> bool:
            for again in (sign, b"discreet/1 sign %s 999" % run, written(Message(STRANGER, 5))):
                await own.publish(KEYS.bell, again)
            return one.cache.state is CacheState.DOWN

        await eventually(silent)
        assert one.cache.trouble == "denied"
        await own.acl_setuser("ana", enabled=True, commands=["+publish"])
        await one.until(CacheState.UP)
    await seen.aclose()  # type: ignore[no-untyped-call] # the library left its result out


@pytest.mark.parametrize("how", ["kill", "cut", "silence", "pause"])
async def test_a_subscription_that_is_lost_is_told_and_taken_up_again(
    how: str, valkey: ValkeyServer, relay: Relay, own: Redis
) -> None:
    """REV-01: killed by the server, cut, blackholed without a close, or on a server that stands still.

    The silence is told while it lasts, and what was rung meanwhile is made up for by one waking.
    """
    async with kept(relay.url) as one:
        before = one.cache.counts.rung[Rung.SIGN]
        if how == "kill":
            await own.client_kill_filter(_type="pubsub")
        elif how == "cut":
            relay.cut()
        elif how == "silence":
            relay.silence()
        else:
            valkey.pause()
        if how in ("silence", "pause"):
            await one.until(CacheState.DOWN)
            assert one.cache.silent_ms >= QUIET_S * 1_000
            await emptied(one.ear)
            relay.speak()
            valkey.resume()
        await one.until(CacheState.UP)

        async def signed() -> bool:
            return one.cache.counts.rung[Rung.SIGN] > before + 1

        await eventually(signed)
        assert await one.ear.wait(0)
        assert one.cache.silent_ms == 0
        assert sum(one.cache.counts.troubles.values()) >= 1
        await emptied(one.ear)
        await own.publish(KEYS.bell, written(Message(STRANGER)))
        assert await one.ear.wait(5)


async def test_a_subscription_that_is_silent_while_commands_go_through_is_found_out(relay: Relay, own: Redis) -> None:
    """REV-01: commands are answered and the connection stands; only that no sign comes back shows that it is deaf."""
    async with kept(relay.url) as one:
        await own.set("k", "v")
        relay.mute(b"SUBSCRIBE")
        await one.until(CacheState.DOWN)
        assert one.cache.silent_ms >= QUIET_S * 1_000
        assert one.cache.trouble in ("", "slow")
        await one.until(CacheState.UP)
        await emptied(one.ear)
        await own.publish(KEYS.bell, written(Message(STRANGER)))
        assert await one.ear.wait(5)
