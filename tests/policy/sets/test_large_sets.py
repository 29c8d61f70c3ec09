"""Sets of many rules in many files: one error among them is found at its place, and nothing else is told."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.policy.check import check_set
from tests.policy.sets.large import large_set, place_of

RULES, FILES = 1_000, 100


def test_a_large_set_has_neither_problems_nor_warnings() -> None:
    """E1: a thousand rules, each of which says something."""
    report = check_set(large_set(RULES, FILES))
    assert (report.problems, report.warnings) == ((), ())


@pytest.mark.parametrize("planted", [0, 9, 577, RULES - 1])
def test_one_error_among_a_thousand_rules_is_found_at_its_place(planted: int) -> None:
    """E1: the first rule, the last of a file, one in the middle, the last of all."""
    (found,) = check_set(large_set(RULES, FILES, planted)).problems
    assert str(found.place) == place_of(planted, RULES, FILES)
    assert found.message == 'condition: no field "atributes"'
    assert found.hint == 'did you mean "attributes"?'


def test_one_rule_that_another_implies_is_found_among_a_thousand() -> None:
    """E1: in another file."""
    files = large_set(RULES, FILES)
    files["rules/p007.yaml"] += (
        b"  - id: twice\n    effect: ALLOW\n    moments: [PUBLISH]\n    sources: [s0]\n    when: |\n"
        b'      document.attributes.desk == "d900" && (principal.id != "p900" || segment.kind in ["a", "b900"]) &&\n'
        b"        has(document.attributes.desk)\n"
    )
    (found,) = check_set(files).warnings
    assert str(found).startswith('rules/p007.yaml:75:9: the rule "twice" says nothing beyond "r900"')


@pytest.mark.parametrize("rules", [1_000, 10_000])
def test_the_command_finds_the_one_error_in_a_large_set(rules: int, tmp_path: Path) -> None:
    """E1: whatever the size, one problem is told, at its place; `make bench` says how long it takes."""
    planted = rules * 5 // 8
    (tmp_path / "rules").mkdir()
    for name, data in large_set(rules, FILES, planted).items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-m", "discreet.cli", "-o", "json", "policy", "check", str(tmp_path)]
    told = subprocess.run(command, capture_output=True, check=False)
    (found,) = json.loads(told.stdout)["problems"]
    assert f"{found['file']}:{found['line']}:{found['column']}" == place_of(planted, rules, FILES)
