"""`discreet policy revisions`: which revisions there were, who published them, and which servers decide under them."""

from typing import TYPE_CHECKING

import click

from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from rich.text import Text

    from discreet.cli.connection import Line
    from discreet.v1.policy_pb2 import PolicyPin, RevisionRecord

PAGE_MAX = 200
SECONDS = len("2026-01-31T12:00:00")
"""Up to where a time is shown in the table."""
COLUMNS = ("revision", "commit", "subject", "author", "published", "by", "servers")


@click.command(epilog="\b\nExamples:\n  discreet policy revisions\n  discreet policy revisions -n 100 -o jsonl")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="At most so many.")
@shared_options
def revisions(limit: int) -> None:
    """List policy revisions, newest first, and what is pinned out."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.paging import pages
    from discreet.cli.printing import note, print_table, print_tree
    from discreet.cli.shapes import to_tree

    pins: list[PolicyPin] = []
    with connect(settings, "operator") as line:
        found, more = pages(lambda size, token: _page(line, size, token, pins), limit)
    if settings.output == "json":
        trees = {"revisions": [to_tree(item) for item in found], "pins": [to_tree(pin) for pin in pins]}
        print_tree(settings, trees)
    elif settings.output == "jsonl":
        for item in found:
            print_tree(settings, to_tree(item))
        for pin in pins:
            print_tree(settings, {"pin": to_tree(pin)})
    else:
        print_table("", COLUMNS, [_row(item) for item in found])
        if pins:
            print_table("pinned out", ("commit", "since", "by", "reason"), [_pin_row(pin) for pin in pins])
    if more:
        note(f"discreet: there are more than {limit}; give a larger -n")


def _page(line: "Line", size: int, token: str, pins: "list[PolicyPin]") -> "tuple[list[RevisionRecord], str]":
    """A page of revisions; what is pinned out stands on every page, and is noted as the last one says it."""
    from discreet.v1.policy_pb2 import ListRevisionsRequest
    from discreet.v1.policy_pb2_grpc import PolicyServiceStub

    request = ListRevisionsRequest(page_size=min(size, PAGE_MAX), page_token=token)
    answer = line.call(PolicyServiceStub(line.channel).ListRevisions, request)
    pins[:] = answer.pins
    return list(answer.revisions), answer.next_page_token


def _row(item: "RevisionRecord") -> "tuple[Text | str, ...]":
    from discreet.cli.printing import lines
    from discreet.cli.telling import at

    revision, origin = item.revision, item.origin
    back = [f"rolled back to {item.rolled_back_to}: {item.reason}"] if item.rolled_back_to else []
    return (
        lines(str(revision.number), *(["in force"] if item.in_force else [])),
        lines(revision.commit[:12] or revision.digest[:12], *(["dirty"] if revision.dirty else [])),
        lines(*filter(None, (origin.subject, *back))),
        origin.author.partition(" <")[0],
        f"{at(item.published_at)[:SECONDS]}Z",
        origin.publisher,
        lines(*item.servers),
    )


def _pin_row(pin: "PolicyPin") -> tuple[str, ...]:
    from discreet.cli.telling import at

    return pin.pinned[:12], f"{at(pin.at)[:SECONDS]}Z", pin.actor, pin.reason
