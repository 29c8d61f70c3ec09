"""Holders and purge orders on either database: parts, holds, claims and notices, below any servicer."""

from __future__ import annotations

import asyncio
import threading

import pytest

from discreet.policy.facts import Hold, Micros, Ref, Target
from discreet.policy.words import HolderKind, PurgeItemKind, PurgeOutcome, PurgeState
from discreet.server.ports import Store, Work
from discreet.server.ports_authority import Answer, HolderRow, ItemRow, Look, OrderRow
from discreet.server.ports_purge import Shown
from tests.contract.making import LABEL, TENANT, entry, facts_of, job, put, record, revisions

A, B = Ref("doc/a", "1"), Ref("doc/b", "1")
DAY = 86_400_000_000
THREADS = HolderRow("threads", HolderKind.SEGMENT_STORE, (), "", None, Micros(0))
VECTORS = HolderRow("vectors", HolderKind.DOCUMENT_STORE, (LABEL,), "", None, Micros(0))


async def register(store: Store, row: HolderRow) -> int:
    """How many items of earlier orders the holder gets."""

    def work(index: Work) -> int:
        index.purges.write_holder(TENANT, row, "op", "")
        return index.purges.add_parts(TENANT, row)

    return await store.change(work)


async def segment(store: Store, *refs: Ref) -> str:
    """The ledger id of a segment that rests on the versions."""
    committed = entry(*revisions(await facts_of(store, *refs)))
    await store.record([job(await store.head(), committed)])
    return committed.ledger_id


async def order(store: Store, order_id: str, ledger_id: str, *, within: int = DAY) -> None:
    """An order of one segment and of the version `A`, due at once."""

    def work(index: Work) -> int:
        row = OrderRow(order_id, "A", "op", "why", "T-1", index.now, index.now, Micros(index.now + within), None, 1, 1)
        items = [
            ItemRow(order_id, 1, PurgeItemKind.SEGMENT, "d" * 64, ledger_id, store_by=index.now),
            ItemRow(order_id, 2, PurgeItemKind.RECORD, "e" * 64, ref=A, label=LABEL),
        ]
        return index.purges.write_order(TENANT, row, items)

    await store.change(work)


async def due(store: Store, holder: str) -> list[tuple[str, int]]:
    """What the holder is to be asked for."""
    found: list[Shown] = list(await store.look(lambda look: look.purges.deliverable(TENANT, holder, 10)))
    return [(one.part.item.order_id, one.part.item.item) for one in found]


async def part_of(store: Store, holder: str, item: int) -> Shown:
    """An item of the first order."""
    return (await store.look(lambda look: look.purges.parts(TENANT, holder, [("o-1", item)])))["o-1", item]


@pytest.fixture
async def stocked(store: Store) -> tuple[Store, str]:
    """Two documents, a segment on both, two holders, and one order."""
    await put(store, record("doc/a"), record("doc/b"))
    ledger_id = await segment(store, A, B)
    await register(store, THREADS)
    await register(store, VECTORS)
    await order(store, "o-1", ledger_id)
    return store, ledger_id


async def test_each_holder_has_the_parts_that_concern_it(stocked: tuple[Store, str]) -> None:
    """B7, RET-01: segments go to who keeps segments, versions to who keeps their source; a late one gets them, too."""
    store, ledger_id = stocked
    assert await due(store, "threads") == [("o-1", 1)]
    assert await due(store, "vectors") == [("o-1", 2)]
    assert await register(store, VECTORS._replace(holder="late", labels=())) == 1
    assert await register(store, VECTORS._replace(holder="other", labels=("elsewhere",))) == 0
    assert await due(store, "late") == [("o-1", 2)]
    (shown,) = await store.look(lambda look: look.purges.deliverable(TENANT, "threads", 10))
    assert (shown.part.item.ledger_id, shown.named[0], shown.named[2]) == (ledger_id, "s-1", "seg-1")


@pytest.mark.parametrize(
    "target, held",
    [
        (Target(label=LABEL), {"threads", "vectors"}),
        (Target(record_id="doc/a"), {"threads", "vectors"}),
        (Target(record_id="doc/a", version="1"), {"threads", "vectors"}),
        (Target(record_id="doc/b"), {"threads"}),
        (Target(record_id="doc/a", version="2"), set()),
        (Target(label="elsewhere"), set()),
    ],
)
async def test_a_hold_covers_what_its_target_says(stocked: tuple[Store, str], target: Target, held: set[str]) -> None:
    """F3: a segment is held by any root, a version by itself; lists, counts and deliveries agree; its end frees it."""
    store, _ = stocked
    hold = Hold("h-1", target, "op", "why", "T-2", Micros(1))
    await store.change(lambda index: index.authority.write_hold(TENANT, hold))
    for holder, item in (("threads", 1), ("vectors", 2)):
        shown = await part_of(store, holder, item)
        assert (shown.state is PurgeState.HELD) == (holder in held)
        assert (await due(store, holder) == []) == (holder in held)
    counts = await store.look(lambda look: look.purges.order_counts(TENANT))
    assert (counts.open, counts.held) == (1, int(bool(held)))
    parts = await store.look(lambda look: look.purges.order_parts(TENANT, ["o-1"]))
    assert {one.holder for one in parts["o-1"] if one.states.get(PurgeState.HELD)} == held
    await store.change(lambda index: index.authority.end_hold(TENANT, "h-1", "op", "over", "T-2"))
    assert await due(store, "threads") == [("o-1", 1)]


async def test_answers_move_items_and_are_kept(stocked: tuple[Store, str]) -> None:
    """RET-08: an order counts as done when the last item of the last part is."""
    store, _ = stocked

    async def answer(holder: str, item: int, outcome: PurgeOutcome, state: PurgeState) -> None:
        def work(index: Work) -> int:
            why = "locked" if outcome is PurgeOutcome.FAILED else ""
            later = Micros(index.now + DAY)
            given = Answer("o-1", item, holder, outcome, why, False, state, later, False)
            return index.purges.write_answers(TENANT, [given])

        await store.change(work)

    await answer("threads", 1, PurgeOutcome.FAILED, PurgeState.FAILED)
    counts = await store.look(lambda look: look.purges.order_counts(None))
    assert (counts.open, counts.failed, counts.done) == (1, 1, 0)
    assert await due(store, "threads") == []
    assert await store.look(lambda look: look.purges.next_due(TENANT, "threads")) is not None
    (part,) = [one for one in await store.look(lambda look: look.purges.holder_parts(TENANT)) if one.last_failure]
    assert (part.holder, part.last_failure) == ("threads", "locked")
    for holder, item in (("threads", 1), ("vectors", 2)):
        await answer(holder, item, PurgeOutcome.PURGED, PurgeState.PURGED)
    counts = await store.look(lambda look: look.purges.order_counts(TENANT))
    assert (counts.open, counts.failed, counts.done) == (0, 0, 1)
    assert not await store.change(lambda index: index.purges.is_open(TENANT, "o-1"))
    assert await store.look(lambda look: look.purges.orders(TENANT, None, 9, open_only=True, overdue_only=False)) == []


async def test_another_tenant_sees_nothing_of_it(stocked: tuple[Store, str]) -> None:
    """F3: every read names its tenant."""
    store, _ = stocked

    def read(look: Look) -> tuple[object, ...]:
        purges = look.purges
        return (
            purges.deliverable("zeta", "threads", 9),
            purges.orders("zeta", None, 9, open_only=False, overdue_only=False),
            purges.order("zeta", "o-1"),
            purges.items("zeta", "o-1", "", None, 9),
            purges.parts("zeta", "threads", [("o-1", 1)]),
            purges.holder_parts("zeta"),
            look.holders("zeta"),
        )

    purges = await store.look(read)
    assert not any(purges)


async def test_a_claim_is_one_servers_until_it_runs_out(stocked: tuple[Store, str]) -> None:
    """F3: one server posts to a holder at a time, and another takes over when its time is up."""
    store, _ = stocked

    async def claim(instance: str, seconds: int) -> bool:
        def work(index: Work) -> bool:
            until = Micros(index.now + seconds * 1_000_000)
            return index.purges.claim_post(TENANT, "threads", instance, until)

        return await store.change(work)

    assert await claim("one", 60)
    assert not await claim("two", 60)
    assert await claim("one", -1)
    assert await claim("two", 60)
    assert not await claim("one", 60)


async def test_a_notice_is_taken_once(stocked: tuple[Store, str]) -> None:
    """RET-08: an overdue order is told of until somebody took notice, and by nobody after that."""
    store, ledger_id = stocked
    await order(store, "o-2", ledger_id, within=-1)
    late = await store.look(lambda look: look.purges.late(9))
    assert [(one.order_id, one.notice, one.items) for one in late] == [("o-2", "overdue", 2)]
    taken = [await store.change(lambda index: index.purges.take_notice(TENANT, "o-2", "overdue")) for _ in range(2)]
    assert taken == [True, False]
    assert await store.look(lambda look: look.purges.late(9)) == []


async def test_a_look_sees_one_state(store: Store) -> None:
    """F3: lists of orders and their parts agree: what lands between two statements of a look is not in the second."""
    begun, go_on = threading.Event(), threading.Event()

    def read(look: Look) -> tuple[object, object]:
        first = look.holders(TENANT)
        begun.set()
        go_on.wait(20)
        return first, look.holders(TENANT)

    looking = asyncio.create_task(store.look(read))
    await asyncio.to_thread(begun.wait, 20)
    await register(store, THREADS)
    go_on.set()
    assert await looking == ((), ())
    assert len(await store.look(lambda look: look.holders(TENANT))) == 1
