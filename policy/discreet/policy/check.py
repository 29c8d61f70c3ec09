"""Everything that can be said of a folder of policies and tests without running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.policy.compile import environments_of, load_set
from discreet.policy.lint import warnings_of
from discreet.policy.problems import PolicyProblem, one_a_place
from discreet.policy.testing import load_tests
from discreet.policy.vocabulary import Seen


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with a folder, and what is legal but most likely not meant; both in the order of places."""

    problems: tuple[PolicyProblem, ...]
    warnings: tuple[PolicyProblem, ...]


def check_set(files: Mapping[str, bytes]) -> Report:
    """Returns all problems of a folder's policies and tests, in every environment that it declares, and its warnings.

    A warning holds in all environments: what a parameter switches off in one of them is meant. Raises nothing for any
    bytes.
    """
    _, of_tests = load_tests(files)
    found, warned = [*of_tests], list[set[PolicyProblem]]()
    seen = Seen()
    for environment in environments_of(files):
        loaded, rules = load_set(files, environment, seen)
        found += loaded.problems
        warned.append(set() if found else {*warnings_of(loaded, rules)})
    placed = one_a_place(found)
    return Report(placed, () if placed else tuple(sorted(set.intersection(*warned))))
