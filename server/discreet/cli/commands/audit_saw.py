"""`discreet audit who-saw` and `what-saw`: what came before whom, as far as the audit can know."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import Settings, current, listing_options

if TYPE_CHECKING:
    from discreet.v1.audit_pb2 import DecisionRecord

_TIMES = (
    click.option("--since", default="", metavar="TIME", help="From then on; a span back such as 2h, a day, RFC 3339."),
    click.option("--until", default="", metavar="TIME", help="Up to then; a span back such as 30m, a day, RFC 3339."),
    click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="Look at so many."),
)


def _times(command: Any) -> Any:
    for option in reversed(_TIMES):
        command = option(command)
    return command


@click.command("who-saw", epilog="\b\nExample:\n  discreet --tenant marlowe audit who-saw pep-0020 --since yesterday")
@click.argument("record_id")
@click.option("--version", default="", metavar="VERSION", help="This version alone.")
@_times
@listing_options
def who_saw(record_id: str, version: str, limit: int, since: str, until: str) -> None:
    """List what was allowed that rests on a record, and to whom; newest first."""
    from discreet.cli.seen import names, rests_on

    if not record_id:
        raise InputError("RECORD_ID is empty", "name a record")
    _list(
        current(),
        {"record": record_id, "since": since, "until": until},
        limit,
        lambda item: rests_on(item, record_id, version),
        lambda item: names(item, record_id, version),
    )


@click.command(
    "what-saw", epilog="\b\nExample:\n  discreet --tenant marlowe audit what-saw ana --since 2026-01-31 -o csv"
)
@click.argument("principal_id")
@_times
@listing_options
def what_saw(principal_id: str, limit: int, since: str, until: str) -> None:
    """List what a person was allowed to see; newest first."""
    if not principal_id:
        raise InputError("PRINCIPAL_ID is empty", "name a principal")
    filters = {"principal": principal_id, "since": since, "until": until}
    _list(current(), filters, limit, lambda _: True, lambda _: True)


def _list(
    settings: Settings,
    filters: Mapping[str, str],
    limit: int,
    wanted: "Callable[[DecisionRecord], bool]",
    itself: "Callable[[DecisionRecord], bool]",
) -> None:
    from discreet.cli.audit_asking import decisions_page, request_of
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.seen import COLUMNS, SHEET, how_far, seen_cells, seen_row
    from discreet.cli.shapes import to_tree
    from discreet.cli.sheets import print_sheet
    from discreet.v1.audit_pb2 import QueryDecisionsRequest

    request = request_of(QueryDecisionsRequest, settings.tenant, {**filters, "verdict": "ALLOW"})
    with connect(settings, "auditor") as line:
        found, more = pages(lambda size, token: decisions_page(line, request, size, token), limit)
    kept = [item for item in found if wanted(item)]
    if settings.output == "csv":
        print_sheet(SHEET, (seen_cells(item, itself(item)) for item in kept))
    elif settings.output != "pretty":
        print_trees(
            settings,
            "seen",
            ({"how_far": how_far(item), "named_itself": itself(item), **to_tree(item)} for item in kept),
        )
    else:
        print_table("", COLUMNS, [seen_row(item, itself(item)) for item in kept])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit, or narrower times")
