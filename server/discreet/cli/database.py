"""A database's report and its adoption as people and programs read them. Decides nothing, changes nothing."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from discreet.cli.errors import InputError
from discreet.cli.printing import print_pairs, print_table
from discreet.cli.times import format_micros
from discreet.server.ports import Adoption, Head
from discreet.server.reading.high_water import UNREADABLE, HighWater
from discreet.server.stores.keeping import Adopted, Marks, Report

LATER = (
    "every token of before is refused from now on. What was registered, granted, suspended, held or revoked in events"
    " that were lost is not known here: do it again before servers go on"
)


def existing_state(state: str) -> Path:
    """A server's state directory, which must be there."""
    if not Path(state).is_dir():
        raise InputError(f"--state: {state} is no directory", "name the one that the server was given")
    return Path(state)


def compare_with(state: Path, lost: str = "") -> Callable[[Head, list[Adoption]], Marks]:
    """Compares a database with what the server of a state directory has seen.

    `lost`: the name of a server whose directory is lost, so that nobody knows what it has seen.
    """
    from discreet.server.errors import StoreRefused

    water = HighWater(state)

    def compare(head: Head, adoptions: list[Adoption]) -> Marks:
        said = ""
        try:
            water.require(head, adoptions)
        except StoreRefused as error:
            said = str(error)
        if lost and not water.knows(head, adoptions):
            said = said or f"what the server {lost} has seen of the database is not known"
        return Marks(said, water.seen(head, adoptions), water.ahead(head, adoptions))

    return compare


def report_tree(report: Report) -> dict[str, Any]:
    """A report as JSON."""
    head = report.head
    return {
        "kind": report.kind,
        "database": report.shown,
        "version": report.version,
        "bound_to": report.bound_to,
        "schema": report.schema,
        "epoch": None if head is None else head.epoch,
        "seq": None if head is None else head.seq,
        "changed_seq": None if head is None else head.changed_seq,
        "policy_revision": None if head is None else head.policy_revision,
        "adoptions": [_adoption_tree(one) for one in report.adoptions],
        "durability": report.durability,
        "counts": report.counts,
        "faults": [asdict(fault) for fault in report.faults],
    }


def print_report(report: Report) -> None:
    """Prints a report for people."""
    head = report.head
    pairs: list[tuple[str, object]] = [
        ("database", report.shown), ("version", report.version), ("bound to", report.bound_to),
        ("schema", report.schema or ""),
    ]  # fmt: skip
    if head is not None:
        pairs += [("epoch", head.epoch), ("events", str(head.seq)), ("policy revision", str(head.policy_revision))]
    pairs += [(name, value) for name, value in report.durability.items()]
    pairs += [(f"rows of {name}", str(count)) for name, count in report.counts.items()]
    print_pairs(pairs)
    if report.adoptions:
        rows = [(format_micros(one.at), one.actor, str(one.found_seq), one.reason) for one in report.adoptions]
        print_table("", ("adopted at", "by", "as of event", "because"), rows)
    if report.faults:
        print_table("", ("wrong", "what to do"), [(fault.what, fault.remedy) for fault in report.faults])
    else:
        click.echo("nothing is wrong")


def print_adopted(done: Adopted) -> None:
    """Prints what an adoption means."""
    given = done.adoption
    click.echo(f"{done.shown} is adopted as it was at event {given.found_seq}; its epoch is {given.epoch} from now on")
    if done.moved:
        click.echo("it is on another system or timeline than the one that its epoch belonged to")
    for epoch, last in done.lost.items():
        upto = "nobody can say how many: the mark cannot be read" if last == UNREADABLE else f"up to event {last}"
        click.echo(f"lost, of epoch {epoch}: what came after event {given.found_seq}, {upto}")
    if not done.lost:
        click.echo("no server's mark that was looked at says that anything was lost; a mark may be a second behind")
    click.echo(LATER)


def adopted_tree(done: Adopted) -> dict[str, Any]:
    """An adoption as JSON; of what was lost, the last number of each epoch, or null where nobody knows it."""
    lost = {epoch: None if last == UNREADABLE else last for epoch, last in done.lost.items()}
    return {**_adoption_tree(done.adoption), "moved": done.moved, "lost_up_to": lost}


def _adoption_tree(one: Adoption) -> dict[str, Any]:
    return {
        "epoch": one.epoch,
        "previous_epoch": one.previous,
        "found_seq": one.found_seq,
        "accepted": dict(one.accepted),
        "at": format_micros(one.at),
        "actor": one.actor,
        "reason": one.reason,
    }
