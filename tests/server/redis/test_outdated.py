"""What Redis holds is never enough: neither to begin with, nor to go on with what nobody has looked after."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.asyncio import Redis

from discreet.server.cache.envelope import sealed
from discreet.server.cache.keys import Keys
from discreet.server.ports_cache import CacheState
from discreet.v1 import common_pb2
from tests.postgres_server import PostgresServer
from tests.server.fleet.clocks import AheadClock
from tests.server.redis.fleet import Fleet
from tests.server.support import POLICY, TENANT, check, config_of, document, eventually, in_process, make_repo, verdicts
from tests.valkey_server import ValkeyServer

DAY_S = 86_400.0


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


@pytest.mark.parametrize("redis", ["up", "gone"])
async def test_a_day_without_git_and_redis_withholds_what_must_not_be_older(
    redis: str, place: Path, valkey: ValkeyServer
) -> None:
    """REV-14: past policy-max-age everything is POLICY_STALE and not ready, whether Redis is there or not.

    What it holds is no younger for being there. Once the ref is read again, unchanged, it clears by itself.
    """
    policy = place / "policy"
    make_repo(policy, {**POLICY, "discreet.yaml": POLICY["discreet.yaml"] + "policy-max-age: 1h\n"})
    clock = AheadClock()
    async with in_process(config_of(place, policy, redis=valkey.url), clock=clock) as running:
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        shutil.move(policy, place / "away")
        if redis == "gone":
            valkey.kill()

        async def unread() -> bool:
            return running.server.policies.following.unreachable != ""

        await eventually(unread)
        clock.skip(DAY_S)

        async def stale() -> bool:
            answer = await running.lines.agent.check(check())
            return verdicts(answer) == [("WITHHOLD", "POLICY_STALE")]

        await eventually(stale)
        status = await running.lines.operator.status()
        assert not status.ready
        assert status.policy_lag_ms >= DAY_S * 1_000
        assert status.cache == ("up" if redis == "up" else "down")
        shutil.move(place / "away", policy)

        async def clear() -> bool:
            return verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]

        await eventually(clear)
        assert (await running.lines.operator.status()).ready


async def test_what_redis_holds_is_nothing_before_sql_names_it(
    place: Path, postgres: PostgresServer, valkey: ValkeyServer, own: Redis
) -> None:
    """REV-16: a full Redis and an empty database: NOT_SERVING, nothing allowed; it flips with the first publication."""
    db = postgres.fresh_database("template1")
    config = config_of(place, "published", db=db, redis=valkey.url, instance="waits", socket_dir=place / "w")
    async with in_process(config) as waits:
        epoch = (await waits.server.store.head()).epoch
        forged = b"a bundle that nobody published"
        digest = hashlib.sha256(forged).hexdigest()
        await own.set(Keys(epoch).bundle(digest), sealed(digest, forged) or b"")
        await own.set(Keys(epoch).head, b'{"number":9,"commit":"","digest":"%s"}' % digest.encode())

        async def heard() -> bool:
            return waits.server.bundles.cache.state is CacheState.UP

        await eventually(heard)
        for moment in (common_pb2.MOMENT_RETRIEVE, common_pb2.MOMENT_PUBLISH):
            answer = await waits.lines.agent.check(check(moment=moment))
            assert verdicts(answer) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
        assert not (await waits.lines.operator.status()).ready
        repo = make_repo(place / "policy")
        follower = config_of(place, repo.path, db=db, redis=valkey.url, socket_dir=place / "f", state_dir=place / "fs")
        async with in_process(follower) as first:
            await first.lines.collector.put(document(), tenant=TENANT)
            among = Fleet([first, waits], [], repo)
            await among.caught_up(1)
            assert await among.ask(waits, 1) == 1
