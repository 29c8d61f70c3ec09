"""AckPurge, and what can be looked up of orders: ListPurgeOrders, ListPurgeItems, GetPurgeStatus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.idents import SHORT_BYTES_MAX, text_problem
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import Role
from discreet.server.calls import Call
from discreet.server.errors import Denied, NotFound
from discreet.server.ports import Head, Work
from discreet.server.ports_authority import Look, OrderRow
from discreet.server.ports_purge import PartCounts, Shown
from discreet.server.servicers import fields
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.index.transacting import Transacting
from discreet.server.servicers.paging import cursor_of, page_token
from discreet.server.servicers.purge.messages import acks_of, order_message, part_message, status_message, taken_message
from discreet.server.servicers.purge.taking import Taken, take
from discreet.server.servicers.purge.tide import Tide
from discreet.v1 import purge_pb2 as pb


class _Page(NamedTuple):
    now: Micros
    orders: Sequence[OrderRow]
    parts: Mapping[str, Sequence[PartCounts]]


class Orders:
    """Answers the methods on orders of PurgeService."""

    def __init__(self, transacting: Transacting, tide: Tide, instance: str) -> None:
        self._transacting = transacting
        self._tide = tide
        self._instance = instance

    async def ack(self, call: Call, request: pb.AckPurgeRequest) -> pb.AckPurgeResponse:
        """Takes down what became of items; each answer stands or falls alone."""
        tenant, acks = fields.tenant(call, request.tenant), acks_of(request.acks)

        def work(index: Work, _snapshot: Snapshot | None) -> tuple[list[Taken], Head]:
            return take(index, call, tenant, self._instance, acks), index.head

        taken, head = await self._transacting.change(call, work)
        self._tide.news((tenant, call.caller.name))
        return pb.AckPurgeResponse(token=token_of(head), outcomes=[taken_message(one) for one in taken])

    async def list_orders(self, call: Call, request: pb.ListPurgeOrdersRequest) -> pb.ListPurgeOrdersResponse:
        """Orders, newest first, a page at a time."""
        tenant, size = fields.tenant(call, request.tenant), fields.page_size(request.page_size)
        cursor = cursor_of(request, request.page_token, int)
        before = None if cursor is None else int(cursor[0])
        asked = {"open_only": request.open_only, "overdue_only": request.overdue_only}

        def read(look: Look) -> _Page:
            purges = look.purges
            orders = purges.orders(tenant, before, size + 1, **asked)
            return _Page(look.now, orders, purges.order_parts(tenant, [order.order_id for order in orders[:size]]))

        page = await self._transacting.read(call, self._transacting.store.look(read))
        more = len(page.orders) > size
        return pb.ListPurgeOrdersResponse(
            orders=[order_message(one, page.parts.get(one.order_id, ()), page.now) for one in page.orders[:size]],
            next_page_token=page_token(request, (page.orders[size - 1].seq,)) if more else "",
        )

    async def list_items(self, call: Call, request: pb.ListPurgeItemsRequest) -> pb.ListPurgeItemsResponse:
        """The items of an order, in the order of holder and item, a page at a time; a holder sees its own part."""
        tenant, size = fields.tenant(call, request.tenant), fields.page_size(request.page_size)
        fields.check(text_problem(request.order_id, SHORT_BYTES_MAX), "order_id", "give that of an order")
        holder = fields.optional_text(request.holder, "holder", SHORT_BYTES_MAX)
        own = call.caller.role is Role.HOLDER
        if own and holder not in ("", call.caller.name):
            raise Denied("holder: a holder sees its own part alone", tenant=tenant)
        holder = call.caller.name if own else holder
        cursor = cursor_of(request, request.page_token, str, int)
        after = None if cursor is None else (str(cursor[0]), int(cursor[1]))

        def read(look: Look) -> tuple[OrderRow | None, Sequence[Shown]]:
            purges = look.purges
            return purges.order(tenant, request.order_id), purges.items(
                tenant, request.order_id, holder, after, size + 1
            )

        order, found = await self._transacting.read(call, self._transacting.store.look(read))
        if order is None or (own and not found and after is None):
            raise NotFound("order_id: there is no such order for this tenant" + (" with a part of this holder" * own))
        last = found[size - 1].part if len(found) > size else None
        return pb.ListPurgeItemsResponse(
            items=[status_message(shown) for shown in found[:size]],
            next_page_token=page_token(request, (last.holder, last.item.item)) if last is not None else "",
        )

    async def status(self, call: Call, request: pb.GetPurgeStatusRequest) -> pb.GetPurgeStatusResponse:
        """Counts over all orders of a tenant."""
        tenant = fields.tenant(call, request.tenant)
        counts, parts = await self._transacting.read(
            call,
            self._transacting.store.look(
                lambda look: (look.purges.order_counts(tenant), look.purges.holder_parts(tenant))
            ),
        )
        return pb.GetPurgeStatusResponse(
            open_orders=counts.open,
            overdue_orders=counts.overdue,
            failed_orders=counts.failed,
            held_orders=counts.held,
            done_orders=counts.done,
            holders=[part_message(part) for part in parts],
        )
