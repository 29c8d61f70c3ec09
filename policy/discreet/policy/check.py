"""Everything that can be said of a folder of policies and tests without running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.policy.compile import environments_of, load_set
from discreet.policy.lint import warnings_of
from discreet.policy.model import Loaded
from discreet.policy.owners import owners_of, patterns_of
from discreet.policy.problems import PolicyProblem, one_a_place
from discreet.policy.testing import load_tests
from discreet.policy.testing.revisions import revisions
from discreet.policy.vocabulary import Seen


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with a folder, and what is legal but most likely not meant; both in the order of places."""

    problems: tuple[PolicyProblem, ...]
    warnings: tuple[PolicyProblem, ...]
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Who answers for the files that these stand in, where the set says it."""


def check_set(files: Mapping[str, bytes]) -> Report:
    """Returns all problems of a folder's policies and tests, in every environment that it declares, and its warnings.

    A warning holds in all environments: what a parameter switches off in one of them is meant. Raises nothing for any
    bytes.
    """
    tests, of_tests = load_tests(files)
    found, warned = [*of_tests], list[set[PolicyProblem]]()
    seen, loaded = Seen(), Loaded()
    for environment in environments_of(files):
        loaded, rules = load_set(files, environment, seen)
        found += loaded.problems
        warned.append(set() if found else {*warnings_of(loaded, rules)})
    if not found:
        found = [one for name in environments_of(files) for one in revisions(files, tests, name)[1]]
    placed = one_a_place(found)
    warnings = () if placed else tuple(sorted(set.intersection(*warned)))
    patterns = patterns_of(loaded)
    owners = {one.file: owners_of(patterns, one.file) for one in (*placed, *warnings)}
    return Report(placed, warnings, {file: teams for file, teams in owners.items() if teams})
