"""`discreet audit`: what was decided, and why. The rest of the group is in the modules audit_*."""

from typing import TYPE_CHECKING

import click

from discreet.cli.commands.audit_acts import acts
from discreet.cli.commands.audit_chain import head, verify
from discreet.cli.commands.audit_saw import what_saw, who_saw
from discreet.cli.errors import InputError
from discreet.cli.escaping import safe
from discreet.cli.settings import Settings, current, listing_options, shared_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.v1.audit_pb2 import DecisionRecord, QueryDecisionsRequest


FOLLOW_MAX = 100_000
"""How many decisions `--follow` takes in at once."""


@click.group()
def audit() -> None:
    """List decisions and explain one; list who did what, and who saw what; prove that the record is whole."""


for _command in (acts, who_saw, what_saw, head, verify):
    audit.add_command(_command)


_QUERY_EPILOG = """\b
Examples:
  discreet --tenant marlowe audit query --since 2h --verdict WITHHOLD
  discreet --tenant marlowe audit query --record pep-0020 --since 2026-01-01 -o csv
  discreet --tenant marlowe audit query --verdict PURGE --follow
"""


@audit.command(epilog=_QUERY_EPILOG)
@click.option("--principal", default="", metavar="PRINCIPAL_ID", help="Asked for this principal.")
@click.option("--session", default="", metavar="SESSION_ID", help="In this session.")
@click.option("--record", default="", metavar="RECORD_ID", help="Resting on this record.")
@click.option("--source", default="", metavar="LABEL", help="Resting on a record of this source.")
@click.option("--verdict", default="", metavar="ALLOW|WITHHOLD|PURGE", help="With this verdict.")
@click.option("--reason", default="", metavar="REASON", help="For this reason, for example SUPERSEDED.")
@click.option("--rule", default="", metavar="RULE_ID", help="Decided by this rule.")
@click.option("--moment", default="", metavar="RETRIEVE|PUBLISH|REPLAY|EXPORT", help="At this moment.")
@click.option("--since", default="", metavar="TIME", help="From then on; a span back such as 2h, a day, RFC 3339.")
@click.option("--until", default="", metavar="TIME", help="Up to then; a span back such as 30m, a day, RFC 3339.")
@click.option("--revision", type=click.IntRange(0), default=0, help="Under this policy revision.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@click.option("--follow", is_flag=True, help="Go on with new ones as they come, oldest first, until Ctrl-C.")
@click.option(
    "--every",
    type=click.FloatRange(0.05, 3_600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="With --follow: how often to look.",
)
@listing_options
def query(limit: int, follow: bool, every: float, **filters: str | int) -> None:
    """List the decisions that match all filters given, newest first."""
    settings = current()
    from discreet.cli.audit_asking import decisions_page, request_of
    from discreet.v1.audit_pb2 import QueryDecisionsRequest

    request = request_of(QueryDecisionsRequest, settings.tenant, filters)
    if follow:
        _follow(settings, request, every)
        return
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree

    with connect(settings, "auditor") as line:
        found, more = pages(lambda size, token: decisions_page(line, request, size, token), limit)
    if settings.output == "csv":
        from discreet.cli.decisions import SHEET, decision_cells
        from discreet.cli.sheets import print_sheet

        print_sheet(SHEET, (decision_cells(item) for item in found))
    elif settings.output != "pretty":
        print_trees(settings, "decisions", (to_tree(item) for item in found))
    else:
        from discreet.cli.decisions import COLUMNS, decision_row

        print_table("", COLUMNS, [decision_row(item) for item in found])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit, or narrower filters")


def _follow(settings: Settings, request: "QueryDecisionsRequest", every: float) -> None:
    """Prints decisions as they come, from `--since` on or from now on, until Ctrl-C."""
    import time

    from discreet.cli.audit_asking import decisions_page
    from discreet.cli.connection import connect
    from discreet.cli.following import follow
    from discreet.cli.paging import pages
    from discreet.cli.printing import note

    if settings.output == "json":
        raise InputError("--follow prints no end, and so no JSON that is whole", "give -o jsonl")
    if request.HasField("until"):
        raise InputError("--follow and --until: what is to come has no end", "leave one of them out")
    show = _shower(settings)
    since = request.since.ToMicroseconds() if request.HasField("since") else time.time_ns() // 1_000

    def wait() -> bool:
        time.sleep(every)  # the pause that `--every` names, between two looks
        return True

    try:
        with connect(settings, "auditor") as line:

            def ask(since_us: int) -> "list[DecisionRecord]":
                request.since.FromMicroseconds(since_us)
                found, more = pages(lambda size, token: decisions_page(line, request, size, token), FOLLOW_MAX)
                if more:
                    note(f"discreet: there were more than {FOLLOW_MAX} at once; the oldest are left out")
                return found

            follow(ask, show, wait, since)
    except KeyboardInterrupt:
        return


def _shower(settings: Settings) -> "Callable[[DecisionRecord], None]":
    from discreet.cli.decisions import SHEET, decision_cells, decision_line
    from discreet.cli.printing import print_tree
    from discreet.cli.shapes import to_tree
    from discreet.cli.sheets import sheet_line

    if settings.output == "csv":
        click.echo(sheet_line(SHEET))
        return lambda item: click.echo(sheet_line(decision_cells(item)))
    if settings.output == "jsonl":
        return lambda item: print_tree(settings, to_tree(item))
    return lambda item: click.echo(safe(decision_line(item)))


@audit.command(epilog="\b\nExample:\n  discreet --tenant marlowe audit explain 0196c2f4-...")
@click.argument("decision_id")
@shared_options
def explain(decision_id: str) -> None:
    """Explain one decision: the gates in their order, the facts with their revisions, the rule."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.printing import print_tree
    from discreet.cli.shapes import to_tree
    from discreet.v1.audit_pb2 import ExplainRequest
    from discreet.v1.audit_pb2_grpc import AuditServiceStub

    request = ExplainRequest(tenant=settings.tenant, decision_id=decision_id)
    with connect(settings, "auditor") as line:
        response = line.call(AuditServiceStub(line.channel).Explain, request)
    if settings.output != "pretty":
        print_tree(settings, to_tree(response))
        return
    from discreet.cli.decisions import print_explanation

    print_explanation(response)
