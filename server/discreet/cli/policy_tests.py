"""The results of a policy set's tests as a person or a tool reads them. Runs nothing itself."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import click

from discreet.cli.errors import InputError, PolicySetError, PolicyTestsFailed
from discreet.cli.escaping import safe
from discreet.cli.printing import note, print_tree
from discreet.cli.reading import Tree
from discreet.cli.settings import Settings
from discreet.policy.testing import CaseResult, Difference, StepResult


def report(settings: Settings, results: Sequence[CaseResult], more: dict[str, Tree]) -> None:
    """Prints what became of each case.

    `more` is what was found besides, for JSON alone; in JSON lines what is empty of it is left out.
    """
    failed = [result for result in results if not result.passed]
    if settings.output == "json":
        counted: dict[str, Tree] = {"passed": len(results) - len(failed), "failed": len(failed)}
        print_tree(settings, {**counted, "cases": [tree_of(result) for result in results], **more})
    elif settings.output == "jsonl":
        for result in results:
            print_tree(settings, tree_of(result))
        for name, value in more.items():
            if value:
                print_tree(settings, {name: value})
    else:
        for head, cases in groupby(results, _head):
            click.echo(safe(head))
            for result in cases:
                _print(result)


def judge(results: Sequence[CaseResult], directory: Path, wanted: str) -> None:
    """Says how many passed. Raises PolicyTestsFailed where one failed, InputError where there is none."""
    failed = [result for result in results if not result.passed]
    if not results and wanted:
        raise InputError(f"no case in {directory} is called so", "--filter takes a piece of a name or of a file")
    if not results:
        raise InputError(f"{directory} holds no tests", "write a PolicyTest in a file named *_test.yaml")
    if failed:
        raise PolicyTestsFailed(
            f"{len(failed)} of {len(results)} cases failed", "mend the policy, or what the case expects"
        )
    note("1 case passed" if len(results) == 1 else f"{len(results)} cases passed")


def _head(result: CaseResult) -> str:
    where = f" in {result.environment}" if result.environment else ""
    return f"{result.file}: {result.test}{where}"


def _print(result: CaseResult) -> None:
    counted = f" ({len(result.steps)} steps)" if result.steps else ""
    if result.passed:
        click.echo(safe(f"  ok   {result.name}{counted}"))
        return
    click.echo(safe(f"  FAIL {result.place}: {result.name}{counted}"))
    if not result.steps:
        for difference in result.differences:
            click.echo(safe(f"         {difference}"))
    for number, step in enumerate(result.steps, start=1):
        click.echo(safe(f"         {'ok  ' if step.passed else 'FAIL'} {number}. {step.label}{_outcome(step)}"))
        for difference in step.differences:
            click.echo(safe(f"                {difference}"))


def _outcome(step: StepResult) -> str:
    decision = step.decision
    if decision is None:
        return ""
    reason = f" {decision.reason.short}" if decision.stop is not None else ""
    return f": {decision.verdict.short}{reason}"


def tree_of(result: CaseResult) -> dict[str, Tree]:
    """The result of a case as plain values; `steps` and `environment` only where there are any."""
    tree: dict[str, Tree] = {
        "file": result.file,
        "line": result.line,
        "column": result.column,
        "test": result.test,
        "name": result.name,
        "passed": result.passed,
        "differences": _differences(result.differences),
    }
    if result.environment:
        tree["environment"] = result.environment
    if result.steps:
        tree["steps"] = [_step(step) for step in result.steps]
    return tree


def _step(step: StepResult) -> dict[str, Tree]:
    decision = step.decision
    return {
        "line": step.line,
        "step": step.label,
        "passed": step.passed,
        "verdict": decision.verdict.short if decision is not None else "",
        "reason": decision.reason.short if decision is not None else "",
        "differences": _differences(step.differences),
    }


def _differences(differences: Sequence[Difference]) -> list[Tree]:
    return [{"what": item.what, "expected": item.expected, "found": item.found} for item in differences]


def refused(problems: int, directory: Path) -> PolicySetError:
    """The error for a set that cannot be tested since it is not well-formed."""
    counted = f"{problems} problem{'' if problems == 1 else 's'}"
    return PolicySetError(f"{counted} in {directory}", "nothing was run")
