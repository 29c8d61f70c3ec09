"""The policies that sequences switch to: the set of the tests itself, in another environment or with other parameters.

They are compiled before anything is run, so that a step that no policy comes of is a problem of its file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from discreet.policy.compile import compile_set, environments_of
from discreet.policy.model.load import Placed
from discreet.policy.problems import Code, PolicyProblem, PolicyProblems, did_you_mean, problem, quoted
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.load import LoadedTest
from discreet.policy.testing.steps import ActStep, PolicyStep

REVISIONS_MAX: Final = 50

Key = tuple[str, str]
"""The environment and the parameters of a revision."""


def key_of(step: PolicyStep, environment: str) -> Key:
    """Returns what names the revision of a step in a run."""
    return step.environment or environment, repr(sorted(step.parameters.items()))


def revisions(
    files: Mapping[str, bytes], tests: Sequence[LoadedTest], environment: str
) -> tuple[dict[Key, Snapshot], list[PolicyProblem]]:
    """Returns the revisions that the tests of a run switch to, and what is wrong with the steps that name them."""
    found: dict[Key, Snapshot] = {}
    problems: list[PolicyProblem] = []
    tried: set[Key] = set()
    known = [name for name in environments_of(files) if name]
    for step, placed in _steps(tests, environment):
        key = key_of(step, environment)
        if key in tried:
            continue
        tried.add(key)
        if len(tried) > REVISIONS_MAX:
            problems.append(problem(placed.place(), f"there are more than {REVISIONS_MAX} policies", "", Code.LIMIT))
            break
        if step.environment is not None and step.environment not in known:
            hint = did_you_mean(step.environment, known) or "the set declares none"
            what = f"no environment {quoted(step.environment)} in this set"
            problems.append(problem(placed.place("environment"), what, hint, Code.UNKNOWN_NAME))
            continue
        try:
            found[key] = compile_set(files, commit="", number=0, dirty=True, environment=key[0], given=placed)
        except PolicyProblems as wrong:
            problems.append(_of_step(placed, wrong.problems[0]))
    return found, problems


def _steps(tests: Sequence[LoadedTest], environment: str) -> Iterator[tuple[PolicyStep, Placed[Mapping[str, object]]]]:
    """Yields each step that changes the policy, with the way to it and its parameters."""
    for loaded in tests:
        if loaded.test.environment not in {None, environment}:
            continue
        for sequence in loaded.sequences:
            for step in sequence.steps:
                act = step.placed.value
                if isinstance(act, ActStep) and act.policy is not None:
                    path = (*step.placed.path, "policy")
                    yield act.policy, Placed(act.policy.parameters, step.placed.document, path)


def _of_step(placed: Placed[Mapping[str, object]], found: PolicyProblem) -> PolicyProblem:
    """Returns a problem of the step: what is wrong in it, or what would be wrong with the set."""
    if found.file == placed.document.file:
        return found
    return problem(placed.place(), f"no set comes of this: {found.place}: {found.message}", found.hint, Code.TEST)
