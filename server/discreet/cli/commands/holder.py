"""`discreet holder`: who keeps copies of what is disclosed, and is told what must go."""

from typing import TYPE_CHECKING

import click

from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.v1.purge_pb2 import Holder

_REGISTER_EPILOG = """\b
Examples:
  discreet --tenant marlowe holder register threads --keeps segments
  discreet --tenant marlowe holder register vectors --keeps documents --source peps
  discreet --tenant marlowe holder register mirror --keeps documents --webhook https://mirror.example/purge

The secret of a webhook is printed once, and anew when the address changes.
"""


@click.group()
def holder() -> None:
    """Register holders, who keep copies of what is disclosed; remove them, list them."""


@holder.command(epilog=_REGISTER_EPILOG)
@click.argument("name")
@click.option("--keeps", type=click.Choice(("segments", "documents")), required=True, help="What it keeps.")
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="LABEL",
    help="A source whose documents it keeps (default: every source).",
)
@click.option("--webhook", default="", metavar="URL", help="Where items are posted to: https, or http on loopback.")
@shared_options
def register(name: str, keeps: str, sources: tuple[str, ...], webhook: str) -> None:
    """Register an identity as a holder, or change what it keeps. It gets its part in every order there is."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import note, print_tree
    from discreet.cli.shapes import to_tree
    from discreet.cli.telling import say
    from discreet.v1 import purge_pb2
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    kind = purge_pb2.HOLDER_KIND_SEGMENT_STORE if keeps == "segments" else purge_pb2.HOLDER_KIND_DOCUMENT_STORE
    request = purge_pb2.RegisterHolderRequest(
        tenant=settings.tenant, holder=name, kind=kind, source_labels=sources, webhook_url=webhook
    )
    with connect(settings, "operator") as line:
        answer = line.call(PurgeServiceStub(line.channel).RegisterHolder, request)
    if settings.output != "pretty":
        print_tree(settings, to_tree(answer))
        return
    say(f"{name}: registered; {answer.open_items} items of earlier orders are for it", answer.token)
    if answer.webhook_secret:
        note(f"webhook secret, told here alone: {answer.webhook_secret}")


@holder.command(epilog="\b\nExample:\n  discreet --tenant marlowe holder remove threads --reason 'retired'")
@click.argument("name")
@click.option("--reason", required=True, help="Why; it is recorded.")
@shared_options
def remove(name: str, reason: str) -> None:
    """End a registration. None of the holder's open items is closed by it."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.telling import tell
    from discreet.v1.purge_pb2 import RemoveHolderRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    request = RemoveHolderRequest(tenant=settings.tenant, holder=name, reason=reason)
    with connect(settings, "operator") as line:
        answer = line.call(PurgeServiceStub(line.channel).RemoveHolder, request)
    tell(settings, f"{name}: removed; {answer.open_items} of its items stay open", answer)


@holder.command("list", epilog="\b\nExample:\n  discreet --tenant marlowe holder list")
@click.option("--removed", is_flag=True, help="Also those that were removed.")
@shared_options
def list_holders(removed: bool) -> None:
    """List holders, what they keep, and how many items are open."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_table, print_trees
    from discreet.cli.shapes import to_tree
    from discreet.v1.purge_pb2 import ListHoldersRequest
    from discreet.v1.purge_pb2_grpc import PurgeServiceStub

    request = ListHoldersRequest(tenant=settings.tenant, removed=removed)
    with connect(settings, "operator") as line:
        found = line.call(PurgeServiceStub(line.channel).ListHolders, request).holders
    if settings.output != "pretty":
        print_trees(settings, "holders", (to_tree(item) for item in found))
    else:
        columns = ("holder", "keeps", "sources", "posted to", "since", "open items", "posts failed", "state")
        print_table("", columns, [_row(item) for item in found])


def _row(item: "Holder") -> tuple[str, ...]:
    from discreet.cli.shapes import flat, word
    from discreet.cli.telling import at
    from discreet.v1.purge_pb2 import HolderKind

    keeps = word(HolderKind.DESCRIPTOR, item.kind) or ""
    sources = "" if keeps == "SEGMENT_STORE" else flat(item.source_labels) or "all"
    failed = f"{item.post_failures}: {item.post_failure}" if item.post_failures else ""
    state = "removed" if item.removed else "registered"
    counts = (at(item.registered_at), str(item.open_items))
    return item.holder, keeps, sources, item.webhook_url, *counts, failed, state
