"""`discreet policy`: start a policy set, check it, test it. Needs no server."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.commands.policy_explain import explain
from discreet.cli.commands.policy_fmt import fmt
from discreet.cli.commands.policy_testing import test
from discreet.cli.errors import InputError, PolicySetError
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.cli.reading import Tree
    from discreet.policy.problems import PolicyProblem

_NEXT_STEPS = """\
Next:
  discreet policy check {where}
  discreet policy test {where}
  git -C {where} init && git -C {where} add . && git -C {where} commit -m 'first policy set'
  discreet serve --policy {where}"""


@click.group()
def policy() -> None:
    """Start a policy set, check it, test it; no server is needed."""


policy.add_command(fmt)
policy.add_command(explain)


@policy.command(epilog="\b\nExample:\n  discreet policy init policies")
@click.argument("directory", type=click.Path(path_type=Path))
@shared_options
def init(directory: Path) -> None:
    """Write a policy set to start from, with its tests. Never overwrites a file."""
    settings = current()
    from discreet.cli.printing import note, print_tree
    from discreet.policy.starter import starter_files

    files = starter_files()
    taken = [name for name in files if (directory / name).exists()]
    if taken:
        raise InputError(f"{directory / taken[0]} exists already", "name a new directory")
    try:
        for name, data in files.items():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_bytes(data)
    except OSError as error:
        raise InputError(f"{directory}: {(error.strerror or 'cannot be written').lower()}") from None
    if settings.output != "pretty":
        print_tree(settings, {"files": sorted(files)})
        return
    for name in sorted(files):
        note(f"wrote {directory / name}")
    note(_NEXT_STEPS.format(where=directory))


@policy.command(epilog="\b\nExample:\n  discreet policy check policies\n\nExit code: 0 good, 3 the set has problems.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings count as problems.")
@shared_options
def check(directory: Path, strict: bool) -> None:
    """Check a policy set: every problem at once, with file, line, column and what would be right."""
    settings = current()
    from discreet.policy.check import check_set

    report = check_set(read_folder(directory))
    problems, warnings = report.problems, report.warnings
    if settings.output != "pretty":
        from discreet.cli.printing import print_tree

        found = [problem_tree(item) for item in problems]
        print_tree(settings, {"problems": found, "warnings": [problem_tree(item) for item in warnings]})
    else:
        _print_problems(problems, warnings)
    failed = len(problems) + (len(warnings) if strict else 0)
    if failed:
        raise PolicySetError(f"{_counted(failed, 'problem')} in {directory}", "nothing of it can come into force")
    if settings.output == "pretty":
        from discreet.cli.printing import note

        note(f"{directory}: good" + (f", {_counted(len(warnings), 'warning')}" if warnings else ""))


policy.add_command(test)


def read_folder(directory: Path) -> dict[str, bytes]:
    """The files of a policy set, as the server would read them with --dirty. Raises InputError, PolicySetError."""
    from discreet.server.policies.errors import SourceRefused, SourceUnavailable
    from discreet.server.policies.tree import files_of_folder

    if not directory.is_dir():
        raise InputError(f"{directory} is no directory", "name the directory of a policy set")
    try:
        return files_of_folder(directory)
    except SourceUnavailable as error:
        raise InputError(str(error)) from None
    except SourceRefused as error:
        raise PolicySetError(str(error)) from None


def problem_tree(item: "PolicyProblem") -> "dict[str, Tree]":
    """A problem as plain values."""
    return {
        "file": item.file, "line": item.line, "column": item.column, "code": str(item.code),
        "message": item.message, "hint": item.hint,
    }  # fmt: skip


def _print_problems(problems: "tuple[PolicyProblem, ...]", warnings: "tuple[PolicyProblem, ...]") -> None:
    from discreet.cli.escaping import safe

    for item in problems:
        click.echo(safe(str(item)))
    for item in warnings:
        click.echo(safe(f"{item.place}: warning: {item.message}" + (f"; {item.hint}" if item.hint else "")))


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def print_policy_problems(settings: Settings, problems: "tuple[PolicyProblem, ...]") -> None:
    """Prints problems in the form that the user chose."""
    if settings.output == "pretty":
        _print_problems(problems, ())
        return
    from discreet.cli.printing import print_tree

    print_tree(settings, {"problems": [problem_tree(item) for item in problems], "warnings": []})
