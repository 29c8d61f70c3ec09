"""`discreet tombstone`: what keeps revoked content from coming back, and approving it anew."""

from typing import TYPE_CHECKING

import click

from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.v1.authority_pb2 import ListTombstonesRequest, Tombstone


@click.group()
def tombstone() -> None:
    """See what keeps revoked content from coming back, and approve it anew."""


@tombstone.command("list", epilog="\b\nExample:\n  discreet tombstone list --record pep-0020")
@click.option("--record", "record_id", default="", metavar="RECORD_ID", help="Only those of this record.")
@click.option("--digest", default="", metavar="DIGEST", help="Only those of this content.")
@click.option("--lifted", is_flag=True, help="Also those that were lifted.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@shared_options
def list_tombstones(record_id: str, digest: str, lifted: bool, limit: int) -> None:
    """List tombstones."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree
    from discreet.v1.authority_pb2 import ListTombstonesRequest

    request = ListTombstonesRequest(tenant=settings.tenant, record_id=record_id, digest=digest, lifted=lifted)
    with connect(settings, "operator") as line:
        found, more = pages(lambda size, token: _page(line, request, size, token), limit)
    if settings.output != "pretty":
        print_trees(settings, "tombstones", (to_tree(item) for item in found))
    else:
        columns = ("tombstone", "what", "digest", "since", "order", "state")
        print_table("", columns, [_row(item) for item in found])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit")


def _page(line: "Line", request: "ListTombstonesRequest", size: int, token: str) -> "tuple[list[Tombstone], str]":
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    request.page_size, request.page_token = size, token
    answer = line.call(AuthorityServiceStub(line.channel).ListTombstones, request)
    return list(answer.tombstones), answer.next_page_token


def _row(item: "Tombstone") -> tuple[str, ...]:
    from discreet.cli.telling import at

    record = f"{item.record.record_id} {item.record.version or '(all versions)'}"
    what = f"source {item.source_label}" if item.source_label else record
    state = "lifted" if item.lifted else "refuses"
    return item.tombstone_id, what, item.digest[:12], at(item.placed_at), item.purge_order_id, state


@tombstone.command(
    epilog="\b\nExample:\n  discreet tombstone lift 0192f0c1-... --reason 'approved anew' --ticket LEGAL-9"
)
@click.argument("tombstone_id")
@click.option("--reason", required=True, help="Why the content is approved again; it is recorded.")
@click.option("--ticket", required=True, help="The ticket that asked for it.")
@wait_option
@shared_options
def lift(tombstone_id: str, reason: str, ticket: str, wait: float | None) -> None:
    """Let content in again, as a new version. What was revoked stays revoked."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.authority_pb2 import LiftTombstoneRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    request = LiftTombstoneRequest(tenant=settings.tenant, tombstone_id=tombstone_id, reason=reason, ticket=ticket)
    with connect(settings, "operator") as line:
        response = line.call(AuthorityServiceStub(line.channel).LiftTombstone, request)
    tell(settings, f"tombstone {tombstone_id}: lifted; it refuses nothing any more", response)
    wait_for_servers(settings, wait, response)
