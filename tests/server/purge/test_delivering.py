"""Bounds of a delivery: how much is sent at once and unanswered, at the limit and one past it; and lists in pages."""

from __future__ import annotations

from discreet.policy.facts import Micros, Ref
from discreet.policy.words import PurgeItemKind
from discreet.server.ports import Work
from discreet.server.ports_authority import ItemRow, OrderRow
from discreet.server.servicers.purge.delivering import ITEMS_PER_MESSAGE, UNANSWERED_MAX, Delivery
from discreet.server.servicers.purge.looking import Looks
from discreet.v1 import purge_pb2 as pb
from tests.server.purge.orders import DOCUMENTS, WAIT_S, Scene, keys
from tests.server.support import TENANT

ITEMS = UNANSWERED_MAX + 1


async def large(stage: Scene, order_id: str, items: int) -> None:
    """An order of so many versions, written past the API: a revoke of as many is the authority's to test."""

    def work(index: Work) -> int:
        due = Micros(index.now + 1)
        order = OrderRow(order_id, "many", "op", "why", "T-1", index.now, index.now, due, None, items, 0)
        rows = [
            ItemRow(order_id, number, PurgeItemKind.RECORD, "d", ref=Ref(f"handbook/{number}", "1"), label="handbook")
            for number in range(1, items + 1)
        ]
        return index.purges.write_order(TENANT, order, rows)

    await stage.running.server.store.change(work)


async def test_a_stream_sends_no_more_than_it_may_remember(stage: Scene) -> None:
    """F3: at most 500 a message and 2,000 unanswered; the one beyond comes when another is answered."""
    await stage.register("vectors", DOCUMENTS)
    await large(stage, "order", ITEMS)
    watch = stage.watch("vectors")
    sent: list[tuple[str, int]] = []
    while len(sent) < UNANSWERED_MAX:
        message = await watch.next()
        assert 0 < len(message.items) <= ITEMS_PER_MESSAGE
        sent += keys(message)
    assert sent == [("order", number) for number in range(1, UNANSWERED_MAX + 1)]
    stage.later(0)
    purged = pb.PurgeAck(order_id="order", item=7, outcome=pb.PURGE_OUTCOME_PURGED)
    await stage.acks("vectors", purged)
    assert keys(await watch.next()) == [("order", ITEMS)]


async def test_a_line_that_is_full_sends_nothing_until_something_is_answered(stage: Scene) -> None:
    """F3: after 2,000 unanswered items the next round is empty though more is due; one answer makes room for one."""
    await stage.register("vectors", DOCUMENTS)
    await large(stage, "order", UNANSWERED_MAX + 3)
    line = Delivery(Looks(stage.running.server.store, WAIT_S), TENANT, "vectors")
    for sent in range(0, UNANSWERED_MAX, ITEMS_PER_MESSAGE):
        items = [one.item for one in (await line.round()).items]
        assert items == list(range(sent + 1, sent + ITEMS_PER_MESSAGE + 1))
    assert (await line.round()).empty
    await stage.acks("vectors", pb.PurgeAck(order_id="order", item=7, outcome=pb.PURGE_OUTCOME_PURGED))
    heard = await line.round()
    assert (heard.empty, heard.next_s) == (True, 0.0)
    assert [one.item for one in (await line.round()).items] == [UNANSWERED_MAX + 1]
    assert (await line.round()).empty


async def test_orders_and_items_are_listed_in_pages(stage: Scene) -> None:
    """Each once, in order, whatever the size of the page; a token is good for its own query alone."""
    await stage.register("vectors", DOCUMENTS)
    await stage.register("files", DOCUMENTS)
    for number in range(5):
        await large(stage, f"order-{number}", 7)
    asked = pb.ListPurgeItemsRequest(tenant=TENANT, order_id="order-3", page_size=4)
    found: list[tuple[str, int]] = []
    while True:
        told = await stage.line("operator").call(asked)
        assert isinstance(told, pb.ListPurgeItemsResponse)
        assert len(told.items) <= 4
        found += [(one.holder, one.item.item) for one in told.items]
        asked.page_token = told.next_page_token
        if not asked.page_token:
            break
    assert found == [(holder, number) for holder in ("files", "vectors") for number in range(1, 8)]
    orders, page = [], pb.ListPurgeOrdersRequest(tenant=TENANT, page_size=2)
    while True:
        listed = await stage.line("operator").call(page)
        assert isinstance(listed, pb.ListPurgeOrdersResponse)
        orders += [one.order_id for one in listed.orders]
        if not listed.next_page_token:
            break
        page.page_token = listed.next_page_token
    assert orders == [f"order-{number}" for number in reversed(range(5))]
    other = pb.ListPurgeOrdersRequest(tenant=TENANT, open_only=True, page_size=2, page_token=page.page_token)
    assert (await stage.line("operator").refused(other)).code().name == "INVALID_ARGUMENT"
