"""`discreet audit`: what was decided, and why, and whether the record is whole."""

from typing import TYPE_CHECKING

import click

from discreet.cli.commands.audit_chain import head, verify
from discreet.cli.errors import InputError
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.v1.audit_pb2 import DecisionRecord, QueryDecisionsRequest


@click.group()
def audit() -> None:
    """List decisions, explain one; export the ends of the chain, verify it."""


audit.add_command(head)
audit.add_command(verify)


_QUERY_EPILOG = """\b
Examples:
  discreet --tenant marlowe audit query --since 2h --verdict WITHHOLD
  discreet --tenant marlowe audit query --record pep-0020 --since 2026-01-01T00:00:00Z -o jsonl
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
@click.option("--since", default="", metavar="TIME", help="From then on: RFC 3339, or a span back such as 2h.")
@click.option("--until", default="", metavar="TIME", help="Up to then: RFC 3339, or a span back such as 30m.")
@click.option("--revision", type=click.IntRange(0), default=0, help="Under this policy revision.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=100, show_default=True, help="At most so many.")
@shared_options
def query(limit: int, **filters: str | int) -> None:
    """List the decisions that match all filters given, newest first."""
    settings = current()
    request = _request(settings.tenant, filters)
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_trees
    from discreet.cli.shapes import to_tree

    with connect(settings, "auditor") as line:
        found, more = pages(lambda size, token: _page(line, request, size, token), limit)
    if settings.output != "pretty":
        print_trees(settings, "decisions", (to_tree(item) for item in found))
    else:
        from discreet.cli.decisions import COLUMNS, decision_row

        print_table("", COLUMNS, [decision_row(item) for item in found])
    if more:
        note(f"discreet: there are more than {limit}; give a larger --limit, or narrower filters")


def _request(tenant: str, filters: dict[str, str | int]) -> "QueryDecisionsRequest":
    import time

    from discreet.cli.messages import build
    from discreet.cli.times import format_micros, parse_moment_of_time
    from discreet.v1.audit_pb2 import QueryDecisionsRequest

    now = time.time_ns() // 1_000
    names = {"principal": "principal_id", "session": "session_id", "record": "record_id", "source": "source_label",
             "revision": "policy_revision"}  # fmt: skip
    tree = {names.get(name, name): value for name, value in filters.items() if value}
    for name in ("verdict", "reason", "moment"):
        if name in tree:
            tree[name] = str(tree[name]).upper()
    for name in ("since", "until"):
        if name in tree:
            try:
                tree[name] = format_micros(parse_moment_of_time(str(tree[name]), now))
            except InputError as error:
                raise InputError(f"--{name}: {error.message}", error.hint) from None
    return build(QueryDecisionsRequest, {"tenant": tenant, **tree} if tenant else {**tree})


def _page(line: "Line", request: "QueryDecisionsRequest", size: int, token: str) -> "tuple[list[DecisionRecord], str]":
    from discreet.v1.audit_pb2_grpc import AuditServiceStub

    request.page_size = size
    request.page_token = token
    answer = line.call(AuditServiceStub(line.channel).QueryDecisions, request)
    return list(answer.decisions), answer.next_page_token


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
