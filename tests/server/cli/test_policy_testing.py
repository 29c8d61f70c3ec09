"""`discreet policy test`: what it prints, writes and ends with; --watch without waiting."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from discreet.cli.errors import InputError, PolicyTestsFailed
from discreet.cli.policy_watch import watch
from tests.server.cli.command import Outcome, discreet

SEQUENCE = """
---
apiVersion: discreet/v1
kind: PolicyTest
name: life
now: 2026-01-05T09:00:00Z
records:
  - record-id: notes/outlook
    version: "1"
    source-label: research-notes
    scopes: [desk-a]
    assessment-expires-at: 2026-06-30T00:00:00Z
grants:
  - { principal: ana, scope: desk-a }
sequences:
  - name: shown and taken back
    principal: ana
    steps:
      - { commit: notes/outlook, as: answer, expect: { verdict: ALLOW } }
      - revoke: notes/outlook
      - { replay: answer, expect: { verdict: PURGE, reason: RETENTION_REVOKED } }
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy set as `init` writes it."""
    assert discreet("policy", "init", str(tmp_path / "policies")).code == 0
    return tmp_path / "policies"


def change(file: Path, old: str, new: str) -> None:
    """Replaces a piece of a file once."""
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def run_on(folder: Path, *options: str) -> Outcome:
    """`policy test` of a folder."""
    return discreet("policy", "test", str(folder), *options)


def test_results_are_a_tree_and_a_sequence_that_fails_shows_its_steps(folder: Path) -> None:
    """E1: files, tests, cases; and of a sequence that went otherwise each step with its outcome."""
    test = folder / "notes_test.yaml"
    test.write_text(test.read_text() + SEQUENCE)
    good = run_on(folder)
    assert good.code == 0
    assert good.out.splitlines()[0] == "notes_test.yaml: notes"
    assert good.out.splitlines()[-2:] == ["notes_test.yaml: life", "  ok   shown and taken back (3 steps)"]
    change(test, "verdict: PURGE, reason: RETENTION_REVOKED } }\n", "verdict: ALLOW } }\n")
    bad = run_on(folder)
    assert bad.code == 4
    assert bad.out.splitlines()[-5:] == [
        "  FAIL notes_test.yaml:144:5: shown and taken back (3 steps)",
        "         ok   1. commit answer: ALLOW",
        "         ok   2. revoke notes/outlook",
        "         FAIL 3. replay answer: PURGE RETENTION_REVOKED",
        "                verdict: expected ALLOW, found PURGE",
    ]
    steps = run_on(folder, "-o", "json").tree["cases"][-1]["steps"]
    assert [(step["step"], step["verdict"], step["passed"]) for step in steps] == [
        ("commit answer", "ALLOW", True),
        ("revoke notes/outlook", "", True),
        ("replay answer", "PURGE", False),
    ]


def test_a_filter_takes_a_piece_of_a_name_and_refuses_one_that_nothing_has(folder: Path) -> None:
    """E1: of a case, a test or a file; no case at all is not a success."""
    assert [case["name"] for case in run_on(folder, "--filter", "stale", "-o", "json").tree["cases"]] == [
        "two days later it is stale"
    ]
    assert len(run_on(folder, "--filter", "notes_test", "-o", "jsonl").lines) == 12
    none = run_on(folder, "--filter", "no such case")
    assert (none.code, none.out) == (2, "")
    assert "no case in" in none.err


def test_junit_has_a_suite_for_each_test_and_what_differs(folder: Path, tmp_path: Path) -> None:
    """E1: CI reads it; names cannot break it."""
    change(folder / "notes_test.yaml", "name: a draft is no source", 'name: "a <draft> & no source"')
    change(folder / "notes_test.yaml", "reason: STALE", "reason: SUPERSEDED")
    report = tmp_path / "report.xml"
    assert run_on(folder, "--junit", str(report)).code == 4
    root = ET.fromstring(report.read_text())
    assert (root.tag, root.get("tests"), root.get("failures")) == ("testsuites", "12", "1")
    assert [suite.get("name") for suite in root] == ["notes_test.yaml: notes"]
    failures = [(case.get("name"), case[0].get("message")) for case in root[0] if len(case)]
    assert failures == [("two days later it is stale", "reason: expected SUPERSEDED, found STALE")]
    assert "a <draft> & no source" in {case.get("name") for case in root[0]}
    unwritable = run_on(folder, "--junit", str(tmp_path / "none" / "report.xml"))
    assert unwritable.code == 2


def test_coverage_below_the_threshold_is_4(folder: Path) -> None:
    """F12: the table has a line a rule, what is missing has its place, and CI can hold a set to a share."""
    full = run_on(folder, "--coverage", "--threshold", "100")
    assert full.code == 0
    assert "coverage 100.0 %" in full.out
    change(folder / "disclosure.yaml", "now <", 'document.version == "1" && now <')
    low = run_on(folder, "--threshold", "100")
    assert low.code == 4
    assert "below 100 %" in low.err
    assert 'disclosure.yaml:41:9: not covered: of embargo: document.version == "1" was never false' in low.out
    assert run_on(folder, "--threshold", "80").code == 0
    tree = run_on(folder, "--coverage", "-o", "json").tree["coverage"]
    assert tree["covered"] == tree["of"] - 1
    assert {rule["id"]: rule["outcomes"] for rule in tree["rules"]}["embargo"] == "both outcomes"
    assert set(tree["missing"][0]) == {"file", "line", "column", "what"}
    assert run_on(folder, "--coverage", "-o", "jsonl").lines[-1]["coverage"] == tree


def test_a_mutant_that_survives_is_4_and_has_its_place(folder: Path) -> None:
    """F12: a change of the policy that no test notices is a gap in the tests."""
    assert run_on(folder, "--mutate").code == 0
    change(folder / "disclosure.yaml", "now <", 'document.version == "1" && now <')
    survived = run_on(folder, "--mutate")
    assert survived.code == 4
    assert 'disclosure.yaml:41:9: survived: of embargo: document.version == "1" left out' in survived.out
    assert "no test notices 1 change of the policy" in survived.err
    tree = run_on(folder, "--mutate", "-o", "json").tree["mutation"]
    assert (tree["tried"] - tree["killed"], len(tree["survivors"]), tree["left_out"]) == (1, 1, 0)


RARE = """---
apiVersion: discreet/v1
kind: DisclosurePolicy
name: rare
rules:
  - id: rare
    effect: WITHHOLD
    moments: [PUBLISH]
    sources: [research-notes]
    when: has(document.attributes.items) && document.attributes.items.exists(x, x.b == 3)
"""


def test_warnings_of_the_set_stand_before_the_results(folder: Path, tmp_path: Path) -> None:
    """POL-05: `policy test` warns at load that x.b needs has(), as `policy check` does; no exit code changes."""
    assert run_on(folder, "-o", "json").tree["warnings"] == []
    (folder / "rare.yaml").write_text(RARE)
    checked = discreet("policy", "check", str(folder))
    warned = checked.out.splitlines()
    assert any(line.startswith("rare.yaml:10:") and ": warning: " in line and "has(x.b)" in line for line in warned)
    told = run_on(folder, "--junit", str(tmp_path / "report.xml"))
    assert (checked.code, told.code) == (0, 0)
    assert told.out.splitlines()[: len(warned)] == warned
    assert told.out.splitlines()[len(warned)] == "notes_test.yaml: notes"
    as_json = discreet("policy", "check", str(folder), "-o", "json").tree["warnings"]
    assert as_json
    assert run_on(folder, "-o", "json").tree["warnings"] == as_json
    assert run_on(folder, "-o", "jsonl").lines[-1] == {"warnings": as_json}
    assert "warning" not in (tmp_path / "report.xml").read_text()


def test_strict_runs_nothing_where_the_set_has_warnings(folder: Path) -> None:
    """POL-05: the flag is that of `policy check`, with its exit code."""
    assert run_on(folder, "--strict").code == 0
    (folder / "rare.yaml").write_text(RARE)
    ended = run_on(folder, "--strict")
    assert ended.code == 3
    assert "nothing was run" in ended.err
    assert "notes_test.yaml" not in ended.out
    assert set(run_on(folder, "--strict", "-o", "json").tree) == {"problems", "warnings"}


def test_problems_are_told_as_by_check(folder: Path) -> None:
    """E1: one way for both commands: the same lines, and the same values as JSON."""
    change(folder / "disclosure.yaml", "now <", "nw <")
    assert run_on(folder).out == discreet("policy", "check", str(folder)).out
    assert run_on(folder, "-o", "json").tree == discreet("policy", "check", str(folder), "-o", "json").tree


def test_mutants_are_not_tried_where_tests_fail(folder: Path) -> None:
    """F12: what fails anyway notices nothing."""
    change(folder / "notes_test.yaml", "reason: STALE", "reason: SUPERSEDED")
    ended = run_on(folder, "--mutate", "-o", "json")
    assert ended.code == 4
    assert "mutation" not in ended.tree


def test_help_shows_how_to_run_and_how_to_write(folder: Path) -> None:
    """E1: `policy test` takes a folder, and `new` is a command of its own."""
    told = discreet("policy", "test", "--help")
    assert told.code == 0
    assert "--threshold" in told.out
    assert "--from" in discreet("policy", "test", "new", "--help").out
    assert discreet("-o", "json", "policy", "test", str(folder)).code == 0


def watched(states: list[Mapping[str, bytes] | InputError], show: Callable[[Mapping[str, bytes]], None]) -> None:
    """Watches a folder that has one state after another, without a clock."""
    left = list(states)

    def read() -> Mapping[str, bytes]:
        state = left.pop(0)
        if isinstance(state, InputError):
            raise state
        return state

    watch(read, show, lambda: bool(left))


def test_watch_runs_again_when_a_file_changes_and_only_then(capsys: pytest.CaptureFixture[str]) -> None:
    """E1: the same files are run once; a failure, or a folder that is gone for a moment, ends nothing."""
    shown: list[bytes] = []

    def show(files: Mapping[str, bytes]) -> None:
        shown.append(files["a"])
        if files["a"] == b"2":
            raise PolicyTestsFailed("1 of 1 cases failed")

    one, two, gone = {"a": b"1"}, {"a": b"2"}, InputError("the folder is gone")
    watched([one, one, two, two, gone, gone, two, one], show)
    assert shown == [b"1", b"2", b"2", b"1"]
    assert capsys.readouterr().err.splitlines() == [
        "discreet: 1 of 1 cases failed",
        "discreet: the folder is gone",
        "discreet: 1 of 1 cases failed",
    ]
