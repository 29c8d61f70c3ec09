"""`discreet policy test`: runs a set's tests and says what they cover; `new` writes a case from a recorded decision."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import Settings, current, shared_options

if TYPE_CHECKING:
    from discreet.cli.reading import Tree
    from discreet.policy.testing import CaseResult, Prepared
    from discreet.policy.testing.coverage import Coverage

WATCH_S = 0.5
"""How often --watch looks at the files."""

_RUN = "run"
_EPILOG = """\b
Examples:
  discreet policy test policies
  discreet policy test policies --coverage --threshold 100 --junit report.xml
  discreet policy test policies --mutate
  discreet policy test new --from 0196c2f4-... > policies/reported_test.yaml

Exit code: 0 all passed, 3 problems, 4 failures, too little coverage, or a change that no test notices.
"""


class _Testing(click.Group):
    """`test DIR ...` is short for `test run DIR ...`. A folder called new or run is `./new` or `./run`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args[:1] not in ([_RUN], ["new"]):
            args = [_RUN, *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Testing)
def test() -> None:
    """Run the tests of a policy set (*_test.yaml), or write one from a recorded decision.

    `test DIRECTORY` is `test run DIRECTORY`.
    """


@test.command(_RUN, epilog=_EPILOG)
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--filter", "wanted", default="", metavar="TEXT", help="Only cases whose name or file holds this text.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML.")
@click.option("--coverage", is_flag=True, help="Say which rules, and which parts of their conditions, the tests saw.")
@click.option("--threshold", type=click.FloatRange(0, 100), metavar="N", help="Percent that must be covered.")
@click.option(
    "--mutate", is_flag=True, help="Change each rule and each part of a condition; say which changes no test notices."
)
@click.option("--strict", is_flag=True, help="Warnings of the set count as problems.")
@click.option("--watch", is_flag=True, help="Run again whenever a file changes, until Ctrl-C.")
@shared_options
def run(
    directory: Path,
    wanted: str,
    junit: Path | None,
    coverage: bool,
    threshold: float | None,
    mutate: bool,
    strict: bool,
    watch: bool,
) -> None:
    """Run the tests of a policy set (*_test.yaml); `test new` writes one from a recorded decision."""
    from discreet.cli.commands.policy import read_folder

    session = _Session(
        current(), directory, wanted, junit, coverage or threshold is not None, threshold or 0.0, mutate, strict
    )
    if not watch:
        session.run(read_folder(directory))
        return
    from discreet.cli.policy_watch import watch as watching

    watching(lambda: read_folder(directory), session.run, _next_look)


@test.command(
    epilog="\b\nExample:\n  discreet --tenant acme policy test new --from 0196c2f4-... > policies/seen_test.yaml"
)
@click.option(
    "--from",
    "decision_id",
    required=True,
    metavar="DECISION_ID",
    help="The decision, as an answer or the audit names it.",
)
@click.option("--into", type=click.Path(path_type=Path), metavar="FILE", help="Write a new file; else print it.")
@shared_options
def new(decision_id: str, into: Path | None) -> None:
    """Write a test that makes a recorded decision again: asks the server's auditor for facts, clock and outcome."""
    settings = current()
    from discreet.cli.connection import connect
    from discreet.cli.policy_case import case_of

    with connect(settings, "auditor") as line:
        text = case_of(line, settings.tenant, decision_id)
    if into is None:
        click.echo(text, nl=False)
        return
    try:
        with into.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{into}: {(error.strerror or 'cannot be written').lower()}", "name a new file") from None


def _next_look() -> bool:
    import time

    time.sleep(WATCH_S)
    return True


class _Session:
    """What was asked for, to be run on the files as they are."""

    def __init__(
        self,
        settings: Settings,
        directory: Path,
        wanted: str,
        junit: Path | None,
        covered: bool,
        threshold: float,
        mutate: bool,
        strict: bool,
    ) -> None:
        self._settings = settings
        self._directory = directory
        self._wanted = wanted
        self._junit = junit
        self._covered = covered
        self._threshold = threshold
        self._mutate = mutate
        self._strict = strict

    def run(self, files: Mapping[str, bytes]) -> None:
        """Runs and prints. Raises PolicySetError, PolicyTestsFailed, InputError."""
        from discreet.cli import policy_coverage, policy_tests
        from discreet.policy.testing import prepare

        warnings = self._checked(files)
        prepared = prepare(files, self._wanted)
        coverage = self._coverage(files, prepared)
        watch = coverage.watch if coverage is not None else None
        results = [result for one in prepared for result in one.results(watch)]
        good = bool(results) and all(result.passed for result in results)
        more: dict[str, Tree] = {"warnings": warnings}
        if coverage is not None:
            more["coverage"] = policy_coverage.coverage_tree(coverage)
        mutation = None
        if self._mutate and good:
            from discreet.policy.testing.mutate import mutate

            mutation = mutate(files, prepared)
            more["mutation"] = policy_coverage.mutation_tree(mutation)
        if self._junit is not None:
            self._write_junit(results)
        policy_tests.report(self._settings, results, more)
        if self._settings.output == "pretty" and coverage is not None:
            policy_coverage.print_coverage(coverage)
        policy_tests.judge(results, self._directory, self._wanted)
        if self._settings.output == "pretty" and mutation is not None:
            policy_coverage.print_mutation(mutation)
        if coverage is not None:
            policy_coverage.require(coverage, self._threshold)
        if mutation is not None:
            policy_coverage.require_killed(mutation)

    def _checked(self, files: Mapping[str, bytes]) -> "list[Tree]":
        """The warnings of the set as `policy check` gives them. Raises PolicySetError where it has problems."""
        from discreet.cli.policy_problems import checked, print_report, report_tree, warning_trees
        from discreet.cli.policy_tests import refused
        from discreet.cli.printing import print_tree

        report = checked(files)
        failed = len(report.problems) + (len(report.warnings) if self._strict else 0)
        if self._settings.output == "pretty":
            print_report(report)
        elif failed:
            print_tree(self._settings, report_tree(report))
        if failed:
            raise refused(failed, self._directory)
        return warning_trees(report)

    def _coverage(self, files: Mapping[str, bytes], prepared: "list[Prepared]") -> "Coverage | None":
        if not self._covered:
            return None
        from discreet.policy.testing.coverage import Coverage

        return Coverage(files, prepared)

    def _write_junit(self, results: "list[CaseResult]") -> None:
        from discreet.cli.policy_junit import write_junit

        assert self._junit is not None
        write_junit(self._junit, results)
