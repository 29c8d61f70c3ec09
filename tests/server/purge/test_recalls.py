"""A recall reaches its holder on every line, whatever was lost before: what a legal hold covers must not be deleted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from discreet.server.stores.sqlite import SqliteStore
from discreet.v1 import purge_pb2 as pb
from tests.postgres_server import PostgresServer
from tests.server.purge.hooking import Hook, hooked
from tests.server.purge.orders import (
    DOCUMENTS,
    IDENTITIES,
    WAIT_S,
    MovedClock,
    Outcome,
    Scene,
    keys,
    registered,
)
from tests.server.purge.test_delivering import large
from tests.server.support import TENANT, PolicyRepo, commit, config_of, document, eventually, in_process

MANY = 1_201
"""More than two messages of recalls."""


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A real server."""
    server = PostgresServer()
    yield server
    server.stop()


def recalls(message: pb.WatchPurgeOrdersResponse) -> list[tuple[str, int]]:
    """Order and item of what must be kept."""
    return [(one.order_id, one.item) for one in message.recalls]


def posted(hook: Hook) -> list[tuple[str, int]]:
    """Order and item of every recall that was posted."""
    return [(one["order_id"], one["item"]) for _, body in hook.posts for one in json.loads(body).get("recalls", [])]


async def hook_holder(stage: Scene, hook: Hook) -> None:
    """A document store that is posted to."""
    asked = pb.RegisterHolderRequest(tenant=TENANT, holder="hook", kind=DOCUMENTS, webhook_url=hook.address)
    await registered(stage.line("operator"), asked)


async def until(hook: Hook, count: int) -> None:
    """Waits for so many posts."""

    async def made() -> bool:
        return len(hook.posts) >= count

    await eventually(made, WAIT_S)


@pytest.mark.parametrize("with_token", [True, False])
async def test_a_stream_that_is_opened_again_hears_what_came_under_a_hold(stage: Scene, with_token: bool) -> None:
    """F3: the item went out, the stream broke, the hold came: the next stream says so, once, token or not."""
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    first = stage.watch("vectors")
    message = await first.next()
    assert keys(message) == [(order, 2)]
    first.close()
    hold_id = (await stage.hold()).hold_id
    again = stage.watch("vectors", message.resume_token if with_token else "")
    assert recalls(await again.next()) == [(order, 2)]
    other = await stage.revoke("handbook/other")
    told = await again.next()
    assert (keys(told), recalls(told)) == ([(other, 1)], [])
    await stage.lift(hold_id)
    assert keys(await again.next()) == [(order, 2)]
    await stage.hold()
    assert recalls(await again.next()) == [(order, 2)]


async def test_an_answer_that_failed_does_not_hide_the_recall(stage: Scene) -> None:
    """F3: who answered FAILED may try again by itself, so it hears of the hold, too."""
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    watch = stage.watch("vectors")
    assert keys(await watch.next()) == [(order, 2)]
    await stage.ack("vectors", order, 2, Outcome.PURGE_OUTCOME_FAILED, "locked")
    await stage.hold()
    assert recalls(await watch.next()) == [(order, 2)]


async def test_many_recalls_come_in_bounded_messages_and_each_once(stage: Scene) -> None:
    """F3: a hold on a source with more than one message holds; none is left out, none said twice on one line."""
    await stage.register("vectors", DOCUMENTS)
    await large(stage, "order", MANY)
    asked = pb.PlaceHoldRequest(tenant=TENANT, reason="asked to", ticket="T-2", source_label="handbook")
    await stage.line("operator").call(asked)
    watch = stage.watch("vectors")
    heard: list[tuple[str, int]] = []
    while len(heard) < MANY:
        message = await watch.next()
        assert 0 < len(message.recalls) <= 500
        assert not message.items
        heard += recalls(message)
    assert heard == [("order", number) for number in range(1, MANY + 1)]


async def test_a_recall_whose_post_failed_is_posted_again(stage: Scene) -> None:
    """RET-01, F3: the webhook answers 500 to the one post that carries the recall; it comes again, as a recall."""
    with hooked(lambda _: (202, b"")) as hook:
        await hook_holder(stage, hook)
        order = await stage.revoke()
        await until(hook, 1)
        hook.answer = lambda _: (500, b"")
        await stage.hold()
        await until(hook, 2)
        assert posted(hook) == [(order, 2)]

        async def noted() -> bool:
            postings = await stage.running.server.store.look(lambda look: look.purges.postings())
            return [one.failures for one in postings] == [1]

        # The pause counts from when the failure is written down.
        await eventually(noted, WAIT_S)
        hook.answer = lambda _: (202, b"")
        stage.later(6)
        await until(hook, 3)
        assert posted(hook) == [(order, 2)] * 2
        other = await stage.revoke("handbook/other")
        await until(hook, 4)
        assert hook.items() == [(order, 2), (other, 1)]
        assert posted(hook) == [(order, 2)] * 2


async def test_another_address_is_told_everything_anew(stage: Scene) -> None:
    """F3: what the old address was told, the new one has never heard."""
    with hooked(lambda _: (202, b"")) as old, hooked(lambda _: (202, b"")) as new:
        await hook_holder(stage, old)
        order = await stage.revoke()
        other = await stage.revoke("handbook/other")
        await until(old, 1)
        await stage.hold()

        async def told() -> bool:
            return posted(old) == [(order, 2)]

        await eventually(told, WAIT_S)
        await hook_holder(stage, new)
        await until(new, 1)
        assert (posted(new), new.items()) == ([(order, 2)], [(other, 1)])


async def test_a_server_that_was_started_again_recalls(place: Path, repo: PolicyRepo) -> None:
    """F3: a stream and a webhook of a server that is gone were sent an item; the next server recalls it from both."""
    clock = MovedClock()
    config = config_of(place, repo.path, identities=IDENTITIES, store_timeout_s=WAIT_S)
    with hooked(lambda _: (202, b"")) as hook:
        async with in_process(config, store=SqliteStore(place / "discreet.db", clock), clock=clock) as running:
            stage = Scene(running, clock)
            await running.lines.collector.put(document())
            await running.lines.agent.commit(commit())
            await stage.register("vectors", DOCUMENTS)
            await hook_holder(stage, hook)
            order = await stage.revoke()
            assert keys(await stage.watch("vectors").next()) == [(order, 2)]
            await until(hook, 1)
            await stage.hold()
        before = len(hook.posts)
        clock.move(61)
        async with in_process(config, store=SqliteStore(place / "discreet.db", clock), clock=clock) as running:
            stage = Scene(running, clock)
            assert recalls(await stage.watch("vectors").next()) == [(order, 2)]
            await until(hook, before + 1)
            assert posted(hook)[-1] == (order, 2)


async def test_a_server_that_takes_a_webhook_over_recalls(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F3: the server that posted the item dies under the hold; the one that takes the claim over posts the recall."""
    url = postgres.fresh_database("template1")
    first = config_of(place, repo.path, db=url, instance="one", identities=IDENTITIES, store_timeout_s=WAIT_S)
    second = config_of(
        place, repo.path, db=url, instance="two", socket_dir=place / "s2", identities=IDENTITIES, store_timeout_s=WAIT_S
    )
    with hooked(lambda _: (202, b"")) as hook:
        async with in_process(first) as running:
            one = Scene(running, MovedClock())
            await running.lines.collector.put(document())
            await running.lines.agent.commit(commit())
            await hook_holder(one, hook)
            order = await one.revoke()
            await until(hook, 1)
            hook.answer = lambda _: (500, b"")
        async with in_process(second) as running:
            two = Scene(running, MovedClock())
            await two.hold()
            hook.answer = lambda _: (202, b"")
            with psycopg.connect(url) as raw:
                raw.execute("UPDATE holder_post SET claimed_until = 0")
            await until(hook, 2)
            assert posted(hook) == [(order, 2)]
