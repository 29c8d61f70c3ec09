"""`discreet freeze`, `unfreeze` and `freezes`: a source, a tenant or everything withheld at once, for a time."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.v1.authority_pb2 import FreezeInfo

_EPILOG = """\b
Examples:
  discreet freeze old-wiki --for 2h --reason 'leak reported'
  discreet freeze --whole-tenant --tenant marlowe --for 30m --reason 'leak reported'
  discreet freeze --all --for 30m --reason 'leak reported'

Hides, deletes nothing, and ends by itself, after 31 days at most.
"""


@click.command(epilog=_EPILOG)
@click.argument("source", required=False, default="", metavar="[SOURCE]")
@click.option("--whole-tenant", is_flag=True, help="Everything of the tenant.")
@click.option(
    "--all", "everything", is_flag=True, help="Every tenant; for identities that are entitled to all of them."
)
@click.option("--for", "span", required=True, metavar="SPAN", help="How long: a number and a unit, such as 30m or 2h.")
@click.option("--reason", required=True, help="Why; it is recorded.")
@wait_option
@shared_options
def freeze(source: str, whole_tenant: bool, everything: bool, span: str, reason: str, wait: float | None) -> None:
    """Withhold a source, a tenant or everything at once, for a time."""
    if bool(source) + whole_tenant + everything != 1:
        raise InputError("not exactly one of SOURCE, --whole-tenant and --all", "say what is to be frozen")
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import at, tell, timestamp
    from discreet.cli.times import parse_span
    from discreet.v1.authority_pb2 import FreezeRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    parse_span(span)
    request = FreezeRequest(
        tenant="" if everything else settings.tenant, source_label=source, everything=everything, reason=reason,
        until=timestamp(f"+{span.strip()}"),
    )  # fmt: skip
    with connect(settings, "operator") as line:
        response = line.call(AuthorityServiceStub(line.channel).Freeze, request)
    what = f"source {source}" if source else "everything" if everything else "the whole tenant"
    tell(settings, f"{what}: frozen until {at(request.until)}; freeze {response.freeze_id}", response)
    wait_for_servers(settings, wait, response)


@click.command(epilog="\b\nExample:\n  discreet unfreeze 0192f0c1-... --reason 'checked'")
@click.argument("freeze_id")
@click.option("--all", "everything", is_flag=True, help="It is a freeze of every tenant.")
@click.option("--reason", required=True, help="Why; it is recorded.")
@wait_option
@shared_options
def unfreeze(freeze_id: str, everything: bool, reason: str, wait: float | None) -> None:
    """End a freeze before its time."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.authority_pb2 import UnfreezeRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    tenant = "" if everything else settings.tenant
    request = UnfreezeRequest(tenant=tenant, freeze_id=freeze_id, reason=reason)
    with connect(settings, "operator") as line:
        response = line.call(AuthorityServiceStub(line.channel).Unfreeze, request)
    tell(settings, f"freeze {freeze_id}: over", response)
    wait_for_servers(settings, wait, response)


@click.command(epilog="\b\nExample:\n  discreet freezes")
@shared_options
def freezes() -> None:
    """List the freezes that stand, those of every tenant included."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_table, print_trees
    from discreet.cli.shapes import to_tree
    from discreet.v1.authority_pb2 import ListFreezesRequest
    from discreet.v1.authority_pb2_grpc import AuthorityServiceStub

    with connect(settings, "operator") as line:
        request = ListFreezesRequest(tenant=settings.tenant)
        found = line.call(AuthorityServiceStub(line.channel).ListFreezes, request).freezes
    if settings.output != "pretty":
        print_trees(settings, "freezes", (to_tree(item) for item in found))
    else:
        print_table("", ("freeze", "what", "until", "by", "reason"), [_row(item) for item in found])


def _row(item: "FreezeInfo") -> tuple[str, ...]:
    from discreet.cli.telling import at

    what = f"source {item.source_label}" if item.source_label else "the whole tenant" if item.tenant else "everything"
    return item.freeze_id, what, at(item.until), item.actor, item.reason
