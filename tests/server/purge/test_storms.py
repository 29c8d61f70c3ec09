"""Many streams, and much that moves the index and is no concern of theirs: they make no work for the store."""

from __future__ import annotations

import asyncio
from pathlib import Path

from discreet.server.servicers.purge.tide import Tide
from discreet.server.stores import open_store
from tests.server.faults import FaultyStore
from tests.server.purge.orders import DOCUMENTS, IDENTITIES, WAIT_S, Outcome, Scene, Watch, keys
from tests.server.purge.orders import MovedClock as Still
from tests.server.support import PolicyRepo, commit, config_of, document, in_process, segment

STREAMS = 60
COMMITS = 40


async def test_commits_make_no_stream_look_and_a_revoke_makes_them_look_together(place: Path, repo: PolicyRepo) -> None:
    """F3: statements are counted: what 60 streams of a holder look at after many commits and a revoke is shared."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(
        config_of(place, repo.path, identities=IDENTITIES, store_timeout_s=WAIT_S), store=store
    ) as running:
        assert running.server.methods is not None
        running.server.methods.purging.watching.heartbeat_s = 3_600
        stage = Scene(running, Still())
        await running.lines.collector.put(document())
        await stage.register("threads")
        await stage.register("vectors", DOCUMENTS)
        watches = [stage.watch("threads") for _ in range(STREAMS)]
        for watch in watches:
            await watch.next()
        store.calls.clear()
        for number in range(COMMITS):
            await running.lines.agent.commit(commit(segment(f"s{number}"), answer=f"answer-{number}"))
        order = await stage.revoke()
        got = await asyncio.gather(*(whole(watch, COMMITS) for watch in watches))
        assert got == [[(order, number) for number in range(1, COMMITS + 1)]] * STREAMS
        assert store.calls.count("look") < STREAMS


async def whole(watch: Watch, count: int) -> list[tuple[str, int]]:
    """So many items of a stream."""
    found: list[tuple[str, int]] = []
    while len(found) < count:
        found += keys(await watch.next())
    return found


async def test_the_answers_of_one_holder_wake_no_other(place: Path, repo: PolicyRepo) -> None:
    """F3: a holder that answers item by item makes no look of the others' streams."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    async with in_process(
        config_of(place, repo.path, identities=IDENTITIES, store_timeout_s=WAIT_S), store=store
    ) as running:
        assert running.server.methods is not None
        running.server.methods.purging.watching.heartbeat_s = 3_600
        stage = Scene(running, Still())
        await running.lines.collector.put(document())
        await running.lines.agent.commit(commit(*(segment(f"s{number}") for number in range(COMMITS))))
        await stage.register("threads")
        await stage.register("vectors", DOCUMENTS)
        watches = [stage.watch("vectors") for _ in range(STREAMS)]
        for watch in watches:
            await watch.next()
        order = await stage.revoke()
        for watch in watches:
            await whole(watch, 1)
        store.calls.clear()
        for item in range(1, COMMITS + 1):
            assert await stage.ack("threads", order, item, Outcome.PURGE_OUTCOME_PURGED) == ("PURGED", "")
        assert store.calls.count("look") < STREAMS


async def test_who_waits_for_one_holder_is_woken_by_what_concerns_it() -> None:
    """F3: news of all and its own end the wait, also where they came before it; those of another do not."""
    tide, mine, other = Tide(), ("acme", "mine"), ("acme", "other")
    seen, everything = tide.number_of(mine), tide.number
    waiting = asyncio.create_task(tide.after(seen, 3_600, mine))
    watching = asyncio.create_task(tide.after(everything, 3_600))
    await asyncio.sleep(0)
    tide.news(other)
    await watching
    assert (tide.number_of(mine), waiting.done()) == (seen, False)
    tide.news(mine)
    await waiting
    await tide.after(seen, 3_600, mine)
    seen = tide.number_of(mine)
    tide.news()
    await tide.after(seen, 3_600, mine)
    tide.drain()
    await tide.after(tide.number_of(mine), 3_600, mine)
