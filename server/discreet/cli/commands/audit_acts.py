"""`discreet audit acts`: who approved, suspended, revoked what, and what was refused."""

import click

from discreet.cli.settings import current, listing_options

_EPILOG = """\b
Examples:
  discreet --tenant marlowe audit acts --method Suspend --since yesterday
  discreet --tenant marlowe audit acts --record pep-0020 --version 33
  discreet --tenant marlowe audit acts --act READ --principal ana
  discreet audit acts --actor olga --since 2026-01-01 --until 2026-02-01 -o csv
"""


@click.command(epilog=_EPILOG)
@click.option("--act", default="", metavar="CHANGE|REFUSED|SHOWN|READ", help="Of this kind (default: any but READ).")
@click.option("--method", default="", metavar="METHOD", help="By this method, for example RevokeRetention.")
@click.option("--actor", default="", metavar="NAME", help="By this identity, as the server's configuration names it.")
@click.option(
    "--principal", default="", metavar="PRINCIPAL_ID", help="On this principal's grants, shown to it, or read of it."
)
@click.option("--record", default="", metavar="RECORD_ID", help="On this record.")
@click.option("--version", default="", metavar="VERSION", help="On this version of it.")
@click.option("--ticket", default="", metavar="TICKET", help="Asked for by this ticket.")
@click.option("--subject", default="", metavar="ID", help="On this purge order, hold, freeze, tombstone or approval.")
@click.option("--since", default="", metavar="TIME", help="From then on; a span back such as 2h, a day, RFC 3339.")
@click.option("--until", default="", metavar="TIME", help="Up to then; a span back such as 30m, a day, RFC 3339.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@listing_options
def acts(limit: int, **filters: str) -> None:
    """List changes, refusals and reports of what was shown that match all filters given, newest first."""
    settings = current()
    from discreet.cli.audit_asking import acts_page, request_of
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree
    from discreet.cli.sheets import print_sheet
    from discreet.v1.audit_pb2 import QueryActsRequest

    request = request_of(QueryActsRequest, settings.tenant, filters)
    with connect(settings, "auditor") as line:
        found, more = pages(lambda size, token: acts_page(line, request, size, token), limit)
    from discreet.cli.acts import COLUMNS, SHEET, act_cells, act_row

    if settings.output == "csv":
        print_sheet(SHEET, (act_cells(item) for item in found))
    elif settings.output != "pretty":
        print_trees(settings, "acts", (to_tree(item) for item in found))
    else:
        print_table("", COLUMNS, [act_row(item) for item in found])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit, or narrower filters")
