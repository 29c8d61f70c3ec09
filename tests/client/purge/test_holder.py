"""Being a holder: items are worked on one by one, answered, and never answered for what did not happen."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from discreet.client.purge import AsyncHolder, Holder, HolderRefused
from discreet.client.purging import HolderKind, Outcome, PurgeItem, PurgeKind
from discreet.policy.token import Token, encode
from tests.client.purge.working import at_work, nothing_there, target
from tests.server.purge.orders import HOUR, MINUTE, RETENTION, WAIT_S, Scene, keys
from tests.server.support import TENANT, PolicyRepo, binding, commit, eventually, segment

KINDS = pytest.mark.parametrize("kind", ["async", "blocking"])


async def state(stage: Scene, order: str, wanted: str) -> None:
    """Returns once every item of the order stands so."""

    async def stands() -> bool:
        return set((await stage.states(order)).values()) == {wanted}

    await eventually(stands)


@KINDS
async def test_an_item_is_purged_and_answered(stage: Scene, kind: str) -> None:
    """F3: the handler is given what it needs to find every copy; its word is the answer."""
    seen: list[PurgeItem] = []

    def purge(item: PurgeItem) -> Outcome:
        seen.append(item)
        return Outcome.PURGED

    async with at_work(kind, stage, purge) as holder:
        order = await stage.revoke()
        await state(stage, order, "PURGED")
        assert (await stage.orders())[0].done
        (item,) = seen
        assert (item.order_id, item.item, item.kind) == (order, 1, PurgeKind.SEGMENT)
        assert (item.session_id, item.answer_id, item.segment_id) == ("session-1", "answer-1", "s1")
        assert item.store_by is not None
        await eventually(lambda: _so(bool(holder.resume_token)))


async def _so(value: bool) -> bool:
    return value


@KINDS
async def test_a_handler_that_raises_says_of_what_kind(stage: Scene, kind: str) -> None:
    """OBS-03, RET-08: FAILED with the type's name; what the error says may be content, and goes nowhere."""
    tries: list[PurgeItem] = []

    def purge(item: PurgeItem) -> Outcome:
        tries.append(item)
        if len(tries) == 1:
            raise PermissionError("the secret text of a row")
        return Outcome.PURGED

    async with at_work(kind, stage, purge):
        order = await stage.revoke()
        await state(stage, order, "FAILED")
        assert (await stage.items(order))[0].failure == "PermissionError"
        stage.later(MINUTE)
        await state(stage, order, "PURGED")
    assert len(tries) == 2


@KINDS
async def test_a_handler_that_says_nothing_of_use_has_failed(stage: Scene, kind: str) -> None:
    """A wrong "purged" is worse than an error: None, True or a text is no outcome."""
    async with at_work(kind, stage, lambda _: True):  # type: ignore[return-value, arg-type] # what a program may do
        order = await stage.revoke()
        await state(stage, order, "FAILED")
        assert (await stage.items(order))[0].failure == "TypeError"


@KINDS
async def test_a_recheck_is_answered_by_the_other_handler(stage: Scene, kind: str) -> None:
    """RET-01: who says PURGED and still has it, says so himself when he looks, and is asked again."""
    PolicyRepo(Path(stage.running.server.config.policy)).commit({"retention.yaml": RETENTION})
    await stage.running.server.policies.poll()
    kept: set[str] = set()
    deletes: list[str] = []

    def purge(item: PurgeItem) -> Outcome:
        deletes.append(item.digest)
        if len(deletes) == 1:
            kept.add(item.digest)
        else:
            kept.discard(item.digest)
        return Outcome.PURGED

    async with at_work(kind, stage, purge, lambda digest: digest in kept):
        order = await stage.revoke()
        await state(stage, order, "UNCONFIRMED")
        stage.later(HOUR)
        await eventually(lambda: _so(len(deletes) == 2))
        await state(stage, order, "UNCONFIRMED")
        stage.later(HOUR)
        await state(stage, order, "PURGED")


@KINDS
async def test_what_is_recalled_is_not_begun(stage: Scene, kind: str) -> None:
    """F3: a hold that comes while the holder is busy takes what waits from its desk."""
    await stage.line("agent").commit(commit(segment("s2"), answer="answer-2"))
    busy, go_on = threading.Event(), threading.Event()
    begun: list[tuple[str, int]] = []
    heard: list[tuple[str, int]] = []

    def purge(item: PurgeItem) -> Outcome:
        begun.append((item.order_id, item.item))
        busy.set()
        go_on.wait(WAIT_S)
        return Outcome.PURGED

    async def run(holder: AsyncHolder) -> None:
        async def aside(item: PurgeItem) -> Outcome:
            return await asyncio.to_thread(purge, item)

        await holder.run(aside, nothing_there, lambda order, item: heard.append((order, item)))

    order = ""
    if kind == "async":
        async with AsyncHolder(target(stage, "threads"), tenant=TENANT) as holder:
            await holder.register(HolderKind.SEGMENT_STORE)
            working = asyncio.create_task(run(holder))
            order = await _held_while_busy(stage, busy, heard, go_on)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
    else:
        async with at_work(kind, stage, purge, recalled=lambda order, item: heard.append((order, item))):
            order = await _held_while_busy(stage, busy, heard, go_on)
    assert (order, 1) in begun
    assert (order, 2) not in begun
    assert (order, 2) in heard


async def _held_while_busy(
    stage: Scene, busy: threading.Event, heard: list[tuple[str, int]], go_on: threading.Event
) -> str:
    """The order that came under a hold while the holder was at its first item."""
    order = await stage.revoke()
    await asyncio.to_thread(busy.wait, WAIT_S)
    beside = stage.watch("threads")
    assert len(keys(await beside.next())) == 2
    await stage.hold()
    assert len((await beside.next()).recalls) == 2
    # What comes after the recall on this stream came after it on the holder's own, too.
    await stage.line("agent").commit(commit(segment("s3", binding("handbook/other")), answer="answer-3"))
    await stage.revoke("handbook/other")
    assert len(keys(await beside.next())) == 1
    go_on.set()
    await eventually(lambda: _so(len(heard) == 2))

    async def answered() -> bool:
        return (await stage.states(order))["threads", 1] == "PURGED"

    await eventually(answered)
    assert (await stage.states(order))["threads", 2] == "HELD"
    return order


@KINDS
async def test_a_holder_goes_on_after_the_line_broke(stage: Scene, kind: str) -> None:
    """F3: streams that the server ends are opened again, with what is open."""
    done: list[str] = []

    def purge(item: PurgeItem) -> Outcome:
        done.append(item.order_id)
        return Outcome.PURGED

    await stage.line("agent").commit(commit(segment("s3", binding("handbook/other")), answer="answer-3"))
    async with at_work(kind, stage, purge):
        first = await stage.revoke()
        await state(stage, first, "PURGED")
        assert stage.running.server.methods is not None
        tide = stage.running.server.methods.purging.tide
        tide.drain()
        tide.drained = False
        later = await stage.revoke("handbook/other")
        await state(stage, later, "PURGED")
    assert done == [first, later]


@KINDS
async def test_a_token_of_another_database_is_let_go(stage: Scene, kind: str) -> None:
    """F3: after a restored backup the holder is asked for everything that is open there."""
    lost = encode(Token("ab" * 16, 7, 0))
    await stage.register("threads")
    order = await stage.revoke()
    async with at_work(kind, stage, lambda _: Outcome.PURGED, resume_token=lost):
        await state(stage, order, "PURGED")


async def test_who_is_no_holder_is_told(stage: Scene) -> None:
    """F3: no endless trying: the server says what is missing."""
    async with AsyncHolder(target(stage, "files"), tenant=TENANT) as holder:
        with pytest.raises(HolderRefused, match="RegisterHolder first"):
            await holder.run(lambda _: Outcome.PURGED, nothing_there)
    async with AsyncHolder(target(stage, "stranger"), tenant=TENANT) as holder:
        with pytest.raises(HolderRefused, match="not entitled"):
            await holder.register(HolderKind.SEGMENT_STORE)
    blocking = Holder(target(stage, "agent"), tenant=TENANT)
    with pytest.raises(HolderRefused, match="is for holder"):
        await asyncio.to_thread(blocking.run, lambda _: Outcome.PURGED, nothing_there)
    blocking.close()
