"""Runs the tests that stand beside the policies, through the decision that the server makes.

One case is one decision. Nothing is taken for granted: every case says what it expects, and a WITHHOLD says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from discreet.policy.bundle import is_test
from discreet.policy.compile import compile_set
from discreet.policy.decide import decide
from discreet.policy.decision import SegmentDecision
from discreet.policy.facts import RecordFacts, Ref
from discreet.policy.model.load import TEST_KIND, Placed, empty_values, items_of, kind_of, validated
from discreet.policy.problems import Code, Place, PolicyProblem, PolicyProblems, problem
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.kinds import CaseItem, ExpectItem, PolicyTest
from discreet.policy.testing.state import POLICY_NUMBER, question_of, records_of, twice
from discreet.policy.words import Reason
from discreet.policy.yaml import Document, read

CASES_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was decided otherwise than expected."""

    what: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected or 'none'}, found {self.found or 'none'}"


@dataclass(frozen=True, slots=True)
class CaseResult:
    """What became of one case. `decision` is what was decided, for a report to show."""

    file: str
    line: int
    test: str
    name: str
    differences: tuple[Difference, ...]
    decision: SegmentDecision

    @property
    def passed(self) -> bool:
        """True where everything expected was found."""
        return not self.differences

    @property
    def place(self) -> Place:
        """Where the case stands."""
        return Place(self.file, self.line)


@dataclass(frozen=True, slots=True)
class LoadedTest:
    """A test of a file with its cases."""

    test: PolicyTest
    cases: tuple[Placed[CaseItem], ...]


def run_tests(files: Mapping[str, bytes], snapshot: Snapshot | None = None) -> list[CaseResult]:
    """Returns the result of every case of a folder, in the order of files and places.

    `snapshot` is the compiled set of the same files, where there is one already. Raises PolicyProblems where the
    policies or the tests are not well-formed: nothing is run then.
    """
    tests, problems = load_tests(files)
    try:
        compiled = snapshot or compile_set(files, commit="", number=POLICY_NUMBER, dirty=True)
    except PolicyProblems as wrong:
        raise PolicyProblems([*wrong.problems, *problems]) from None
    if problems:
        raise PolicyProblems(problems)
    return run_loaded(tests, compiled)


def run_loaded(tests: list[LoadedTest], snapshot: Snapshot) -> list[CaseResult]:
    """Returns the results of loaded tests under a compiled policy, whatever its number: tests count from their own."""
    numbered = replace(snapshot, number=POLICY_NUMBER)
    return [
        _run(numbered, loaded.test, placed, records)
        for loaded in tests
        for records in (records_of(loaded.test, numbered),)
        for placed in loaded.cases
    ]


def load_tests(files: Mapping[str, bytes]) -> tuple[list[LoadedTest], list[PolicyProblem]]:
    """Returns the tests of a folder and what is wrong with their form."""
    tests: list[LoadedTest] = []
    problems: list[PolicyProblem] = []
    for file in sorted(filter(is_test, files)):
        documents, found = read(file, files[file])
        problems += found
        for document in documents:
            tests += _load(document, problems)
    if sum(len(test.cases) for test in tests) > CASES_MAX:
        where = Place(tests[-1].cases[-1].document.file)
        problems.append(problem(where, f"there are more than {CASES_MAX} cases", "", Code.LIMIT))
    return tests, problems


def _load(document: Document, problems: list[PolicyProblem]) -> list[LoadedTest]:
    problems += empty_values(document)
    kind = kind_of(document, problems)
    if kind is not None and kind != TEST_KIND:
        hint = "policies stand in files whose names do not end in _test.yaml"
        problems.append(
            problem(document.place("kind"), f"a {kind} in a file of tests would be ignored", hint, Code.FILE)
        )
    if kind != TEST_KIND:
        return []
    cases = items_of(problems, document, "cases", CaseItem)
    problems += _names(cases)
    loaded: list[LoadedTest] = []
    for placed in validated(problems, document, (), PolicyTest):
        if not placed.value.cases:
            problems.append(problem(document.place("cases"), "there are no cases", "write one", Code.TEST))
        for position, what in twice(placed.value.records):
            problems.append(problem(document.place("records", position), what, "", Code.DUPLICATE))
        loaded.append(LoadedTest(placed.value, tuple(cases)))
    return loaded


def _names(cases: list[Placed[CaseItem]]) -> list[PolicyProblem]:
    first: dict[str, Place] = {}
    found: list[PolicyProblem] = []
    for case in cases:
        name, place = case.value.name, case.place("name")
        if name in first:
            found.append(problem(place, f"the name stands at {first[name]} already", "name it apart", Code.DUPLICATE))
        first.setdefault(name, place)
    return found


def _run(
    snapshot: Snapshot, test: PolicyTest, placed: Placed[CaseItem], records: Mapping[Ref, RecordFacts]
) -> CaseResult:
    case = placed.value
    asked = question_of(test, case, records)
    decided = decide(
        snapshot,
        asked.facts,
        asked.caller,
        asked.now,
        asked.request,
        policy_age_us=asked.policy_age_us,
        stored=asked.stored,
    )
    decision = decided.results[0]
    place = placed.place()
    return CaseResult(place.file, place.line, test.name, case.name, differences(case.expect, decision), decision)


def differences(expected: ExpectItem, found: SegmentDecision) -> tuple[Difference, ...]:
    """Returns everything that a decision has otherwise than expected; what is not mentioned may be anything.

    The reason is the cause that the audit holds; NOT_AVAILABLE stands for whatever the reader is told so.
    """
    told = expected.reason is Reason.NOT_AVAILABLE
    pairs = (
        ("verdict", expected.verdict.short, found.verdict.short),
        ("reason", _short(expected.reason), (found.reader_reason if told else found.reason).short),
        ("rule", expected.rule, found.rule),
        ("custom-reason", expected.custom_reason, found.custom_reason),
        ("gate", _short(expected.gate), found.gate.short),
        ("text", expected.text, found.template_id),
        ("next", _short(expected.next), found.next.short),
    )
    return tuple(Difference(what, wanted, got) for what, wanted, got in pairs if wanted is not None and wanted != got)


def _short(word: object) -> str | None:
    return str(getattr(word, "short", "")) if word is not None else None
