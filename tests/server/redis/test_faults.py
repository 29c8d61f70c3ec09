"""Whatever becomes of Redis while servers publish, answer and start: nothing wrong is said, and nothing older."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from redis.asyncio import Redis

from discreet.server.cache.envelope import HEAD_BYTES, sealed
from discreet.server.cache.keys import Keys
from discreet.server.policies.bundles import Layer
from discreet.server.ports_cache import CacheState, Trouble
from discreet.v1 import disclosure_pb2
from tests.postgres_server import PostgresServer
from tests.server.redis.fleet import Fleet, asking, fleet
from tests.server.redis.relay import Relay
from tests.server.support import PolicyRepo, commit, eventually, in_process
from tests.valkey_server import ValkeyServer


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@dataclass
class Scene:
    """Two servers that are asked all the time, and Redis behind a relay."""

    fleet: Fleet
    valkey: ValkeyServer
    relay: Relay
    own: Redis
    keys: Keys

    async def bundles(self) -> list[bytes]:
        """The keys of the bundles that Redis holds."""
        return sorted(key for key in await self.own.keys("*:bundle:*") if isinstance(key, bytes))

    async def a_bundle(self) -> bytes:
        """One of the bundles that Redis holds: valid, and of one revision alone."""
        value = await self.own.get((await self.bundles())[0])
        assert isinstance(value, bytes)
        return value[HEAD_BYTES:]

    async def put_under_all(self, bundle: bytes) -> None:
        """Puts a bundle under every digest that Redis knows, each time in an envelope that is right."""
        for key in await self.bundles():
            await self.own.set(key, sealed(key.rpartition(b":")[2].decode(), bundle) or b"")


@pytest.fixture
async def scene(
    place: Path, repo: PolicyRepo, postgres: PostgresServer, valkey: ValkeyServer, relay: Relay, own: Redis
) -> AsyncIterator[Scene]:
    """Where all is well: both servers hear themselves, and a revision was published."""
    async with fleet(place, repo, postgres.fresh_database("template1"), relay.url, "one", "two") as made:
        await made.until(CacheState.UP)
        head = await made.stores[0].head()
        async with asking(made):
            await made.caught_up(await made.publish())
            yield Scene(made, valkey, relay, own, Keys(head.epoch))
        assert made.answers > 0


Fault = Callable[[Scene], Awaitable[None]]


async def _flushed(scene: Scene) -> None:
    await scene.own.flushall()


async def _killed(scene: Scene) -> None:
    scene.valkey.kill()
    await scene.fleet.until(CacheState.DOWN)


async def _started(scene: Scene) -> None:
    scene.valkey.start()


async def _saved(scene: Scene) -> None:
    await scene.own.save()
    shutil.copy(scene.valkey.dump, scene.valkey.dump.with_suffix(".old"))


async def _older_dump_restored(scene: Scene) -> None:
    scene.valkey.kill()
    shutil.copy(scene.valkey.dump.with_suffix(".old"), scene.valkey.dump)
    scene.valkey.start()


async def _evicting(scene: Scene) -> None:
    await scene.own.config_set("maxmemory-policy", "allkeys-lru")
    await scene.own.config_set("maxmemory", "1")


async def _full(scene: Scene) -> None:
    await scene.own.config_set("maxmemory", "1")


async def _roomy(scene: Scene) -> None:
    await scene.own.config_set("maxmemory", "0")


async def _silent(scene: Scene) -> None:
    scene.relay.silence()
    await scene.fleet.until(CacheState.DOWN)


async def _unreachable(scene: Scene) -> None:
    scene.relay.silence()
    scene.relay.cut()
    await scene.fleet.until(CacheState.DOWN)


async def _heard_again(scene: Scene) -> None:
    scene.relay.speak()


async def _deaf(scene: Scene) -> None:
    scene.relay.mute(b"SUBSCRIBE")

    async def found_out() -> bool:
        counts = [one.server.bundles.cache.counts for one in scene.fleet.servers]
        return all(one.troubles[Trouble.SLOW] for one in counts)

    await eventually(found_out)  # each in its time: it subscribes again at once


async def _subscribers_killed(scene: Scene) -> None:
    await scene.own.client_kill_filter(_type="pubsub")


async def _slow(scene: Scene) -> None:
    scene.relay.delay_s = 0.3


async def _quick(scene: Scene) -> None:
    scene.relay.delay_s = 0


async def _paused(scene: Scene) -> None:
    scene.valkey.pause()


async def _resumed(scene: Scene) -> None:
    scene.valkey.resume()


async def _password_wanted(scene: Scene) -> None:
    await scene.own.config_set("requirepass", "new")
    scene.relay.cut()
    await scene.fleet.until(CacheState.DOWN)


async def _password_dropped(scene: Scene) -> None:
    await scene.own.config_set("requirepass", "")


async def _one_bundle_under_every_digest(scene: Scene) -> None:
    await scene.put_under_all(await scene.a_bundle())
    await scene.own.set(scene.keys.head, b'{"number":1,"commit":"","digest":""}')


async def _lists(scene: Scene) -> None:
    for key in await scene.bundles():
        await scene.own.delete(key)
        await scene.own.rpush(key, b"a list")


async def _noise(scene: Scene) -> None:
    for message in (b"", b"discreet/1 ring " + b"0" * 32, b"discreet/1 sign " + b"0" * 32 + b" 9", b"x" * 50_000):
        await scene.own.publish(scene.keys.bell, message)


async def _nothing(_scene: Scene) -> None:
    """For faults that are over by themselves."""


@pytest.mark.parametrize(
    "before, fault, after",
    [
        pytest.param(_nothing, _flushed, _nothing, id="flushed"),
        pytest.param(_nothing, _killed, _started, id="killed and started"),
        pytest.param(_saved, _older_dump_restored, _nothing, id="restored from an older dump"),
        pytest.param(_nothing, _evicting, _roomy, id="evicting"),
        pytest.param(_nothing, _full, _roomy, id="full"),
        pytest.param(_nothing, _silent, _heard_again, id="silent on open lines"),
        pytest.param(_nothing, _unreachable, _heard_again, id="new lines silent"),
        pytest.param(_nothing, _deaf, _nothing, id="subscriptions silent, commands answered"),
        pytest.param(_nothing, _subscribers_killed, _nothing, id="subscribers killed"),
        pytest.param(_nothing, _slow, _quick, id="slow"),
        pytest.param(_nothing, _paused, _resumed, id="standing still"),
        pytest.param(_nothing, _password_wanted, _password_dropped, id="wants a password"),
        pytest.param(_nothing, _one_bundle_under_every_digest, _nothing, id="one bundle under every digest"),
        pytest.param(_nothing, _lists, _nothing, id="lists in place of bundles"),
        pytest.param(_nothing, _noise, _nothing, id="noise on the bell"),
    ],
)
async def test_no_fault_of_redis_makes_an_answer_wrong_or_older(
    scene: Scene, before: Fault, fault: Fault, after: Fault
) -> None:
    """E2, E6, REV-01: every answer is that of the revision it names, and none is older than one before it.

    What is published while the fault lasts comes into force on every server, commits go through, and once it is over
    each server hears itself again.
    """
    among = scene.fleet
    await before(scene)
    await among.caught_up(await among.publish())
    await fault(scene)
    await among.caught_up(await among.publish())
    for one in among.servers:
        least = one.server.policies.snapshot.number if one.server.policies.snapshot is not None else 0
        await among.ask(one, least)
        answer = await one.lines.agent.commit(commit(answer_id=f"answer-{one.server.instance}"))
        assert isinstance(answer, disclosure_pb2.CommitResponse)
    await after(scene)
    await among.until(CacheState.UP)
    number = await among.publish()
    await among.caught_up(number)
    for one in among.servers:
        assert await among.ask(one, number) >= number


async def test_a_liar_that_never_rests_is_counted_and_changes_nothing(scene: Scene) -> None:
    """E2: while every bundle is replaced by another valid one under its digest as soon as it is there."""
    over, bundle = asyncio.Event(), await scene.a_bundle()

    async def lie() -> None:
        while not over.is_set():
            await scene.put_under_all(bundle)
            await asyncio.sleep(0)

    liar = asyncio.create_task(lie())
    for _ in range(4):
        await scene.fleet.caught_up(await scene.fleet.publish())
    over.set()
    await liar
    assert scene.fleet.servers[1].server.bundles.found[Layer.STORE] >= 1


async def _other_than(scene: Scene, number: int) -> bytes:
    """The bundle of the revision before that one: the other way round in what it allows."""
    row = await scene.fleet.stores[0].policy_row(number - 1)
    assert row is not None
    return row.bundle


@pytest.mark.parametrize("lie", ["another valid bundle", "nothing", "a server that is gone"])
async def test_a_new_server_starts_on_sql_where_redis_lies_or_is_gone(scene: Scene, place: Path, lie: str) -> None:
    """E6: what it starts under is what SQL names, whatever Redis holds; the lie is counted and mended."""
    number = await scene.fleet.publish()
    await scene.fleet.caught_up(number)
    if lie == "another valid bundle":
        await scene.put_under_all(await _other_than(scene, number))
    else:
        await scene.own.delete(*await scene.bundles())
    if lie == "a server that is gone":
        scene.valkey.kill()
    config = replace(
        scene.fleet.servers[1].server.config, instance="new", socket_dir=place / "new", state_dir=place / "new-s"
    )
    async with in_process(config) as new:
        assert await scene.fleet.ask(new, number) == number
        assert new.server.bundles.found == {Layer.CACHE: 0, Layer.STORE: 1}
        assert new.server.bundles.cache.counts.lies == (lie == "another valid bundle")
