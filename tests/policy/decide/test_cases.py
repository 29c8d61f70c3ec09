"""Decisions as data: every case of tests/cases, read and run by the runner that policies' own tests use."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.policy.check import check_set
from discreet.policy.problems import Code
from discreet.policy.testing import CaseResult, run_tests

CASES = Path(__file__).parents[2] / "cases"
FILES = {path.name: path.read_bytes() for path in sorted(CASES.glob("*.yaml"))}
RESULTS = run_tests(FILES)


def test_the_policy_of_the_cases_is_sound() -> None:
    """A case that passes under a policy with problems shows nothing. Absent attributes are read on purpose (POL-01)."""
    report = check_set(FILES)
    assert report.problems == ()
    assert {warning.code for warning in report.warnings} <= {Code.ABSENT}


@pytest.mark.parametrize("case", RESULTS, ids=lambda case: f"{case.test}: {case.name}")
def test_the_case_is_decided_as_it_says(case: CaseResult) -> None:
    """A4, B8, F12: each case names the requirement that it shows, and what must come of it."""
    assert not case.differences, f"{case.file}:{case.line}"
