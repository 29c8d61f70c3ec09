"""The policy sets to start from in `policy/examples`: sound, tested, and with no rule that no test decides by."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.policy.check import check_set
from discreet.policy.compile import compile_set
from discreet.policy.testing import run_tests

EXAMPLES = Path(__file__).parents[3] / "policy" / "examples"
SETS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())


@pytest.mark.parametrize("folder", SETS, ids=lambda folder: folder.name)
def test_an_example_passes_check_and_test_and_tests_each_of_its_rules(folder: Path) -> None:
    """E1, F12: what people copy has no problem, no warning, and a passing case for every rule, of either effect."""
    files = {path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml"))}
    report = check_set(files)
    assert (report.problems, report.warnings) == ((), ())
    found = run_tests(files)
    assert [str(result.place) for result in found if not result.passed] == []
    named = {b"id: " + result.decision.rule.encode() for result in found if result.decision.rule}
    rules = {line.strip().removeprefix(b"- ") for line in files["disclosure.yaml"].splitlines() if b"- id: " in line}
    assert named == rules
    assert compile_set(files, commit="c" * 40, number=1, dirty=False).number == 1


def test_there_are_examples() -> None:
    """An empty folder would pass the test above."""
    assert SETS
