"""`discreet check` and `discreet commit` against a real server: shapes, words, exit codes, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import pytest

from tests.e2e.conftest import Running, running

DIGEST = sha256(b"text").hexdigest()
EVIDENCE_FIELDS = ["source_label", "allowlisted", "trusted_hit", "freshness", "source_id"]
OUTPUT_FIELDS = ["status", "numbers", "disclosure", "next", "audit", "template_id", "goal", "gap"]


@pytest.fixture(scope="module")
def stocked() -> Iterator[Running]:
    """A server with a few documents: open, for the board, suspended, revoked, and one of an unlisted source."""
    with running() as server:
        documents = [
            {
                "record_id": name,
                "version": "1",
                "digest": DIGEST,
                "source_label": "internal-notes" if name == "note" else "peps",
                "scopes": ["board" if name == "board" else "public"],
                "attributes": {"status": "Final"},
                "assessment_expires_at": "2099-12-31T00:00:00Z",
            }
            for name in ("open", "board", "suspended", "revoked", "note")
        ]
        put = server("index", "put", "-", "-o", "json", stdin=json.dumps({"documents": documents}))
        assert (put.code, [outcome["kind"] for outcome in put.tree["outcomes"]]) == (0, ["CREATED"] * 5), put.err
        assert server("index", "suspend", "suspended", "1", "--reason", "test").code == 0
        revoked = server("index", "revoke", "revoked", "1", "--reason", "test", "--ticket", "T-1", "--yes")
        assert revoked.code == 0, revoked.err
        yield server


def _request(*names: str, **fields: Any) -> dict[str, Any]:
    return {
        "moment": "RETRIEVE",
        "principal": {"id": "ana"},
        "session_id": "s-1",
        "segments": [
            {
                "id": name,
                "kind": "answer",
                "digest": DIGEST,
                "grounding": "BOUND",
                "bindings": [{"record_id": name, "version": "1", "digest": DIGEST}],
            }
            for name in names
        ],
        **fields,
    }


def _check(server: Running, *names: str, **fields: Any) -> Any:
    return server("check", "-", "-o", "json", stdin=json.dumps(_request(*names, **fields)))


def test_a5_an_allowed_segment_has_the_agreed_shape(stocked: Running) -> None:
    """A5: names and words of `evidence` and `output` are exactly those of the requirement."""
    found = _check(stocked, "open")
    assert found.code == 0
    result = found.tree["results"][0]
    assert (result["verdict"], result["reason"], result["gate"], result["rule"]) == ("ALLOW", "NONE", "RELEASE", "peps")
    assert list(result["evidence"][0]) == EVIDENCE_FIELDS
    assert result["evidence"][0] == {
        "source_label": "peps", "allowlisted": True, "trusted_hit": True, "freshness": "fresh", "source_id": "open"
    }  # fmt: skip
    assert list(result["output"]) == OUTPUT_FIELDS
    assert result["output"]["status"] == "available"
    assert result["output"]["numbers"] == []
    assert result["output"]["disclosure"] is None
    assert set(result["output"]["audit"]) == {"action_tendency", "execution_allowed"}
    assert result["output"]["audit"]["execution_allowed"] is False


def test_a5_a_withheld_segment_has_the_agreed_shape(stocked: Running) -> None:
    """A5: unavailable means no numbers, no tendency, nothing to execute; a fixed text, and what may be done next."""
    found = _check(stocked, "note", need_advice=True)
    assert found.code == 10
    result = found.tree["results"][0]
    assert (result["verdict"], result["reason"]) == ("WITHHOLD", "UNTRUSTED_SOURCE")
    assert result["evidence"][0]["trusted_hit"] is False
    output = result["output"]
    assert (output["status"], output["numbers"], output["next"]) == ("unavailable", [], output["next"])
    assert output["disclosure"].endswith(".")
    assert output["audit"] == {"action_tendency": "none", "execution_allowed": False}
    assert output["goal"]["segment_id"] == "note"


def test_f11_what_is_not_for_the_reader_looks_like_what_is_not_there(stocked: Running) -> None:
    """F11: apart from ids, the two answers are the same; evidence is masked alike."""
    found = _check(stocked, "board", "no-such").tree["results"]
    for result in found:
        result.pop("decision_id")
        result.pop("segment_id")
        result["output"]["goal"].pop("segment_id")
        gap = result["output"]["gap"]
        assert gap is None or gap.pop("record")
    assert found[0] == found[1]
    assert found[0]["reason"] == "NOT_AVAILABLE"
    assert found[0]["evidence"][0]["source_id"] == ""


def test_b9_withheld_is_10_and_purge_is_11(stocked: Running) -> None:
    """B9: the two are told apart by the exit code, too; purge wins."""
    assert _check(stocked, "open").code == 0
    assert _check(stocked, "open", "suspended").code == 10
    assert _check(stocked, "open", "suspended", "revoked").code == 11


def test_the_locale_chooses_the_text(stocked: Running) -> None:
    """`--locale` and the request's own `locale` are the same."""
    request = json.dumps(_request("suspended"))
    english = stocked("check", "-", "-o", "json", stdin=request).tree
    chinese = stocked("--locale", "zh-Hans", "check", "-", "-o", "json", stdin=request).tree
    texts = [tree["results"][0]["output"]["disclosure"] for tree in (english, chinese)]
    assert texts[0].isascii()
    assert not texts[1].isascii()


def test_the_table_says_what_a_person_wants_to_know(stocked: Running) -> None:
    """Verdict, reason, evidence, and the text that the reader is told."""
    shown = stocked("check", "-", stdin=json.dumps(_request("open", "suspended")))
    assert shown.code == 10
    for word in (
        "ALLOW",
        "WITHHOLD",
        "SUSPENDED",
        "peps, trusted, fresh",
        "show it, within 2000 ms",
        "policy revision 1",
    ):
        assert word in shown.out, shown.out


def test_a_commit_gives_a_ledger_id_and_replay_asks_by_it(stocked: Running) -> None:
    """Commit, repeat, replay: one ledger id, and a fresh verdict each time."""
    request = _request("open", answer_id="a-1")
    del request["moment"]
    first = stocked("commit", "-", "-o", "json", stdin=json.dumps(request))
    again = stocked("commit", "-", "-o", "json", stdin=json.dumps(request))
    assert (first.code, again.code) == (0, 0)
    committed, repeated = first.tree["results"][0], again.tree["results"][0]
    assert (committed["order"]["kind"], repeated["order"]["kind"]) == ("COMMITTED", "REPEATED")
    assert committed["ledger_id"] == repeated["ledger_id"] != ""
    replay = {
        "moment": "REPLAY",
        "principal": {"id": "ana"},
        "session_id": "s-1",
        "ledger_ids": [committed["ledger_id"]],
    }
    asked = stocked("check", "-", "-o", "json", stdin=json.dumps(replay))
    assert (asked.code, asked.tree["results"][0]["verdict"]) == (0, "ALLOW")
    assert committed["ledger_id"] in stocked("commit", "-", stdin=json.dumps(request)).out


def test_a_commit_of_something_else_under_the_same_key_is_refused(stocked: Running) -> None:
    """The natural key stands for one text; another one is bad input, and nothing is written."""
    request = _request("open", answer_id="a-2")
    del request["moment"]
    assert stocked("commit", "-", stdin=json.dumps(request)).code == 0
    request["segments"][0]["digest"] = sha256(b"other").hexdigest()
    refused = stocked("commit", "-", stdin=json.dumps(request))
    assert refused.code == 2
    assert refused.err.startswith("discreet: ")


@pytest.mark.parametrize("name", ["trusted_hit", "allowlisted"])
def test_a1_a_derived_field_never_reaches_the_server(stocked: Running, name: str) -> None:
    """A1: the command line refuses it by name, before anything is asked."""
    request = _request("note")
    request["segments"][0]["bindings"][0][name] = True
    refused = stocked("check", "-", stdin=json.dumps(request))
    assert refused.code == 2
    assert f"{name} is derived" in refused.err


def test_what_the_server_refuses_is_told_with_its_field(stocked: Running) -> None:
    """INVALID_ARGUMENT is bad input: exit code 2, the field's path and a hint."""
    request = _request("open")
    request["segments"][0]["bindings"][0]["digest"] = "ABC"
    refused = stocked("check", "-", stdin=json.dumps(request))
    assert refused.code == 2
    assert "segments[0].bindings[0].digest" in refused.err


def test_a_method_of_another_role_is_refused_with_6(stocked: Running) -> None:
    """The exit code tells "you may not" from "it is down" and from "it is wrong"."""
    refused = stocked("--identity", "collector", "check", "-", stdin=json.dumps(_request("open")))
    assert refused.code == 6
    assert "collector" in refused.err
