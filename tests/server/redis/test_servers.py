"""Servers that share a Redis: where they start from, when they hear of changes, and what they load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from redis.asyncio import Redis

from discreet.server import app
from discreet.server.cache.keys import Keys
from discreet.server.policies.bundles import Layer
from discreet.server.ports_cache import CacheState
from discreet.v1 import common_pb2, index_pb2
from tests.postgres_server import PostgresServer
from tests.server.redis.fleet import Fleet, fleet
from tests.server.redis.relay import Relay
from tests.server.scraping import scrape
from tests.server.support import (
    TENANT,
    PolicyRepo,
    check,
    config_of,
    eventually,
    in_process,
    make_repo,
    ref,
    verdicts,
)
from tests.valkey_server import ValkeyServer

CALLS = 1_000
SECRET = "hush-hush"
NEVER_S = 3_600.0


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.fixture
def db(postgres: PostgresServer) -> str:
    """The address of a database of its own."""
    return postgres.fresh_database("template1")


@pytest.fixture
async def three(place: Path, repo: PolicyRepo, db: str, valkey: ValkeyServer) -> AsyncIterator[Fleet]:
    """Three servers that hear themselves; the second and third serve what the first one publishes."""
    async with fleet(place, repo, db, valkey.url, "one", "two", "three") as made:
        await made.until(CacheState.UP)
        yield made


async def test_a_new_server_starts_from_redis(three: Fleet, place: Path, own: Redis) -> None:
    """E6: the bundle comes from there, by the digest that SQL names; the store gives the name alone."""
    number, head = await three.publish(), (await keys_of(three)).head

    async def kept() -> bool:
        return b'"number": %d' % number in (await raw(own, head) or b"")

    await eventually(kept)
    known = three.servers[1].server.config
    config = replace(known, instance="new", socket_dir=place / "new", state_dir=place / "n", metrics=("127.0.0.1", 0))
    async with in_process(config) as new:
        assert await three.ask(new, number) == number
        assert new.server.bundles.found == {Layer.CACHE: 1, Layer.STORE: 0}
        shown = (await scrape(new.server.metrics_address)).series
        assert shown["policy_loads_total", "cache"] == 1
        assert shown["policy_loads_total", "store"] == 0


async def raw(own: Redis, key: str) -> bytes | None:
    """What stands under a key."""
    value = await own.get(key)
    return value if isinstance(value, bytes) else None


async def keys_of(among: Fleet) -> Keys:
    """The names of the servers' database in Redis."""
    return Keys((await among.stores[0].head()).epoch)


async def test_a_publication_is_heard_and_not_only_polled(
    place: Path, repo: PolicyRepo, db: str, valkey: ValkeyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E2: servers that look by themselves once an hour have the revision as soon as the bell rings."""
    monkeypatch.setattr(app, "WATCH_S", NEVER_S)
    async with fleet(place, repo, db, valkey.url, "one", "two", "three") as made:
        await made.until(CacheState.UP)
        for _ in range(3):
            await made.caught_up(await made.publish())


async def test_without_redis_a_publication_is_polled(
    place: Path, repo: PolicyRepo, db: str, valkey: ValkeyServer
) -> None:
    """E6: where Redis is gone from the start, servers start, and take over what is published all the same."""
    valkey.kill()
    async with fleet(place, repo, db, valkey.url, "one", "two") as made:
        await made.caught_up(await made.publish())
        number = await made.publish()
        await made.caught_up(number)
        assert await made.ask(made.servers[1], number) == number
        assert {one.server.bundles.cache.state for one in made.servers} == {CacheState.DOWN}


async def test_a_change_through_one_rings_for_all(three: Fleet) -> None:
    """F1: whoever waits for a change to be acknowledged need not wait for the next look of each server."""
    ears = [one.server.bell.ear() for one in three.servers]
    suspend = index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why")
    await three.servers[0].lines.operator.call(suspend)
    assert await asyncio.gather(*(ear.wait(10) for ear in ears)) == [True] * len(ears)


@pytest.mark.parametrize("redis", ["up", "down", "ringing fails"])
async def test_a_change_through_one_is_obeyed_by_all_however_redis_is(
    redis: str, three: Fleet, valkey: ValkeyServer, own: Redis
) -> None:
    """REV-03: with Redis up, gone, and refusing the ring: every question after the change is answered by it."""
    if redis == "down":
        valkey.kill()
    elif redis == "ringing fails":
        await own.acl_setuser("default", enabled=True, commands=["-publish"])
    asked = [check(moment=common_pb2.MOMENT_RETRIEVE), check()]
    for round_ in range(4):
        maker = three.servers[round_ % 3].lines.operator
        for change, wanted in (
            (index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"), [("WITHHOLD", "SUSPENDED")]),
            (index_pb2.ResumeRequest(tenant=TENANT, record=ref(), reason="why"), [("ALLOW", "NONE")]),
        ):
            await maker.call(change)
            answers = await asyncio.gather(
                *(one.lines.agent.check(question) for one in three.servers for question in asked)
            )
            assert [verdicts(answer) for answer in answers] == [wanted] * len(answers)


async def test_a_thousand_questions_after_a_publication_are_one_load_a_server(three: Fleet) -> None:
    """REV-18: of all who need the new revision one loads it, from the cache or from the store, and all get it."""
    await three.caught_up(await three.publish())
    for store in three.stores:
        store.calls.clear()
    before = [sum(one.server.bundles.found.values()) for one in three.servers]
    number = await three.publish()
    asked = [three.servers[place % 3].lines.agent.check(check(), 60) for place in range(CALLS)]
    answers = await asyncio.gather(*asked)
    assert {answer.policy.number for answer in answers} == {number}
    assert len({verdicts(answer)[0] for answer in answers}) == 1
    for one, store, loads in zip(three.servers, three.stores, before, strict=True):
        assert sum(one.server.bundles.found.values()) - loads == (one is not three.servers[0])
        assert store.calls.count("policy_row") <= 1


async def test_two_databases_on_one_redis_never_meet(
    place: Path, postgres: PostgresServer, valkey: ValkeyServer, own: Redis
) -> None:
    """E2: with the same policy and with others, each serves its own, and neither hears the other's bell."""
    async with (
        fleet(place, make_repo(place / "p1"), postgres.fresh_database("template1"), valkey.url, "a", "b") as one,
        fleet(place, make_repo(place / "p2"), postgres.fresh_database("template1"), valkey.url, "c", "d") as other,
    ):
        await one.until(CacheState.UP)
        await other.until(CacheState.UP)
        for _ in range(3):
            number = await one.publish()
            await one.caught_up(number)
            for running in one.servers:
                await one.ask(running, number)
        for running in other.servers:
            assert await other.ask(running, 1) == 1
        keys = [await keys_of(among) for among in (one, other)]
        assert await own.pubsub_numsub(*(name.bell for name in keys)) == [(name.bell.encode(), 2) for name in keys]

        async def both() -> bool:
            return {await own.exists(name.head) for name in keys} == {1}

        await eventually(both)
        assert len({name.head for name in keys}) == 2


async def test_status_and_metrics_tell_how_it_stands(place: Path, repo: PolicyRepo, relay: Relay) -> None:
    """REV-01: up, then silent with the time of silence, then up again; the gauge and the status agree."""
    config = config_of(place, repo.path, redis=relay.url, metrics=("127.0.0.1", 0))
    async with in_process(config) as running:

        async def told(cache: str) -> bool:
            return (await running.lines.operator.status()).cache == cache

        await eventually(lambda: told("up"))
        series = (await scrape(running.server.metrics_address)).series
        assert (series["cache_up",], series["cache_silent_seconds",]) == (1, 0)
        relay.silence()
        await eventually(lambda: told("down"))
        status = await running.lines.operator.status()
        assert status.cache_silent_ms >= 1_000
        assert [one for one in status.problems if one.startswith("cache: ")]
        assert status.ready
        series = (await scrape(running.server.metrics_address)).series
        assert series["cache_up",] == 0
        assert series["cache_silent_seconds",] >= 1
        relay.speak()
        await eventually(lambda: told("up"))
        assert (await running.lines.operator.status()).cache_silent_ms == 0


async def test_without_a_cache_it_is_off(place: Path, repo: PolicyRepo) -> None:
    """E6: where none is configured nothing is down, and nothing a problem."""
    async with in_process(config_of(place, repo.path)) as running:
        status = await running.lines.operator.status()
        assert (status.cache, status.cache_silent_ms) == ("off", 0)
        assert [one for one in status.problems if "cache" in one] == []


@pytest.mark.parametrize("right", [True, False])
async def test_a_password_is_in_nothing_that_a_server_says(right: bool, place: Path, repo: PolicyRepo) -> None:
    """OBS-03: neither log nor status, metrics or READY line repeat it, whether it is right or wrong."""
    server = ValkeyServer(requirepass=SECRET)
    url = server.url.replace("//", f"//:{SECRET}@" if right else f"//:{SECRET}-not@")
    try:
        async with in_process(config_of(place, repo.path, redis=url, metrics=("127.0.0.1", 0))) as running:

            async def told() -> bool:
                status = await running.lines.operator.status()
                return status.cache == "up" if right else "cache: denied" in str(status.problems)

            await eventually(told)
            said = [str(await running.lines.operator.status()), running.server.ready_line(), running.log.getvalue()]
            said.append((await scrape(running.server.metrics_address)).text)
        assert SECRET not in "\n".join(said)
    finally:
        server.stop()
