"""A line to a holder that is quiet, and one whose store does not answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import grpc

from discreet.policy.facts import Caller
from discreet.policy.words import Role
from discreet.server.calls import Call
from discreet.server.clock import SystemClock
from discreet.server.ports import StoreError
from discreet.server.reading.heads import SharedHeads
from discreet.server.servicers.purge.tide import Tide
from discreet.server.servicers.purge.watching import Watching
from discreet.server.stores import open_store
from discreet.v1 import purge_pb2 as pb
from tests.server.faults import FaultyStore
from tests.server.purge.orders import IDENTITIES, WAIT_S, WATCH, MovedClock, Scene, keys
from tests.server.support import TENANT, PolicyRepo, commit, config_of, document, in_process


async def test_a_quiet_line_says_that_it_is_alive(stage: Scene) -> None:
    """F3: a holder can tell a server with nothing to say from one that is gone."""
    await stage.register("threads")
    store = stage.running.server.store
    watching = Watching(store, SharedHeads(store, await store.head(), SystemClock()), Tide(), WAIT_S, heartbeat_s=0.05)

    async def frames() -> AsyncIterator[bytes]:
        yield pb.WatchPurgeOrdersRequest(tenant=TENANT).SerializeToString()

    stream = watching.watch(Call(Caller("threads", Role.HOLDER, None), WATCH, "request"), frames())
    for _ in range(3):
        message = pb.WatchPurgeOrdersResponse.FromString(await anext(stream))
        assert [*message.items, *message.recalls, *message.rechecks] == []
        assert message.resume_token
    await stream.aclose()  # type: ignore[attr-defined] # a generator, which the port does not promise


async def test_a_store_that_fails_ends_the_streams_and_not_the_server(place: Path, repo: PolicyRepo) -> None:
    """F3: the holder comes again; what looks after orders and webhooks goes on by itself once the store is back."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(
        config_of(place, repo.path, identities=IDENTITIES, store_timeout_s=WAIT_S), store=store
    ) as running:
        stage = Scene(running, MovedClock())
        await running.lines.collector.put(document())
        await running.lines.agent.commit(commit())
        await stage.register("threads")
        watch = stage.watch("threads")
        await watch.next()
        store.broken["look"] = StoreError("gone")
        stage.later(0)
        assert await watch.ended() == grpc.StatusCode.UNAVAILABLE
        assert await stage.watch("threads").ended() == grpc.StatusCode.UNAVAILABLE
        del store.broken["look"]
        order = await stage.revoke()
        assert keys(await stage.watch("threads").next()) == [(order, 1)]
        assert not running.server.failed.is_set()
