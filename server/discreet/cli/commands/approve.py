"""`discreet approve`, `reject` and `approvals`: changes that wait for a second person."""

from typing import TYPE_CHECKING

import click

from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.v1.authority_pb2 import Approval, ListApprovalsRequest

_reason = click.option("--reason", required=True, help="Why; it is recorded.")


@click.command(epilog="\b\nExample:\n  discreet approve 0192f0c1-... --reason 'checked the list'")
@click.argument("approval_id")
@_reason
@wait_option
@shared_options
def approve(approval_id: str, reason: str, wait: float | None) -> None:
    """Carry out what another operator asked for, if it still covers exactly what it did then."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.authority_pb2 import ApproveRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    request = ApproveRequest(tenant=settings.tenant, approval_id=approval_id, reason=reason)
    with connect(settings, "operator") as line:
        response = line.call(AuthorityServiceStub(line.channel).Approve, request)
    order = f"; purge order {response.purge_order_id}" if response.purge_order_id else ""
    tell(settings, f"approval {approval_id}: carried out{order}", response)
    wait_for_servers(settings, wait, response)


@click.command(epilog="\b\nExample:\n  discreet reject 0192f0c1-... --reason 'the wrong record'")
@click.argument("approval_id")
@_reason
@shared_options
def reject(approval_id: str, reason: str) -> None:
    """Drop a change that waits; whoever asked for it may do so too."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.authority_pb2 import RejectRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    request = RejectRequest(tenant=settings.tenant, approval_id=approval_id, reason=reason)
    with connect(settings, "operator") as line:
        response = line.call(AuthorityServiceStub(line.channel).Reject, request)
    tell(settings, f"approval {approval_id}: dropped", response)


@click.command(epilog="\b\nExample:\n  discreet approvals --settled")
@click.option("--settled", is_flag=True, help="Also those that were settled or have expired.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@shared_options
def approvals(settled: bool, limit: int) -> None:
    """List changes that wait for a second person, newest first."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree
    from discreet.v1.authority_pb2 import ListApprovalsRequest

    request = ListApprovalsRequest(tenant=settings.tenant, settled=settled)
    with connect(settings, "operator") as line:
        found, more = pages(lambda size, token: _page(line, request, size, token), limit)
    if settings.output != "pretty":
        print_trees(settings, "approvals", (to_tree(item) for item in found))
    else:
        columns = ("approval", "what", "asked by", "ticket", "expires", "state", "settled by")
        print_table("", columns, [_row(item) for item in found])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit")


def _page(line: "Line", request: "ListApprovalsRequest", size: int, token: str) -> "tuple[list[Approval], str]":
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    request.page_size, request.page_token = size, token
    answer = line.call(AuthorityServiceStub(line.channel).ListApprovals, request)
    return list(answer.approvals), answer.next_page_token


def _row(item: "Approval") -> tuple[str, ...]:
    from discreet.cli.shapes import word
    from discreet.cli.telling import at
    from discreet.v1.authority_pb2 import ApprovalState

    state = word(ApprovalState.DESCRIPTOR, item.state) or ""
    return item.approval_id, item.summary, item.requester, item.ticket, at(item.expires_at), state, item.settled_by
