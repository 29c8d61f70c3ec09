"""Test files become tests with their cases and sequences, every problem of their form and of their names placed.

Nothing here decides: a test that is not well-formed is not run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from discreet.policy.bundle import is_test
from discreet.policy.compile import environments_of
from discreet.policy.model.load import TEST_KIND, Placed, empty_values, kind_of, validated
from discreet.policy.problems import Code, Place, PolicyProblem, did_you_mean, problem, quoted
from discreet.policy.testing.kinds import CaseItem, PolicyTest
from discreet.policy.testing.matrix import expand
from discreet.policy.testing.names import name_problems
from discreet.policy.testing.state import twice
from discreet.policy.testing.steps import ACTING, ASKING, VERBS, ActStep, AskStep, SequenceItem
from discreet.policy.yaml import Document, Entries, Items, Path, read

CASES_MAX: Final = 20_000
STEPS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class PlacedStep:
    """A step of a sequence with its verb."""

    verb: str
    placed: Placed[ActStep] | Placed[AskStep]


@dataclass(frozen=True, slots=True)
class LoadedSequence:
    """A sequence with its steps."""

    sequence: Placed[SequenceItem]
    steps: tuple[PlacedStep, ...]


@dataclass(frozen=True, slots=True)
class LoadedTest:
    """A test of a file with its cases and sequences; each combination of a matrix is a case."""

    test: PolicyTest
    cases: tuple[Placed[CaseItem], ...]
    sequences: tuple[LoadedSequence, ...] = ()


def load_tests(files: Mapping[str, bytes]) -> tuple[list[LoadedTest], list[PolicyProblem]]:
    """Returns the tests of a folder and what is wrong with their form."""
    tests: list[LoadedTest] = []
    problems: list[PolicyProblem] = []
    environments = [name for name in environments_of(files) if name]
    for file in sorted(filter(is_test, files)):
        documents, found = read(file, files[file])
        problems += found
        for document in documents:
            loaded = _load(document, problems)
            problems += (one for test in loaded for one in _environment(document, test.test, environments))
            tests += loaded
    counts = [len(test.cases) + sum(len(sequence.steps) for sequence in test.sequences) for test in tests]
    if sum(counts) > CASES_MAX:
        last = tests[-1]
        placed = [case.document for case in last.cases] + [one.sequence.document for one in last.sequences]
        where = Place(placed[-1].file if placed else "")
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
    cases = [case for path in _items(document, ("cases",)) for case in _cases(document, path, problems)]
    sequences = [one for path in _items(document, ("sequences",)) for one in _sequence(document, path, problems)]
    problems += _named_twice([*cases, *(one.sequence for one in sequences)])
    loaded: list[LoadedTest] = []
    for placed in validated(problems, document, (), PolicyTest):
        if not placed.value.cases and not placed.value.sequences:
            place = document.place("sequences" if placed.value.sequences else "cases")
            problems.append(problem(place, "there are no cases", "write one", Code.TEST))
        for position, what in twice(placed.value.records):
            problems.append(problem(document.place("records", position), what, "", Code.DUPLICATE))
        test = LoadedTest(placed.value, tuple(cases), tuple(sequences))
        problems += name_problems(document, test.test, test.cases, _steps_by_sequence(test))
        loaded.append(test)
    return loaded


def _environment(document: Document, test: PolicyTest, known: list[str]) -> Iterator[PolicyProblem]:
    if test.environment is not None and test.environment not in known:
        hint = did_you_mean(test.environment, known) or "the set declares none"
        what = f"no environment {quoted(test.environment)} in this set"
        yield problem(document.place("environment"), what, hint, Code.UNKNOWN_NAME)


def _steps_by_sequence(test: LoadedTest) -> list[list[tuple[str, Placed[ActStep] | Placed[AskStep]]]]:
    return [[(step.verb, step.placed) for step in sequence.steps] for sequence in test.sequences]


def _items(document: Document, path: Path) -> Iterator[Path]:
    node = document.node(path)
    if (
        isinstance(node, Items)
        and len(path) == 1
        and isinstance(document.root, Entries)
        and path[0] in document.root.entries
    ):
        yield from ((*path, position) for position in range(len(node.items)))


def _cases(document: Document, path: Path, problems: list[PolicyProblem]) -> list[Placed[CaseItem]]:
    node = document.node(path)
    if isinstance(node, Entries) and "matrix" in node.entries:
        return expand(document, path, problems)
    return validated(problems, document, path, CaseItem)


def _sequence(document: Document, path: Path, problems: list[PolicyProblem]) -> Iterator[LoadedSequence]:
    for sequence in validated(problems, document, path, SequenceItem):
        if len(sequence.value.steps) > STEPS_MAX:
            where = sequence.place("steps")
            problems.append(problem(where, f"there are more than {STEPS_MAX} steps", "split it", Code.LIMIT))
            continue
        steps = [_step(document, (*path, "steps", at), problems) for at in range(len(sequence.value.steps))]
        known = [step for step in steps if step is not None]
        if len(known) < len(steps):
            continue
        if not any(step.verb in ASKING for step in known):
            hint = "with retrieve, publish, commit or replay"
            problems.append(problem(sequence.place("steps"), "no step asks anything", hint, Code.TEST))
        yield LoadedSequence(sequence, tuple(known))


def _step(document: Document, path: Path, problems: list[PolicyProblem]) -> PlacedStep | None:
    node = document.node(path)
    verbs = [key for key in node.entries if key in VERBS] if isinstance(node, Entries) else []
    if not isinstance(node, Entries) or len(verbs) != 1:
        what = "a step has one verb" if len(verbs) > 1 else "this step says nothing that happens"
        hint = "one of " + ", ".join(VERBS)
        key = next(iter(node.entries), "") if isinstance(node, Entries) else ""
        near = did_you_mean(key, VERBS) if key and not verbs else ""
        problems.append(problem(node.place, what, near or hint, Code.TEST))
        return None
    if verbs[0] in ACTING:
        acts = validated(problems, document, path, ActStep)
        return PlacedStep(verbs[0], acts[0]) if acts else None
    asks = validated(problems, document, path, AskStep)
    return PlacedStep(verbs[0], asks[0]) if asks else None


def _named_twice(named: list[Placed[CaseItem] | Placed[SequenceItem]]) -> list[PolicyProblem]:
    first: dict[str, Place] = {}
    found: list[PolicyProblem] = []
    for one in named:
        name, place = one.value.name, one.place("name")
        if name in first:
            what = f"the name {quoted(name)} stands" if "[" in name else "the name stands"
            found.append(problem(place, f"{what} at {first[name]} already", "name it apart", Code.DUPLICATE))
        first.setdefault(name, place)
    return found
