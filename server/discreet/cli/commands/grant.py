"""`discreet grant`: which scopes a principal holds."""

from typing import TYPE_CHECKING

import click

from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from discreet.cli.connection import Line
    from discreet.v1.index_pb2 import Grant


@click.group()
def grant() -> None:
    """Give principals scopes, withdraw them, list them."""


def _timestamp(value: str) -> "Timestamp":
    import time

    from google.protobuf.timestamp_pb2 import Timestamp

    from discreet.cli.times import parse_moment_of_time

    found = Timestamp()
    found.FromMicroseconds(parse_moment_of_time(value, time.time_ns() // 1_000))
    return found


@grant.command(
    epilog="\b\nExample:\n  discreet --tenant marlowe grant add ana peps-drafts --expires +90d --reason 'joined'"
)
@click.argument("principal_id")
@click.argument("scope")
@click.option("--not-before", metavar="TIME", help="Valid from then on: RFC 3339, or a span ahead such as +1d.")
@click.option("--expires", metavar="TIME", help="Valid until then: RFC 3339, or a span ahead such as +90d.")
@click.option("--reason", required=True, help="Why; it is recorded.")
@wait_option
@shared_options
def add(
    principal_id: str, scope: str, not_before: str | None, expires: str | None, reason: str, wait: float | None
) -> None:
    """Give a principal a scope."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import note, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.index_pb2 import GrantScopeRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = GrantScopeRequest(tenant=settings.tenant, principal_id=principal_id, scope=scope, reason=reason)
    if not_before:
        request.not_before.CopyFrom(_timestamp(not_before))
    if expires:
        request.expires_at.CopyFrom(_timestamp(expires))
    with connect(settings, "operator") as line:
        response = line.call(IndexServiceStub(line.channel).GrantScope, request)
    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
    else:
        note(f"{principal_id} holds {scope} (generation {response.generation}, token {response.token})")
    wait_for_servers(settings, wait, response)


@grant.command(
    epilog="\b\nExample:\n  discreet --tenant marlowe grant withdraw ana peps-drafts --reason 'left the desk'"
)
@click.argument("principal_id")
@click.argument("scope")
@click.option("--reason", required=True, help="Why; it is recorded.")
@wait_option
@shared_options
def withdraw(principal_id: str, scope: str, reason: str, wait: float | None) -> None:
    """Withdraw a scope from a principal, at once."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import note, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.index_pb2 import WithdrawScopeRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = WithdrawScopeRequest(tenant=settings.tenant, principal_id=principal_id, scope=scope, reason=reason)
    with connect(settings, "operator") as line:
        response = line.call(IndexServiceStub(line.channel).WithdrawScope, request)
    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
    else:
        note(f"{principal_id} {scope}: {response.withdrawn} grants ended (token {response.token})")
    wait_for_servers(settings, wait, response)


@grant.command("list", epilog="\b\nExample:\n  discreet --tenant marlowe grant list ana --history")
@click.argument("principal_id", required=False, default="")
@click.option("--history", is_flag=True, help="Also those that were withdrawn.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@shared_options
def list_grants(principal_id: str, history: bool, limit: int) -> None:
    """List grants, of one principal or of all."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree

    with connect(settings, "operator") as line:
        grants, more = pages(
            lambda size, token: _page(line, settings.tenant, principal_id, history, size, token), limit
        )
    if settings.output != "pretty":
        print_trees(settings, "grants", (to_tree(item) for item in grants))
    else:
        columns = ("principal", "scope", "from", "until", "generation", "state")
        print_table("", columns, [_row(item) for item in grants])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit")


def _page(
    line: "Line", tenant: str, principal_id: str, history: bool, size: int, token: str
) -> "tuple[list[Grant], str]":
    from discreet.v1.index_pb2 import ListGrantsRequest
    from discreet.v1.index_pb2_grpc import IndexServiceStub

    request = ListGrantsRequest(
        tenant=tenant, principal_id=principal_id, history=history, page_size=size, page_token=token
    )
    answer = line.call(IndexServiceStub(line.channel).ListGrants, request)
    return list(answer.grants), answer.next_page_token


def _row(item: "Grant") -> tuple[str, ...]:
    from discreet.cli.times import format_micros

    starts = format_micros(item.not_before.ToMicroseconds()) if item.HasField("not_before") else ""
    ends = format_micros(item.expires_at.ToMicroseconds()) if item.HasField("expires_at") else ""
    state = "withdrawn" if item.withdrawn else "stands"
    return item.principal_id, item.scope, starts, ends, str(item.generation), state
