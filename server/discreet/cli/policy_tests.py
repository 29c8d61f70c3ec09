"""The results of a policy set's tests as a person or a tool reads them. Runs nothing itself."""

from collections.abc import Sequence
from pathlib import Path

import click

from discreet.cli.errors import InputError, PolicySetError, PolicyTestsFailed
from discreet.cli.escaping import safe
from discreet.cli.printing import note, print_tree
from discreet.cli.reading import Tree
from discreet.cli.settings import Settings
from discreet.policy.testing import CaseResult


def report(settings: Settings, directory: Path, results: Sequence[CaseResult]) -> None:
    """Prints what became of each case. Raises PolicyTestsFailed where one failed, InputError where there is none."""
    failed = [result for result in results if not result.passed]
    if settings.output == "json":
        print_tree(settings, {"passed": len(results) - len(failed), "failed": len(failed), "cases": _trees(results)})
    elif settings.output == "jsonl":
        for tree in _trees(results):
            print_tree(settings, tree)
    else:
        for result in results:
            _print(result)
    if not results:
        raise InputError(f"{directory} holds no tests", "write a PolicyTest in a file named *_test.yaml")
    if failed:
        raise PolicyTestsFailed(
            f"{len(failed)} of {len(results)} cases failed", "mend the policy, or what the case expects"
        )
    note(f"{len(results)} cases passed")


def _print(result: CaseResult) -> None:
    click.echo(safe(f"{'ok  ' if result.passed else 'FAIL'} {result.place}: {result.name}"))
    for difference in result.differences:
        click.echo(safe(f"       {difference}"))


def _trees(results: Sequence[CaseResult]) -> list[Tree]:
    return [
        {
            "file": result.file,
            "line": result.line,
            "test": result.test,
            "name": result.name,
            "passed": result.passed,
            "differences": [
                {"what": item.what, "expected": item.expected, "found": item.found} for item in result.differences
            ],
        }
        for result in results
    ]


def refused(problems: int, directory: Path) -> PolicySetError:
    """The error for a set that cannot be tested since it is not well-formed."""
    counted = f"{problems} problem{'' if problems == 1 else 's'}"
    return PolicySetError(f"{counted} in {directory}", "nothing was run")
