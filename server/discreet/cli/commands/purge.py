"""`discreet purge`: what became of what was revoked, at every holder. Looks only."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import PurgeBehind
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.v1.purge_pb2 import GetPurgeStatusResponse, Holder, PurgeItemStatus, PurgeOrder, PurgePart

PART_COLUMNS = ("holder", "open", "failed", "unconfirmed", "held", "scheduled", "overdue", "gone", "last failure")


@click.group()
def purge() -> None:
    """Show purge orders, their items, and how far every holder is."""


@purge.command(epilog="\b\nExample:\n  discreet --tenant marlowe purge status --check")
@click.option("--check", is_flag=True, help="Exit code 8 where an order is overdue or an item failed.")
@shared_options
def status(check: bool) -> None:
    """Show how many orders are open, overdue, failed, held and done, and where each holder stands."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.purge_pb2 import GetPurgeStatusRequest, ListHoldersRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    with connect(settings, "operator") as line:
        stub = PurgeServiceStub(line.channel)
        found = line.call(stub.GetPurgeStatus, GetPurgeStatusRequest(tenant=settings.tenant))
        holders = line.call(stub.ListHolders, ListHoldersRequest(tenant=settings.tenant, removed=True)).holders
    silent = [holder for holder in holders if holder.post_failures]
    if settings.output != "pretty":
        posts = [{"holder": one.holder, "failures": one.post_failures, "failure": one.post_failure} for one in silent]
        print_tree(settings, {**to_tree(found), "failing_posts": posts})
    else:
        _print_status(found, silent)
    if check and (found.overdue_orders or found.failed_orders):
        said = f"{found.overdue_orders} purge orders are overdue, {found.failed_orders} have failed items"
        raise PurgeBehind(said, "see `discreet purge orders --open`")


def _print_status(found: "GetPurgeStatusResponse", silent: "Iterable[Holder]") -> None:
    from discreet.cli.printing import note, print_pairs, print_table

    print_pairs([
        ("orders open", found.open_orders), ("overdue", found.overdue_orders), ("failed", found.failed_orders),
        ("held", found.held_orders), ("done", found.done_orders),
    ])  # fmt: skip
    print_table("", PART_COLUMNS, [_part_row(part) for part in found.holders])
    for holder in silent:
        note(f"{holder.holder}: {holder.post_failures} posts failed in a row: {holder.post_failure}")


def _part_row(part: "PurgePart") -> tuple[str, ...]:
    gone = part.purged + part.not_found
    counts = (part.open, part.failed, part.unconfirmed, part.held, part.scheduled, part.overdue, gone)
    return (part.holder, *map(str, counts), part.last_failure)


@purge.command(epilog="\b\nExample:\n  discreet --tenant marlowe purge orders --open")
@click.option("--open", "open_only", is_flag=True, help="Only orders that are not done.")
@click.option("--overdue", is_flag=True, help="Only orders with an item past its due time.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@shared_options
def orders(open_only: bool, overdue: bool, limit: int) -> None:
    """List purge orders, newest first, with how far each holder's part is."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages

    with connect(settings, "operator") as line:
        found, more = pages(lambda size, token: _orders(line, settings.tenant, open_only, overdue, size, token), limit)
    columns = ("order", "what", "by", "ticket", "due", "records", "segments", "state", "open at")
    _print(settings, "orders", columns, found, [_order_row(order) for order in found], limit if more else 0)


def _orders(
    line: "Line", tenant: str, open_only: bool, overdue: bool, size: int, token: str
) -> "tuple[list[PurgeOrder], str]":
    from discreet.v1.purge_pb2 import ListPurgeOrdersRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    request = ListPurgeOrdersRequest(
        tenant=tenant, open_only=open_only, overdue_only=overdue, page_size=size, page_token=token
    )
    answer = line.call(PurgeServiceStub(line.channel).ListPurgeOrders, request)
    return list(answer.orders), answer.next_page_token


def _order_row(order: "PurgeOrder") -> tuple[str, ...]:
    from discreet.cli.telling import at

    still = [part.holder for part in order.parts if part.open or part.failed or part.unconfirmed or part.held]
    waits = any(part.scheduled for part in order.parts)
    overdue, failed = (any(getattr(part, name) for part in order.parts) for name in ("overdue", "failed"))
    state = "done" if order.done else "overdue" if overdue else "failed" if failed else "open"
    if state == "open" and not still:
        state = "scheduled" if waits or not order.parts else state
    counts = (str(order.records), str(order.segments))
    return (order.order_id, order.extent, order.actor, order.ticket, at(order.due_at), *counts, state, ", ".join(still))


@purge.command(epilog="\b\nExample:\n  discreet --tenant marlowe purge items 0192f0c1-... --holder threads")
@click.argument("order_id")
@click.option("--holder", default="", metavar="NAME", help="Only the part of this holder.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@shared_options
def items(order_id: str, holder: str, limit: int) -> None:
    """List the items of an order, and what became of each at each holder."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages

    with connect(settings, "operator") as line:
        found, more = pages(lambda size, token: _items(line, settings.tenant, order_id, holder, size, token), limit)
    columns = ("holder", "item", "what", "state", "answers", "answered", "why it failed")
    _print(settings, "items", columns, found, [_item_row(item) for item in found], limit if more else 0)


def _items(
    line: "Line", tenant: str, order_id: str, holder: str, size: int, token: str
) -> "tuple[list[PurgeItemStatus], str]":
    from discreet.v1.purge_pb2 import ListPurgeItemsRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    request = ListPurgeItemsRequest(tenant=tenant, order_id=order_id, holder=holder, page_size=size, page_token=token)
    answer = line.call(PurgeServiceStub(line.channel).ListPurgeItems, request)
    return list(answer.items), answer.next_page_token


def _item_row(status: "PurgeItemStatus") -> tuple[str, ...]:
    from discreet.cli.shapes import word
    from discreet.cli.telling import at
    from discreet.v1.purge_pb2 import PurgeState

    item = status.item
    record = f"{item.record.record_id} {item.record.version}"
    what = f"{item.answer_id} {item.segment_id} ({item.ledger_id})" if item.ledger_id else record
    state = word(PurgeState.DESCRIPTOR, status.state) or ""
    if status.answered_while_held:
        state += ", answered under a hold"
    answered = at(status.answered_at) if status.HasField("answered_at") else ""
    return status.holder, str(item.item), what, state, str(status.answers), answered, status.failure


def _print(
    settings: Settings, key: str, columns: tuple[str, ...], found: "Iterable[PurgeOrder] | Iterable[PurgeItemStatus]",
    rows: list[tuple[str, ...]], limit: int,
) -> None:  # fmt: skip
    """Prints a list; `limit` other than 0: there is more than so many."""
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree

    if settings.output != "pretty":
        print_trees(settings, key, (to_tree(one) for one in found))
    else:
        print_table("", columns, rows)
    if limit:
        note(f"discreet: there are more than {limit}; give a larger --limit")
