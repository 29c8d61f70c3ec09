"""`discreet policy replay` beside a running server: who gains, who loses, and the exit code of each for CI."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Running, running
from tests.server.cli.command import Outcome, discreet

HOSTILE = "bo`|<script>@team[x](y)"
RULE = """
  - id: all-proposals
    effect: WITHHOLD
    moments: [PUBLISH, REPLAY]
    sources: [peps]
    when: document.attributes.status == "Final"
"""


def _digest(name: str) -> str:
    return sha256(name.encode()).hexdigest()


def _segment(name: str) -> dict[str, Any]:
    binding = {"record_id": name, "version": "1", "digest": _digest(name)}
    return {"id": name, "kind": "chunk", "grounding": "BOUND", "digest": _digest(name), "bindings": [binding]}


def _decide(server: Running) -> None:
    """Two records; ana publishes both and is refused the rejected one, somebody with an odd name asks for it."""
    documents = [
        {"record_id": name, "version": "1", "digest": _digest(name), "source_label": "peps", "scopes": ["public"],
         "attributes": {"status": status}, "assessment_expires_at": "2099-12-31T00:00:00Z"}
        for name, status in (("pep-1", "Final"), ("pep-2", "Rejected"))
    ]  # fmt: skip
    assert server("index", "put", "-", stdin=json.dumps(documents)).code == 0
    asked = {"session_id": "s-1", "segments": [_segment("pep-1"), _segment("pep-2")]}
    commit = {**asked, "principal": {"id": "ana"}, "answer_id": "a-1"}
    assert server("commit", "-", stdin=json.dumps(commit)).code == 10
    check = {**asked, "principal": {"id": HOSTILE}, "moment": "PUBLISH"}
    assert server("check", "-", stdin=json.dumps(check)).code == 10


@pytest.fixture(scope="module")
def decided() -> Iterator[Running]:
    """A server that decided what `_decide` asks."""
    with running() as server:
        _decide(server)
        yield server


def _replay(server: Running, against: Path | str, *args: str) -> Outcome:
    return server(
        "policy", "replay", "--against", str(against), "--db", str(server.process.directory / "discreet.db"), *args
    )


def _edited(server: Running, where: Path, old: str, new: str) -> Path:
    """The policy set in a folder of its own, a text of its rules replaced."""
    shutil.copytree(server.repository.path, where, ignore=shutil.ignore_patterns(".git"))
    rules = where / "disclosure.yaml"
    assert old in rules.read_text()
    rules.write_text(rules.read_text().replace(old, new))
    return where


def test_the_set_in_force_changes_nothing(decided: Running) -> None:
    """F8: beside the running server, as a folder and as a commit: every decision and stored segment is unchanged."""
    repo = str(decided.repository.path)
    for against, more in ((repo, ()), ("HEAD", ("--repo", repo)), ("main", ("--repo", repo))):
        found = _replay(
            decided, against, *more, "-o", "json", "--fail-on", "newly-allowed", "--fail-on", "not-replayable"
        )
        assert found.code == 0, found.err
        decisions, segments = found.tree["decisions"], found.tree["segments"]
        assert (decisions["total"], decisions["unchanged"], decisions["causes"], decisions["changes"]) == (4, 4, [], [])
        assert (segments["total"], segments["unchanged"]) == (1, 1)


def test_who_gains_is_told_first_and_fails_the_build(decided: Running, tmp_path: Path) -> None:
    """F8: who, moment, label, record, rule, count and examples, as a table, as JSON and as Markdown."""
    wider = _edited(decided, tmp_path / "wider", '"Rejected"', '"Withdrawn"')
    found = _replay(decided, wider, "-o", "json", "--fail-on", "newly-allowed", "--markdown", str(tmp_path / "r.md"))
    assert (found.code, "2 newly-allowed" in found.err) == (12, True), found.err
    (change,) = found.tree["decisions"]["changes"]
    assert (change["change"], change["moment"], change["label"], change["count"]) == (
        "newly-allowed", "PUBLISH", "peps", 2,
    )  # fmt: skip
    assert change["before"] == {"verdict": "WITHHOLD", "reason": "POLICY_RULE", "rule": "rejected-proposals"}
    assert change["after"] == {"verdict": "ALLOW", "reason": "NONE", "rule": "peps"}
    assert {one["id"] for one in change["principals"]} == {"ana", HOSTILE}
    assert change["records"] == [{"id": "pep-2", "count": 2}]
    assert [decided("audit", "explain", one).code for one in change["decision_ids"]] == [0, 0]
    shown = _replay(decided, wider)
    assert (shown.code, "newly allowed" in shown.out, "rejected-proposals" in shown.out) == (0, True, True), shown.err
    written = (tmp_path / "r.md").read_text()
    assert written.index("Newly allowed: 2") > written.index("| **newly allowed** | **2** | **0** |")
    assert r"`` bo`\|<script>@team[x](y) (1) ``" in written


def test_who_loses_and_what_becomes_of_stored_segments(decided: Running, tmp_path: Path) -> None:
    """F8: newly withheld by rule; the stored segment changes its fate, and fails only where asked for."""
    narrower = _edited(decided, tmp_path / "narrower", "rules:\n", f"rules:{RULE}")
    found = _replay(decided, narrower, "-o", "json", "--fail-on", "newly-allowed")
    assert found.code == 0, found.err
    decisions, segments = found.tree["decisions"], found.tree["segments"]
    assert [(c["change"], c["after"]["rule"], c["count"]) for c in decisions["changes"]] == [
        ("newly-withheld", "all-proposals", 2)
    ]
    assert (segments["newly_withheld"], segments["changes"][0]["moment"]) == (1, "REPLAY")
    assert len(segments["changes"][0]["ledger_ids"]) == 1
    assert _replay(decided, narrower, "--fail-on", "newly-withheld").code == 12


def test_a_candidate_that_does_not_compile_is_told_with_its_places(decided: Running, tmp_path: Path) -> None:
    """F8: file, line and column, and nothing is replayed."""
    broken = _edited(decided, tmp_path / "broken", "document.attributes.status ==", "document.atributes.status ==")
    found = _replay(decided, broken)
    assert (found.code, "disclosure.yaml:1" in found.out, "nothing was replayed" in found.err) == (3, True, True)


def test_a_period_without_decisions_says_so(decided: Running, tmp_path: Path) -> None:
    """F8: nothing is shown by it, in a table and in Markdown; another tenant has none either."""
    repo = decided.repository.path
    early = ("--since", "2020-01-01T00:00:00Z", "--until", "2020-02-01T00:00:00Z", "--markdown", str(tmp_path / "r.md"))
    found = _replay(decided, repo, *early)
    assert (found.code, "no decisions in the period" in found.err) == (0, True)
    assert "no decisions in the period" in (tmp_path / "r.md").read_text()
    other = discreet(
        "--tenant", "other", "policy", "replay", "--against", str(repo), "--db",
        str(decided.process.directory / "discreet.db"),
    )  # fmt: skip
    assert (other.code, "no decisions in the period" in other.err) == (0, True)


@pytest.mark.parametrize(
    "args, code, said",
    [
        (("--db", "no-such.db"), 5, "is no file"),
        (("--since", "1h", "--until", "2h"), 2, "--until is not after --since"),
        (("--repo", "no-such"), 2, "no-such"),
        (("--since", "yesterday"), 2, "not a time"),
    ],
)
def test_what_is_wrong_is_said(decided: Running, args: tuple[str, ...], code: int, said: str) -> None:
    """F8: one line, with what would be right."""
    found = _replay(decided, decided.repository.path, *args)
    assert (found.code, said in found.err, found.err.count("\n")) == (code, True, 1)


def test_a_ref_that_is_none_is_said(decided: Running, tmp_path: Path) -> None:
    """F8: neither a folder nor a branch, a folder that lies in no repository."""
    repo = str(decided.repository.path)
    found = _replay(decided, "no-such", "--repo", repo)
    assert (found.code, "no-such" in found.err) == (2, True), found.err
    found = _replay(decided, "HEAD", "--repo", str(tmp_path))
    assert (found.code, "lies in no Git repository" in found.err) == (2, True), found.err
