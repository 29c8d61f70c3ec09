"""`discreet policy explain` on the facts of a file, and on those of a server: the verdict is the server's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.demo.repository import PolicyRepository
from tests.e2e.conftest import Running
from tests.server.cli.command import Outcome, discreet

DIGEST = "a" * 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy set as `init` writes it."""
    assert discreet("policy", "init", str(tmp_path / "policies")).code == 0
    return tmp_path / "policies"


def question(*names: str, moment: str = "PUBLISH", digest: str = "") -> str:
    """A request on the records of these names."""
    bindings: list[dict[str, Any]] = [{"record_id": name, "version": "1", "digest": digest} for name in names]
    segments = [{"id": each["record_id"], "kind": "answer", "digest": DIGEST, "grounding": "BOUND", "bindings": [each]}
                for each in bindings]  # fmt: skip
    tree = {"tenant": "test", "moment": moment, "principal": {"id": "ana"}, "session_id": "s-1", "segments": segments}
    return json.dumps(tree)


def test_a_question_is_explained_gate_by_gate_and_rule_by_rule(folder: Path) -> None:
    """A8: as a tree for people; 10 where something is withheld."""
    asked = ("policy", "explain", "-", "--policy", str(folder), "--facts", str(folder / "notes_test.yaml"))
    told = discreet(*asked, stdin=question("notes/merger", "drafts/idea"))
    assert (told.code, told.err) == (10, "")
    lines = told.out.splitlines()
    assert lines[0] == "notes/merger: WITHHOLD POLICY_RULE by rule embargo"
    assert "  gate RULES         stopped here, POLICY_RULE, withheld by rule, notes/merger version 1" in lines
    assert any(line.startswith("    true  WITHHOLD embargo at disclosure.yaml:") for line in lines)
    assert "        true  now < timestamp(document.attributes.embargo_until)" in lines
    assert "    not asked, for their keys: figures (sources), small-talk (grounding)" in lines
    assert "  gate SOURCE        stopped here, UNTRUSTED_SOURCE, drafts/idea version 1" in lines
    allowed = discreet(*asked, stdin=question("notes/merger", moment="RETRIEVE"))
    assert allowed.code == 0
    later = discreet(*asked, "--at", "2026-02-01T00:00:00Z", stdin=question("notes/merger"))
    assert (later.code, later.out.splitlines()[0]) == (0, "notes/merger: ALLOW by rule notes")
    assert "        false now < timestamp(document.attributes.embargo_until)" in later.out.splitlines()
    purged = discreet(*asked, stdin=question("notes/recalled"))
    assert purged.code == 11


def test_json_has_every_field(folder: Path) -> None:
    """For tools: one object a segment."""
    asked = (
        "-o",
        "json",
        "policy",
        "explain",
        "-",
        "--policy",
        str(folder),
        "--facts",
        str(folder / "notes_test.yaml"),
    )
    told = discreet(*asked, stdin=question("notes/merger"))
    (one,) = told.tree["segments"]
    assert set(one) == {"segment", "verdict", "reason", "reader_reason", "rule", "text", "gates", "rules"}
    assert one["gates"][-1] == {
        "gate": "RULES", "passed": False, "detail": "withheld by rule",
        "record": {"record_id": "notes/merger", "version": "1"},
    }  # fmt: skip
    (rule,) = [rule for rule in one["rules"] if rule["rule"] == "embargo"]
    assert {key: rule[key] for key in ("effect", "mode", "unfit", "true", "owners")} == {
        "effect": "WITHHOLD", "mode": "enforce", "unfit": "", "true": True, "owners": [],
    }  # fmt: skip
    assert rule["parts"][1] == {
        "text": "has(document.attributes.embargo_until)",
        "depth": 1,
        "value": True,
        "error": "",
    }


def replayed(*entries: dict[str, Any], **changes: Any) -> str:
    """A question at REPLAY with the entries that it is about."""
    tree = {"tenant": "test", "moment": "REPLAY", "principal": {"id": "ana"}, "session_id": "s-1"}
    return json.dumps(tree | {"ledger": list(entries)} | changes)


def entry(ledger_id: str, *names: str, parents: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    """A ledger entry of a segment that is bound to these records."""
    bindings = [{"record_id": name, "version": "1"} for name in names]
    segment = {"kind": "answer", "grounding": "BOUND", "bindings": bindings, "parents": list(parents)}
    return {"ledger_id": ledger_id, "segment": {key: value for key, value in segment.items() if value}} | changes


def explained(folder: Path, stdin: str, *options: str) -> Outcome:
    """What `explain` says of a question, on the facts of the folder's own tests."""
    facts = ("--facts", str(folder / "notes_test.yaml"))
    return discreet("policy", "explain", "-", "--policy", str(folder), *facts, *options, stdin=stdin)


def test_what_was_shown_before_is_explained_from_its_entries(folder: Path) -> None:
    """F6, B7, B11: at REPLAY each entry is judged with its roots, those of what it was made from included."""
    given = [
        entry("answer", "notes/outlook"),
        entry("embargoed", "notes/merger"),
        entry("revoked", "notes/recalled"),
        entry("bo's", "notes/outlook", principal_id="bo"),
        entry("elsewhere", "notes/outlook", session_id="s-2"),
        entry("summary", "notes/outlook", parents=("answer", "revoked")),
    ]
    told = explained(folder, replayed(*given), "-o", "json")
    assert told.code == 11, told.err
    found = [(one["segment"], one["verdict"], one["reason"]) for one in told.tree["segments"]]
    assert found == [
        ("answer", "ALLOW", "NONE"),
        ("embargoed", "WITHHOLD", "POLICY_RULE"),
        ("revoked", "PURGE", "RETENTION_REVOKED"),
        ("bo's", "WITHHOLD", "PRINCIPAL_MISMATCH"),
        ("elsewhere", "WITHHOLD", "SESSION_MISMATCH"),
        ("summary", "PURGE", "RETENTION_REVOKED"),
    ]
    assert {rule["rule"]: rule["true"] for rule in told.tree["segments"][1]["rules"]}["embargo"] is True
    assert explained(folder, replayed(*given)).out.splitlines()[0] == "answer: ALLOW by rule notes"
    one = explained(folder, replayed(*given, ledger_ids=["answer"]), "-o", "json")
    assert (one.code, len(one.tree["segments"])) == (0, 1)
    none = explained(folder, replayed(*given, ledger_ids=["nothing"]), "-o", "json")
    assert none.code == 10
    assert none.tree["segments"][0]["reader_reason"] == "NOT_AVAILABLE"


def test_what_is_made_from_earlier_answers_is_explained_with_them(folder: Path) -> None:
    """F6, F11: at PUBLISH the file's entries are what parents may name; any other parent is as one that never was."""
    drafts = [
        {"id": name, "kind": "answer", "grounding": "BOUND", "digest": DIGEST, "parents": [parent]}
        for name, parent in (("from one", "answer"), ("from all", "summary"), ("of nothing", "made-up"))
    ]
    given = [entry("answer", "notes/outlook"), entry("revoked", "notes/recalled")]
    given.append(entry("summary", "notes/outlook", parents=("answer", "revoked")))
    told = explained(folder, replayed(*given, moment="PUBLISH", segments=drafts), "-o", "json")
    assert told.code == 11, told.err
    assert [(one["segment"], one["verdict"], one["reason"]) for one in told.tree["segments"]] == [
        ("from one", "ALLOW", "NONE"),
        ("from all", "PURGE", "RETENTION_REVOKED"),
        ("of nothing", "WITHHOLD", "PARENT_UNUSABLE"),
    ]
    bare = json.loads(replayed(moment="PUBLISH", segments=drafts))
    del bare["ledger"]
    for tree in (bare, bare | {"ledger": []}):
        alone = explained(folder, json.dumps(tree), "-o", "json")
        assert {one["reason"] for one in alone.tree["segments"]} == {"PARENT_UNUSABLE"}


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "no entries": ({"ledger": []}, "needs the entries that it is about"),
    "a name twice": ({"ledger": [entry("a", "notes/outlook")] * 2}, "stands twice"),
    "no name": ({"ledger": [{"segment": {}}]}, "ledger[0].ledger_id is missing"),
    "a key that is none": ({"ledger": [{"ledger": 1}]}, "unknown field 'ledger[0].ledger'"),
    "no mapping": ({"ledger": ["a"]}, "ledger[0] is no mapping"),
    "a segment with a mistake": (
        {"ledger": [{"ledger_id": "a", "segment": {"grounding": "BOUND", "bound": []}}]},
        "unknown field 'ledger[0].segment.bound'",
    ),
    "a segment without a kind": (
        {"ledger": [{"ledger_id": "a", "segment": {"grounding": "BOUND"}}]},
        "ledger[0].segment.kind",
    ),
    "a flag that is none": ({"ledger": [entry("a", "notes/outlook", need_advice="yes")]}, "ledger[0].need_advice"),
    "no list": ({"moment": "PUBLISH", "ledger": {"ledger_id": "a"}}, "`ledger` is no list"),
    "a parent that comes later": (
        {"ledger": [entry("a", "notes/outlook", parents=("b",)), entry("b", "notes/outlook")]},
        "ledger[0].segment.parents names no entry before it",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_an_entry_that_is_wrong_is_told_where_it_stands(folder: Path, mistake: str) -> None:
    """OBS-03: by its place in the request; 2, and nothing is decided."""
    changes, said = MISTAKES[mistake]
    ended = explained(folder, replayed(**changes))
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_replay_is_explained_as_a_server_decides_it(server: Running, tmp_path: Path) -> None:
    """F6: what a server committed and hides now is hidden by the explanation on its facts, for the same cause."""
    document = {"record_id": "replayed", "version": "1", "digest": DIGEST, "source_label": "peps", "scopes": ["public"],
                "attributes": {"status": "Final"}, "assessment_expires_at": "2099-12-31T00:00:00Z"}  # fmt: skip
    assert server("index", "put", "-", stdin=json.dumps({"documents": [document]})).code == 0
    segment = {"id": "s", "kind": "answer", "digest": DIGEST, "grounding": "BOUND",
               "bindings": [{"record_id": "replayed", "version": "1", "digest": DIGEST}]}  # fmt: skip
    tree = {"tenant": "marlowe", "principal": {"id": "ana"}, "session_id": "s-1"}
    commit = server("commit", "-", "-o", "json", stdin=json.dumps(tree | {"answer_id": "a", "segments": [segment]}))
    assert commit.code == 0, commit.err + commit.out
    ledger_id = commit.tree["results"][0]["ledger_id"]
    asked = tree | {"moment": "REPLAY", "ledger_ids": [ledger_id]}
    given = {"ledger": [{"ledger_id": ledger_id, "segment": segment}]}
    copy = PolicyRepository(tmp_path / "policies")

    def both() -> list[tuple[str, str]]:
        checked = server("check", "-", "-o", "json", stdin=json.dumps(asked))
        explain = ("policy", "explain", "-", "--policy", str(copy.path), "--server", "-o", "json")
        told = server(*explain, stdin=json.dumps(asked | given))
        assert told.code == checked.code, told.err
        (result,), (found,) = checked.tree["results"], told.tree["segments"]
        return [(result["verdict"], result["reason"]), (found["verdict"], found["reader_reason"])]

    try:
        copy.first_commit()
        assert both() == [("ALLOW", "NONE")] * 2
        suspended = server("index", "suspend", "replayed", "1", "--reason", "x")
        assert suspended.code == 0, suspended.err
        assert both() == [("WITHHOLD", "SUSPENDED")] * 2
    finally:
        copy.close()


def test_what_is_wrong_is_told_before_anything_is_decided(folder: Path) -> None:
    """A set, facts or a question that cannot be read: 3 for the author's files, 2 for the question."""
    facts = ("--facts", str(folder / "notes_test.yaml"))
    asked = ("policy", "explain", "-", "--policy", str(folder))
    assert discreet(*asked, stdin=question("a")).code == 2
    assert discreet(*asked, *facts, "--server", stdin=question("a")).code == 2
    assert discreet(*asked, *facts, stdin="{}").code == 2
    replay = json.dumps(
        {"tenant": "test", "moment": "REPLAY", "principal": {"id": "a"}, "session_id": "s", "ledger_ids": ["x"]}
    )
    refused = discreet(*asked, *facts, stdin=replay)
    assert refused.code == 2
    assert "ledger" in refused.err
    wrong = discreet(*asked, "--facts", str(folder / "sources.yaml"), stdin=question("a"))
    assert wrong.code == 3
    assert "sources.yaml:4:7: a SourceList where the facts of a PolicyTest are wanted" in wrong.out
    (folder / "sources.yaml").write_text("a: [")
    assert discreet(*asked, *facts, stdin=question("a")).code == 3


def test_facts_of_a_running_server_give_the_verdict_of_the_server(server: Running, tmp_path: Path) -> None:
    """A8: the same core on the same records; what the index does not hold is a fact, too."""
    documents = [
        {"record_id": name, "version": "1", "digest": DIGEST, "source_label": label, "scopes": [scope],
         "attributes": {"status": "Final"}, "assessment_expires_at": "2099-12-31T00:00:00Z"}
        for name, label, scope in (
            ("open", "peps", "public"), ("note", "internal-notes", "public"), ("board", "peps", "board")
        )
    ]  # fmt: skip
    put = server("index", "put", "-", "-o", "json", stdin=json.dumps({"documents": documents}))
    assert put.code == 0, put.err
    copy = PolicyRepository(tmp_path / "policies")
    try:
        copy.first_commit()
        request = question("open", "note", "board", "absent", moment="RETRIEVE", digest=DIGEST).replace(
            '"test"', '"marlowe"'
        )
        checked = server("check", "-", "-o", "json", stdin=request)
        told = server("policy", "explain", "-", "--policy", str(copy.path), "--server", "-o", "json", stdin=request)
    finally:
        copy.close()
    assert told.code == checked.code == 10, told.err
    verdicts = [(result["segment_id"], result["verdict"], result["reason"]) for result in checked.tree["results"]]
    assert [(one["segment"], one["verdict"], one["reader_reason"]) for one in told.tree["segments"]] == verdicts
    assert [one["reason"] for one in told.tree["segments"]][2:] == ["SCOPE_DENIED", "DOCUMENT_UNKNOWN"]
