"""Sets of many rules in many files: one error among them is found at its place, and nothing else is told."""

from __future__ import annotations

import json
import resource
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


@pytest.mark.parametrize("rules, seconds", [(1_000, 2), (10_000, 15)])
def test_a_large_set_is_checked_within_its_time(rules: int, seconds: int, tmp_path: Path) -> None:
    """E1: the command, its start included, finds the one error; CPU time, so that a busy machine counts for nothing."""
    planted = rules * 5 // 8
    (tmp_path / "rules").mkdir()
    for name, data in large_set(rules, FILES, planted).items():
        (tmp_path / name).write_bytes(data)
    command = [sys.executable, "-m", "discreet.cli", "-o", "json", "policy", "check", str(tmp_path)]
    before = cpu_of_children()
    told = subprocess.run(command, capture_output=True, check=False)
    assert cpu_of_children() - before < seconds
    (found,) = json.loads(told.stdout)["problems"]
    assert f"{found['file']}:{found['line']}:{found['column']}" == place_of(planted, rules, FILES)


def cpu_of_children() -> float:
    """Returns the seconds of CPU that ended child processes used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
