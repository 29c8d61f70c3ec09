"""Everything that can be said of a folder of policies and tests without running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.policy.compile import load_set
from discreet.policy.problems import PolicyProblem, one_a_place
from discreet.policy.testing import load_tests
from discreet.policy.warnings import warnings_of


@dataclass(frozen=True, slots=True)
class Report:
    """What is wrong with a folder, and what is legal but most likely not meant; both in the order of places."""

    problems: tuple[PolicyProblem, ...]
    warnings: tuple[PolicyProblem, ...]


def check_set(files: Mapping[str, bytes]) -> Report:
    """Returns all problems and warnings of a folder's policies and tests; raises nothing for any bytes."""
    loaded, _ = load_set(files)
    _, of_tests = load_tests(files)
    found = one_a_place([*loaded.problems, *of_tests])
    return Report(found, () if found else one_a_place(warnings_of(loaded)))
