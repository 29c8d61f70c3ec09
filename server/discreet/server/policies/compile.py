"""From files or a published bundle to a snapshot. Blocking and pure of I/O: called in a thread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.policy.bundle import BadBundle, bundle, contents_of
from discreet.policy.compile import compile_set
from discreet.policy.facts import Micros
from discreet.policy.problems import Code, Place, PolicyProblem, PolicyProblems, problem, quoted
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing import CaseResult, run_tests
from discreet.server.ports_policy import PolicyRow


class TestsFailed(PolicyProblems):
    """The set is well-formed, and its own tests fail."""

    __test__ = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """A set that may come into force: its snapshot, whose number is given at publication, and its canonical bundle."""

    snapshot: Snapshot
    bundle: bytes
    tests: int
    """How many tests of its own it passed."""

    @property
    def row(self) -> PolicyRow:
        """As it is published; number and time are given then."""
        held = self.snapshot
        return PolicyRow(0, held.commit, held.digest, held.dirty, self.bundle, Micros(0))


def compile_files(files: Mapping[str, bytes], commit: str, dirty: bool, environment: str = "") -> Compiled:
    """The set of the files in an environment, whose own tests passed. Raises PolicyProblems, TestsFailed."""
    snapshot = compile_set(files, commit=commit, number=0, dirty=dirty, environment=environment)
    results = run_tests(files)
    failed = [result for result in results if not result.passed]
    if failed:
        raise TestsFailed(_problem(result) for result in failed)
    return Compiled(snapshot, bundle(files, environment), len(results))


def _problem(result: CaseResult) -> PolicyProblem:
    found = ", ".join(map(str, result.differences))
    return problem(result.place, f"test {quoted(result.name)} fails: {found}", "mend the policy or the test", Code.TEST)


def compile_row(row: PolicyRow) -> Snapshot:
    """The published revision. Raises PolicyProblems where this version of the program does not take it."""
    try:
        files, environment = contents_of(row.bundle)
    except BadBundle as error:
        raise PolicyProblems([problem(Place("bundle"), str(error))]) from None
    return compile_set(files, commit=row.commit, number=row.number, dirty=row.dirty, environment=environment)
