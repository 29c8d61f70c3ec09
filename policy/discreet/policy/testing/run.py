"""Runs the tests that stand beside the policies, through the decision that the server makes.

A case is one decision, a sequence many, on an index that changes. Nothing is taken for granted: every question says
what it expects, and a WITHHOLD says why.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from discreet.policy.compile import compile_set, environments_of
from discreet.policy.decide import Judged, one_by_one
from discreet.policy.facts import RecordFacts, Ref
from discreet.policy.model.load import Placed
from discreet.policy.problems import PolicyProblem, PolicyProblems
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.expectations import Difference, differences
from discreet.policy.testing.kinds import CaseItem, PolicyTest
from discreet.policy.testing.load import LoadedSequence, LoadedTest, load_tests
from discreet.policy.testing.play import play
from discreet.policy.testing.results import CaseResult
from discreet.policy.testing.revisions import Key, revisions
from discreet.policy.testing.state import POLICY_NUMBER, question_of, records_of

Seen = Callable[[Judged], None]
"""Is told of everything that tests judge, for coverage."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A set compiled for an environment, with the tests to run in it."""

    environment: str
    snapshot: Snapshot
    tests: tuple[LoadedTest, ...]
    revisions: Mapping[Key, Snapshot] = field(default_factory=dict)
    """The policies that sequences switch to."""

    def results(self, seen: Seen | None = None) -> Iterator[CaseResult]:
        """Yields what becomes of each case, in the order of files and places."""
        return _results(self, seen)


def run_tests(files: Mapping[str, bytes], wanted: str = "") -> list[CaseResult]:
    """Returns the result of every case of a folder, in every environment that it declares.

    `wanted` is a text that the name of a case, its test or its file must hold. Raises PolicyProblems where the policies
    or the tests are not well-formed: nothing is run then.
    """
    return [result for prepared in prepare(files, wanted) for result in prepared.results()]


def run_loaded(tests: Sequence[LoadedTest], snapshot: Snapshot) -> list[CaseResult]:
    """Returns the results of loaded tests under a compiled policy, whatever its number: tests count from their own.

    No sequence of theirs may change the policy.
    """
    return list(Prepared(snapshot.environment, snapshot, tuple(tests)).results())


def prepare(files: Mapping[str, bytes], wanted: str = "") -> list[Prepared]:
    """Returns what there is to run in each environment that a folder declares. Raises PolicyProblems, with them all."""
    tests, problems = load_tests(files)
    compiled: dict[str, Snapshot] = {}
    for environment in environments_of(files):
        try:
            compiled[environment] = compile_set(
                files, commit="", number=POLICY_NUMBER, dirty=True, environment=environment
            )
        except PolicyProblems as wrong:
            problems = [*wrong.problems, *problems]
    if problems:
        raise PolicyProblems(_without_repeats(problems))
    others: dict[str, dict[Key, Snapshot]] = {}
    for name in compiled:
        others[name], found = revisions(files, tests, name)
        problems += found
    if problems:
        raise PolicyProblems(_without_repeats(problems))
    chosen_ones = chosen(tests, wanted)
    return [
        Prepared(
            name, snapshot, tuple(one for one in chosen_ones if one.test.environment in {None, name}), others[name]
        )
        for name, snapshot in compiled.items()
    ]


def _without_repeats(problems: list[PolicyProblem]) -> list[PolicyProblem]:
    return list(dict.fromkeys(problems))


def chosen(tests: Sequence[LoadedTest], wanted: str) -> list[LoadedTest]:
    """Returns the tests with those cases alone whose name, or whose test's name or file, holds a text."""

    def fits(test: PolicyTest, one: Placed[CaseItem] | LoadedSequence) -> bool:
        placed = one.sequence if isinstance(one, LoadedSequence) else one
        return any(wanted in text for text in (placed.value.name, test.name, placed.document.file))

    return [
        LoadedTest(
            loaded.test,
            tuple(case for case in loaded.cases if fits(loaded.test, case)),
            tuple(sequence for sequence in loaded.sequences if fits(loaded.test, sequence)),
        )
        for loaded in tests
    ]


def _results(prepared: Prepared, seen: Seen | None) -> Iterator[CaseResult]:
    numbered = replace(prepared.snapshot, number=POLICY_NUMBER)
    for loaded in prepared.tests:
        records = records_of(loaded.test, numbered)
        for placed in loaded.cases:
            yield replace(_run(numbered, loaded.test, placed, records, seen), environment=prepared.environment)
        for sequence in loaded.sequences:
            played = _played(numbered, loaded.test, sequence, prepared.revisions, seen)
            yield replace(played, environment=prepared.environment)


def _run(
    snapshot: Snapshot,
    test: PolicyTest,
    placed: Placed[CaseItem],
    records: Mapping[Ref, RecordFacts],
    seen: Seen | None,
) -> CaseResult:
    case = placed.value
    asked = question_of(test, case, records)
    judged = next(
        one_by_one(snapshot, asked.facts, asked.caller, asked.now, asked.request, asked.policy_age_us, asked.stored)
    )
    if seen is not None:
        seen(judged)
    decision, place = judged.decision, placed.place()
    found = differences(case.expect, decision, case.never)
    return CaseResult(place.file, place.line, test.name, case.name, found, decision, column=place.column)


def _played(
    snapshot: Snapshot,
    test: PolicyTest,
    loaded: LoadedSequence,
    others: Mapping[Key, Snapshot],
    seen: Seen | None,
) -> CaseResult:
    place, name = loaded.sequence.place(), loaded.sequence.value.name
    steps = play(test, snapshot, loaded, others)
    for _, judged in steps:
        if seen is not None and judged is not None:
            seen(judged)
    found = tuple(
        Difference(f"step {number} ({step.label}), {one.what}", one.expected, one.found)
        for number, (step, _) in enumerate(steps, start=1)
        for one in step.differences
    )
    last = [judged.decision for _, judged in steps if judged is not None][-1]
    shown = tuple(step for step, _ in steps)
    return CaseResult(place.file, place.line, test.name, name, found, last, shown, column=place.column)
