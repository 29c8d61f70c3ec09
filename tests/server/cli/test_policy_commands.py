"""`discreet policy`: what it writes passes its own check and tests, and what is wrong is said all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.server.cli.command import discreet


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy set as `init` writes it."""
    assert discreet("policy", "init", str(tmp_path / "policies")).code == 0
    return tmp_path / "policies"


def test_what_init_writes_is_good_and_its_tests_pass(folder: Path) -> None:
    """A newcomer starts from a set that holds."""
    checked = discreet("policy", "check", str(folder), "--strict")
    assert (checked.code, checked.out) == (0, "")
    assert f"{folder}: good" in checked.err
    tested = discreet("policy", "test", str(folder))
    assert tested.code == 0
    assert "cases passed" in tested.err
    assert "FAIL" not in tested.out


def test_init_never_overwrites(folder: Path) -> None:
    """A second init in the same place changes nothing."""
    (folder / "disclosure.yaml").write_text("mine")
    again = discreet("policy", "init", str(folder))
    assert again.code == 2
    assert "exists already" in again.err
    assert (folder / "disclosure.yaml").read_text() == "mine"


def test_all_problems_are_told_at_once_with_their_places(folder: Path) -> None:
    """Each with file, line, column and, where there is one, a hint; the exit code is 3."""
    (folder / "extra.yaml").write_text("apiVersion: discreet/v1\nkind: SourceLst\nname: extra\nsources: []\n")
    text = (folder / "discreet.yaml").read_text()
    (folder / "discreet.yaml").write_text(text.replace("use-within", "use-withn"))
    told = discreet("policy", "check", str(folder))
    assert told.code == 3
    lines = told.out.splitlines()
    assert any(line.startswith("extra.yaml:2:7: ") and "SourceList" in line for line in lines)
    assert any(line.startswith("discreet.yaml:") and "use-within" in line for line in lines)
    assert told.err == f"discreet: {len(lines)} problems in {folder}; nothing of it can come into force\n"


def test_problems_as_json_have_stable_fields(folder: Path) -> None:
    """For editors and CI."""
    (folder / "discreet.yaml").write_text("kind: [")
    told = discreet("-o", "json", "policy", "check", str(folder))
    assert told.code == 3
    assert set(told.tree) == {"problems", "warnings"}
    assert set(told.tree["problems"][0]) == {"file", "line", "column", "code", "message", "hint"}


def test_warnings_fail_only_where_that_is_asked(folder: Path) -> None:
    """What is legal and most likely not meant is said; --strict makes it count."""
    text = (folder / "disclosure.yaml").read_text()
    (folder / "disclosure.yaml").write_text(
        text.replace("sources: [ledger]\n    advice", "sources: [drafts]\n    advice")
    )
    lenient, strict = discreet("policy", "check", str(folder)), discreet("policy", "check", str(folder), "--strict")
    assert (lenient.code, strict.code) == (0, 3)
    assert ": warning: " in lenient.out


def test_a_failing_case_is_4_with_what_differs(folder: Path) -> None:
    """What was expected and what was found stand beneath the case."""
    text = (folder / "notes_test.yaml").read_text()
    (folder / "notes_test.yaml").write_text(
        text.replace("expect: { verdict: ALLOW, rule: notes }", "expect: { verdict: ALLOW, rule: figures }", 1)
    )
    ended = discreet("policy", "test", str(folder))
    assert ended.code == 4
    assert "FAIL notes_test.yaml:" in ended.out
    assert "expected figures, found notes" in ended.out
    as_json = discreet("policy", "test", str(folder), "-o", "json")
    assert as_json.code == 4
    assert as_json.tree["failed"] == 1
    assert len(discreet("policy", "test", str(folder), "-o", "jsonl").lines) == len(as_json.tree["cases"])


def test_tests_of_a_broken_set_are_not_run(folder: Path) -> None:
    """3, not 4: there is nothing that could be tested."""
    (folder / "sources.yaml").write_text("kind: [")
    ended = discreet("policy", "test", str(folder))
    assert ended.code == 3
    assert "sources.yaml:" in ended.out


def test_a_set_without_tests_says_so(folder: Path) -> None:
    """No test passed is not the same as all passed."""
    (folder / "notes_test.yaml").unlink()
    ended = discreet("policy", "test", str(folder))
    assert ended.code == 2
    assert "holds no tests" in ended.err
