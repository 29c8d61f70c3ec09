"""The guide to policies: its files are a set that loads, and its tests pass."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.policy import schema
from discreet.policy.cel import Optional, Record
from discreet.policy.check import check_set
from discreet.policy.model.kinds import RuleItem
from discreet.policy.testing import run_tests

GUIDE = (Path(__file__).parents[3] / "docs" / "policies.md").read_text("utf-8")


def test_the_files_of_the_guide_are_a_set_whose_tests_pass() -> None:
    """E1: what the guide shows can be typed in and used, without a problem and without a warning."""
    files = {name: text.encode() for name, text in re.findall(r"```yaml\n# (\S+)\n(.*?)```", GUIDE, re.DOTALL)}
    assert len(files) == 11
    report = check_set(files)
    assert [str(found) for found in (*report.problems, *report.warnings)] == []
    assert [(result.name, list(map(str, result.differences))) for result in run_tests(files) if not result.passed] == []


def test_the_guide_names_every_key_of_a_rule() -> None:
    """E1: the table of a rule's keys is complete."""
    table = set(re.findall(r"^\| `([a-z-]+)` \| ", GUIDE, re.MULTILINE))
    keys = {field.alias or name for name, field in RuleItem.model_fields.items()}
    assert keys <= table


def test_the_guide_names_everything_that_a_condition_may_read() -> None:
    """E1: each variable has its row, and the row names each field, marked where it may be absent."""
    rows = dict(re.findall(r"^\| `(\w+)\??` \| (.*) \|$", GUIDE, re.MULTILINE))
    for name, declared in schema.BOUND.names.items():
        record = declared.inner if isinstance(declared, Optional) else declared
        if isinstance(record, Record):
            for field, kind in record.fields.items():
                assert f"`{field}{'?' if isinstance(kind, Optional) else ''}`" in rows[name]
