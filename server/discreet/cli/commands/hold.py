"""`discreet hold`: legal holds. What is under one is kept, shown to nobody, and purged by nobody."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.v1.purge_pb2 import Hold

_PLACE_EPILOG = """\b
Examples:
  discreet hold place pep-0020 33 --reason litigation --ticket LEGAL-7
  discreet hold place pep-0020 --reason litigation --ticket LEGAL-7
  discreet hold place --source old-wiki --reason litigation --ticket LEGAL-7

Without VERSION every version of the record is held, those to come too.
"""


@click.group()
def hold() -> None:
    """Place legal holds, lift them, list them."""


@hold.command(epilog=_PLACE_EPILOG)
@click.argument("record_id", required=False, default="")
@click.argument("version", required=False, default="")
@click.option("--source", default="", metavar="LABEL", help="Everything under a source, what is to come too.")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.option("--ticket", required=True, help="The ticket that asked for it.")
@wait_option
@shared_options
def place(record_id: str, version: str, source: str, reason: str, ticket: str, wait: float | None) -> None:
    """Keep a version, a record or a source, whatever is revoked; hides it while it is held."""
    if bool(record_id) == bool(source):
        raise InputError("neither or both of RECORD_ID and --source", "say what is to be held, in one way")
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.purge_pb2 import PlaceHoldRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    request = PlaceHoldRequest(tenant=settings.tenant, reason=reason, ticket=ticket)
    if source:
        request.source_label = source
    else:
        request.record.record_id, request.record.version = record_id, version
    with connect(settings, "operator") as line:
        response = line.call(PurgeServiceStub(line.channel).PlaceHold, request)
    what = f"source {source}" if source else " ".join(filter(None, (record_id, version)))
    counts = f"{response.recalled_items} items recalled, {response.purged_before} purged before"
    tell(settings, f"{what}: held; hold {response.hold_id}; {counts}", response)
    wait_for_servers(settings, wait, response)


@hold.command(epilog="\b\nExample:\n  discreet hold lift 0192f0c1-... --reason settled --ticket LEGAL-7")
@click.argument("hold_id")
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.option("--ticket", required=True, help="The ticket that asked for it.")
@wait_option
@shared_options
def lift(hold_id: str, reason: str, ticket: str, wait: float | None) -> None:
    """End a hold; what was revoked under it is to be purged again."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.purge_pb2 import LiftHoldRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    request = LiftHoldRequest(tenant=settings.tenant, hold_id=hold_id, reason=reason, ticket=ticket)
    with connect(settings, "operator") as line:
        response = line.call(PurgeServiceStub(line.channel).LiftHold, request)
    tell(settings, f"hold {hold_id}: lifted", response)
    wait_for_servers(settings, wait, response)


@hold.command("list", epilog="\b\nExample:\n  discreet hold list")
@shared_options
def list_holds() -> None:
    """List the holds that stand."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_table, print_trees
    from discreet.cli.shapes import to_tree
    from discreet.v1.purge_pb2 import ListHoldsRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    with connect(settings, "operator") as line:
        found = line.call(PurgeServiceStub(line.channel).ListHolds, ListHoldsRequest(tenant=settings.tenant)).holds
    if settings.output != "pretty":
        print_trees(settings, "holds", (to_tree(item) for item in found))
    else:
        print_table("", ("hold", "what", "since", "by", "ticket", "reason"), [_row(item) for item in found])


def _row(item: "Hold") -> tuple[str, ...]:
    from discreet.cli.telling import at

    record = f"{item.record.record_id} {item.record.version or '(all versions)'}"
    what = f"source {item.source_label}" if item.source_label else record
    return item.hold_id, what, at(item.placed_at), item.actor, item.ticket, item.reason
