"""Coverage of a policy set by its tests, and the mutants that survived them, as a person or a tool reads them."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import PolicyTestsFailed
from discreet.cli.escaping import safe
from discreet.cli.printing import note, print_table
from discreet.cli.reading import Tree

if TYPE_CHECKING:
    from discreet.policy.testing.coverage import Coverage, RuleCoverage
    from discreet.policy.testing.mutate import Mutation

COLUMNS = ("rule", "where", "matched", "not", "decided", "branches", "covered")


def coverage_tree(coverage: "Coverage") -> Tree:
    """Coverage as plain values."""
    rules: list[Tree] = []
    for rule in sorted(coverage.rules.values(), key=lambda one: (one.place, one.id)):
        branches: list[Tree] = [
            {
                "text": branch.text, "file": branch.place.file, "line": branch.place.line,
                "column": branch.place.column, "true": branch.true, "false": branch.false, "errors": branch.errors,
            }
            for branch in rule.branches
        ]  # fmt: skip
        rules.append({
            "id": rule.id, "effect": rule.effect.short, "file": rule.place.file, "line": rule.place.line,
            "matched": rule.matched, "unmatched": rule.unmatched, "decided": rule.decided,
            "outcomes": _outcomes(rule), "covered": rule.seen, "of": rule.points, "branches": branches,
        })  # fmt: skip
    missing: list[Tree] = [
        {"file": place.file, "line": place.line, "column": place.column, "what": what}
        for place, what in coverage.missing()
    ]
    return {
        "percent": round(coverage.percent, 2),
        "covered": coverage.seen,
        "of": coverage.points,
        "rules": rules,
        "missing": missing,
    }


def print_coverage(coverage: "Coverage") -> None:
    """Prints a line for each rule and one for each thing that no test saw."""
    found = sorted(coverage.rules.values(), key=lambda one: (one.place, one.id))
    print_table("", COLUMNS, [_row(rule) for rule in found])
    for place, what in coverage.missing():
        click.echo(safe(f"{place}: not covered: {what}"))
    click.echo(f"coverage {coverage.percent:.1f} % ({coverage.seen} of {coverage.points} outcomes)")


def _row(rule: "RuleCoverage") -> tuple[str, ...]:
    seen = sum(branch.outcomes for branch in rule.branches)
    branches = f"{seen} of {2 * len(rule.branches)}" if rule.branches else "-"
    where = f"{rule.place.file}:{rule.place.line}"
    return rule.id, where, str(rule.matched), str(rule.unmatched), str(rule.decided), branches, _outcomes(rule)


def _outcomes(rule: "RuleCoverage") -> str:
    if rule.matched and rule.unmatched:
        return "both outcomes"
    return "matched" if rule.matched else "never matched"


def require(coverage: "Coverage", threshold: float) -> None:
    """Raises PolicyTestsFailed where less is covered than is asked for, in percent."""
    if coverage.percent < threshold:
        raise PolicyTestsFailed(
            f"coverage is {coverage.percent:.1f} %, below {threshold:g} %", "add cases for what is not covered"
        )


def mutation_tree(mutation: "Mutation") -> Tree:
    """What became of the mutants as plain values."""
    survivors: list[Tree] = [
        {"file": one.place.file, "line": one.place.line, "column": one.place.column, "what": one.what}
        for one in mutation.survivors
    ]
    return {
        "tried": mutation.tried, "killed": mutation.killed, "left_out": mutation.left_out, "survivors": survivors,
    }  # fmt: skip


def print_mutation(mutation: "Mutation") -> None:
    """Prints a line for each change that no test noticed."""
    for survivor in mutation.survivors:
        click.echo(safe(str(survivor)))
    note(f"{mutation.killed} of {mutation.tried} changes were noticed")
    if mutation.left_out:
        note(f"{mutation.left_out} more were not tried: there are too many; test parts of the set with --filter")


def require_killed(mutation: "Mutation") -> None:
    """Raises PolicyTestsFailed where a change survived."""
    count = len(mutation.survivors)
    if count:
        counted = f"{count} change{'' if count == 1 else 's'} of the policy"
        raise PolicyTestsFailed(f"no test notices {counted}", "add cases that decide by what was changed")
