"""Registrations, holds and dry runs against a revoke, with the order forced: whoever is first in the queue wins."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from operator import le
from pathlib import Path
from typing import Any

import pytest

from discreet.server.ports import Store
from discreet.server.stores.sqlite import SqliteStore
from discreet.v1 import index_pb2
from tests.contract.databases import Database
from tests.contract.holding import POLLS_MAX, row_held
from tests.server.authority.acts import TICKETED, hold, revoke, tombstones
from tests.server.support import PolicyRepo, Running, config_of, document, in_process, ref

CREATED = index_pb2.PutOutcome.KIND_CREATED
REFUSED = index_pb2.PutOutcome.KIND_REFUSED


@pytest.fixture
async def second(either: Running, place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """Another server on the same PostgreSQL, since the changes of one wait in a line of its own; on SQLite the same."""
    if either.server.store.kind == "sqlite":
        yield either
        return
    config = config_of(place, repo.path, db=either.server.config.db, instance="two", socket_dir=place / "s2")
    async with in_process(config) as server:
        yield server


async def in_order(server: Running, *calls: Coroutine[Any, Any, Any]) -> list[Any]:
    """The answers of calls that stand in the row's queue in the order given; an error is an answer, too."""
    store = server.server.store
    tasks: list[asyncio.Task[Any]] = []
    async with row_held(Database(store.kind, server.server.config.db), store) as holder:
        await _queued(store, lambda length: length == 0)
        for number, call in enumerate(calls, 1):
            tasks.append(asyncio.create_task(call))
            if isinstance(store, SqliteStore):
                await _queued(store, partial(le, number))
            else:
                await holder.waiting(number)
    return await asyncio.gather(*tasks, return_exceptions=True)


async def _queued(store: Store, enough: Callable[[int], bool]) -> None:
    """Returns when SQLite's one writer has so many waiting."""
    if not isinstance(store, SqliteStore):
        return
    for _ in range(POLLS_MAX):
        if store._writer is not None and enough(store._writer.ordered):
            return
        await asyncio.sleep(0.005)
    raise AssertionError("the writer's queue is not as it should be")


@pytest.mark.parametrize("extent", [{"source_label": "handbook"}, {"all_versions_of": "handbook/leave"}])
async def test_a_registration_before_a_revoke_is_covered_and_one_after_it_is_refused(
    either: Running, second: Running, extent: dict[str, Any]
) -> None:
    """B6, B7: no version slips in between: it is either revoked with the others, or refused by the tombstone."""
    lines = either.lines
    await lines.collector.put(document())
    put, done = await in_order(
        either, lines.collector.put(document(version="2")), revoke(second.lines.operator, **extent)
    )
    assert (put.outcomes[0].kind, done.affected_versions) == (CREATED, 2)
    assert (await lines.operator.get("handbook/leave", "2")).record.HasField("retention_revoke")


@pytest.mark.parametrize("extent", [{"source_label": "handbook"}, {"all_versions_of": "handbook/leave"}])
async def test_a_registration_that_waits_behind_a_revoke_is_refused(
    either: Running, second: Running, extent: dict[str, Any]
) -> None:
    """B6, B7: the registration was sent before the revoke was answered, and came second in the order."""
    lines = either.lines
    await lines.collector.put(document())
    done, put = await in_order(
        either, revoke(lines.operator, **extent), second.lines.collector.put(document(version="2"))
    )
    assert (done.affected_versions, put.outcomes[0].kind) == (1, REFUSED)
    stones = {stone.tombstone_id for stone in await tombstones(lines.operator)}
    assert any(stone in put.outcomes[0].message for stone in stones)


async def test_a_digest_is_compared_where_the_revoke_is_made(either: Running, second: Running) -> None:
    """RET-09: what landed between the dry run and the run, even while the run waited, stops it."""
    lines = either.lines
    await lines.collector.put(document())
    dry = await revoke(lines.operator, source_label="handbook", dry_run=True)
    run = revoke(second.lines.operator, source_label="handbook", dry_run_digest=dry.dry_run_digest)
    put, refused = await in_order(either, lines.collector.put(document("handbook/new")), run)
    assert (put.outcomes[0].kind, refused.code().name) == (CREATED, "FAILED_PRECONDITION")
    assert await tombstones(lines.operator) == []


async def test_of_two_revokes_the_second_leaves_what_the_first_took(either: Running, second: Running) -> None:
    """B6: both are answered; each version is under exactly one order, that of the revoke that came first."""
    lines = either.lines
    await lines.collector.put(document(), document("handbook/other"))
    first, later = await in_order(
        either,
        revoke(lines.operator, record=ref()),
        revoke(second.lines.operator, source_label="handbook", ticket="T-2"),
    )
    assert (later.affected_versions, later.already_revoked) == (1, 1)
    orders = [(await lines.operator.get(name)).record.retention_revoke for name in ("handbook/leave", "handbook/other")]
    assert [one.purge_order_id for one in orders] == [first.purge_order_id, later.purge_order_id]


async def test_a_hold_behind_a_revoke_says_what_it_recalls_and_before_it_nothing(
    either: Running, second: Running
) -> None:
    """F3: with nobody to hold copies there is nothing to recall; the hold stands all the same, in either order."""
    lines = either.lines
    await lines.collector.put(document())
    placed, done = await in_order(
        either, hold(lines.operator, record=ref()), revoke(second.lines.operator, record=ref())
    )
    assert (placed.recalled_items, bool(done.purge_order_id)) == (0, True)
    record = (await lines.operator.get("handbook/leave")).record
    assert (list(record.hold_ids), record.HasField("retention_revoke")) == ([placed.hold_id], True)
    again = index_pb2.SuspendRequest(tenant="acme", record=ref(), reason="why")
    assert (await lines.operator.refused(again)).code().name == "FAILED_PRECONDITION"
    assert TICKETED["ticket"] == record.retention_revoke.ticket
