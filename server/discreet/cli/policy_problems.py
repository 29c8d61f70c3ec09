"""What is wrong with a policy set, and what is legal but most likely not meant, as a person or a tool reads it.

One way for all commands that look at a set. Decides nothing, and knows nothing of what a command does with a set.
"""

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from discreet.cli.escaping import safe
from discreet.cli.printing import print_tree
from discreet.cli.reading import Tree
from discreet.cli.settings import Settings

if TYPE_CHECKING:
    from discreet.policy.check import Report
    from discreet.policy.problems import PolicyProblem

    Owners = Mapping[str, tuple[str, ...]]


def checked(files: Mapping[str, bytes]) -> "Report":
    """All problems of a folder's policies and tests, or where there are none its warnings."""
    from discreet.policy.check import check_set

    with uncollected():
        return check_set(files)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses the search for cycles: a large set makes millions of objects that live as long as the command."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def report_tree(report: "Report") -> "dict[str, Tree]":
    """A report as plain values."""
    return {
        "problems": [_tree(item, report.owners) for item in report.problems],
        "warnings": warning_trees(report),
    }


def warning_trees(report: "Report") -> "list[Tree]":
    """The warnings of a report as plain values."""
    return [_tree(item, report.owners) for item in report.warnings]


def print_report(report: "Report") -> None:
    """Prints each problem and each warning on a line of its own."""
    for item in report.problems:
        _echo(str(item), item, report.owners)
    for item in report.warnings:
        hint = f"; {item.hint}" if item.hint else ""
        _echo(f"{item.place}: warning: {item.message}{hint}", item, report.owners)


def print_problems(settings: Settings, problems: "tuple[PolicyProblem, ...]") -> None:
    """Prints problems, of whatever file, in the form that the user chose."""
    from discreet.policy.check import Report

    report = Report(problems, ())
    if settings.output == "pretty":
        print_report(report)
    else:
        print_tree(settings, report_tree(report))


def counted(count: int, what: str) -> str:
    """How many there are of something."""
    return f"{count} {what}{'' if count == 1 else 's'}"


def _tree(item: "PolicyProblem", owners: "Owners") -> "dict[str, Tree]":
    """A problem as plain values; `owners` only where the set names any for its file."""
    tree: dict[str, Tree] = {
        "file": item.file, "line": item.line, "column": item.column, "code": str(item.code),
        "message": item.message, "hint": item.hint,
    }  # fmt: skip
    teams = owners.get(item.file, ())
    return tree | ({"owners": list(teams)} if teams else {})


def _echo(line: str, item: "PolicyProblem", owners: "Owners") -> None:
    teams = owners.get(item.file, ())
    click.echo(safe(line + (f" (owners: {', '.join(teams)})" if teams else "")))
