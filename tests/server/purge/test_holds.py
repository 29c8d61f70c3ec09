"""A legal hold over items: not delivered, recalled where they were, answers kept, and due again once it is lifted."""

from __future__ import annotations

import pytest

from discreet.v1 import purge_pb2 as pb
from tests.server.purge.orders import DOCUMENTS, HOUR, Outcome, Scene, keys

PURGED = Outcome.PURGE_OUTCOME_PURGED


@pytest.mark.parametrize("held", ["record", "version", "source"])
async def test_a_hold_recalls_what_is_open_and_lets_it_come_again(stage: Scene, held: str) -> None:
    """F3, B7: under a hold on a root nothing is purged; each kind of hold holds segments and records."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    watches = {name: stage.watch(name) for name in ("threads", "vectors")}
    for watch in watches.values():
        await watch.next()
    order = await stage.revoke()
    for watch in watches.values():
        assert keys(await watch.next())
    hold_id = await placed(stage, held)
    recalled = {
        name: [(one.order_id, one.item) for one in (await watch.next()).recalls] for name, watch in watches.items()
    }
    assert recalled == {"threads": [(order, 1)], "vectors": [(order, 2)]}
    assert set((await stage.states(order)).values()) == {"HELD"}
    status = await stage.status()
    assert (status.held_orders, status.open_orders, status.overdue_orders) == (1, 1, 0)
    stage.later(48 * HOUR)
    assert await stage.orders(overdue_only=True) == []
    assert not keys(await stage.watch("threads").next())
    await stage.lift(hold_id)
    assert keys(await watches["threads"].next()) == [(order, 1)]
    assert set((await stage.states(order)).values()) == {"OPEN"}


async def placed(stage: Scene, held: str) -> str:
    """The id of a hold of a kind."""
    asked = pb.PlaceHoldRequest(tenant="acme", reason="asked to", ticket="T-2")
    if held == "source":
        asked.source_label = "handbook"
    else:
        asked.record.record_id = "handbook/leave"
        asked.record.version = "1" if held == "version" else ""
    told = await stage.line("operator").call(asked)
    assert isinstance(told, pb.PlaceHoldResponse)
    return told.hold_id


async def test_an_answer_under_a_hold_is_taken_down_and_shown(stage: Scene) -> None:
    """F3: what was deleted before the recall arrived is on record as it is: gone, and under a hold."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    await stage.ack("vectors", order, 2, PURGED)
    await stage.hold()
    assert await stage.states(order) == {("threads", 1): "HELD", ("vectors", 2): "PURGED"}
    assert await stage.ack("threads", order, 1, Outcome.PURGE_OUTCOME_FAILED, "locked") == ("HELD", "")
    assert await stage.ack("threads", order, 1, PURGED) == ("PURGED", "")
    told = {one.holder: one.answered_while_held for one in await stage.items(order)}
    assert told == {"threads": True, "vectors": False}
    assert (await stage.orders())[0].done


async def test_a_hold_on_something_else_holds_nothing_here(stage: Scene) -> None:
    """F3: a hold covers what it names, and no neighbour."""
    await stage.register("threads")
    await stage.hold("handbook/other")
    order = await stage.revoke()
    assert keys(await stage.watch("threads").next()) == [(order, 1)]


async def test_what_is_held_keeps_nothing_else_from_coming(stage: Scene) -> None:
    """F3: the items behind held ones are delivered."""
    await stage.register("vectors", DOCUMENTS)
    await stage.revoke()
    await stage.hold()
    other = await stage.revoke("handbook/other")
    assert keys(await stage.watch("vectors").next()) == [(other, 1)]


async def test_what_a_lifted_hold_frees_has_its_time_again(stage: Scene) -> None:
    """B7, B8: a hold of many days does not make a holder late: due as long after the lift as after the revoke."""
    await stage.register("threads")
    await stage.register("vectors", DOCUMENTS)
    order = await stage.revoke()
    first = {one.holder: one.item.due_at.ToMicroseconds() for one in await stage.items(order)}
    within = first["threads"] - stage.clock.now
    await stage.ack("vectors", order, 2, PURGED)
    one, other = (await stage.hold()).hold_id, await placed(stage, "source")
    stage.later(40 * 24 * HOUR)
    await stage.lift(one)
    stage.later(24 * HOUR)
    await stage.lift(other)
    (item,) = (await stage.watch("threads").next()).items
    assert item.due_at.ToMicroseconds() == stage.clock.now + within
    assert (await stage.status()).overdue_orders == 0
    assert await stage.orders(overdue_only=True) == []
    told = {one.holder: one.item.due_at.ToMicroseconds() for one in await stage.items(order)}
    assert told == {"threads": stage.clock.now + within, "vectors": first["vectors"]}
    stage.later(within / 1e6 + 1)
    assert (await stage.status()).overdue_orders == 1


async def test_a_short_hold_takes_no_time_from_the_holder(stage: Scene) -> None:
    """B7: what is due later than that anyway stays as it is."""
    await stage.register("threads")
    order = await stage.revoke(in_s=48 * HOUR)
    before = [one.item.due_at for one in await stage.items(order)]
    await stage.lift((await stage.hold()).hold_id)
    assert [one.item.due_at for one in await stage.items(order)] == before
