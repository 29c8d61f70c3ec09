"""`discreet audit head` and `audit verify` on what a real server wrote: exported, verified, tampered with, named."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from discreet.v1 import audit_pb2, common_pb2
from tests.server.cli.command import Outcome, discreet
from tests.server.support import Running, check, commit, document


async def export(running: Running, path: Path) -> None:
    """Appends the heads as they are, as the guide says."""
    where = ("--socket-dir", str(Path(running.server.listeners.sockets["auditor"]).parent))
    done = await asyncio.to_thread(discreet, *where, "audit", "head", "-o", "jsonl")
    assert done.code == 0, done.err
    with path.open("a") as file:
        file.write(done.out)


async def work(running: Running) -> None:
    """A registration, checks and a commit."""
    await running.lines.collector.put(document())
    for _ in range(3):
        await running.lines.agent.check(check())
    await running.lines.agent.commit(commit())


def verified(running: Running, *heads: Path) -> Outcome:
    """What `audit verify` says of the database of a server that may run on."""
    named = [part for path in heads for part in ("--heads", str(path))]
    return discreet("audit", "verify", "--db", running.server.config.db, *named, "-o", "json")


async def test_heads_are_exported_and_found_again(running: Running, tmp_path: Path) -> None:
    """F7: what was exported twice is in the chain, and every row a real server writes says what it is found by."""
    heads = tmp_path / "heads.jsonl"
    await work(running)
    await export(running, heads)
    await work(running)
    await export(running, heads)
    done = await asyncio.to_thread(verified, running, heads)
    assert done.code == 0, done.err
    tree = done.tree
    assert (tree["found"], tree["findings"], tree["heads"] >= 2, tree["rows"] >= tree["links"] > 4) == (
        0,
        [],
        True,
        True,
    )
    shown = await asyncio.to_thread(
        discreet, "audit", "verify", "--db", running.server.config.db, "--heads", str(heads)
    )
    assert "every exported head is in it" in shown.out
    answer = await running.lines.auditor.call(audit_pb2.ListChainHeadsRequest())
    assert isinstance(answer, audit_pb2.ListChainHeadsResponse)
    last = json.loads(heads.read_text().splitlines()[-1])
    assert [one.hash for one in answer.heads] == [one["hash"] for one in last["heads"]]


HIDDEN = {
    "a verdict": ("UPDATE audit_decision SET verdict = 2 WHERE verdict = 1", "verdict"),
    "a person": ("UPDATE audit_decision SET principal_id = 'nobody'", "principal_id"),
    "a session of a row": ("UPDATE audit_row SET session_id = 'other' WHERE act = 1", "session_id"),
    "a tenant of a row": ("UPDATE audit_row SET tenant = 'other' WHERE act = 3", "tenant"),
    "a decision taken away": ("DELETE FROM audit_decision WHERE moment = 2", "0 of 1 decisions, 0 acts"),
    "an act taken away": ("DELETE FROM audit_act WHERE method = 'PutDocuments'", "0 of 0 decisions, 0 acts"),
    "an act's actor": ("UPDATE audit_act SET actor = 'who'", "actor"),
    "a change's person": ("UPDATE audit_row SET principal_id = 'who' WHERE act = 3", "principal_id"),
}
"""What hides a row from whoever asks, though its bytes are whole; and the word that names it."""


@pytest.mark.parametrize("kind", HIDDEN)
async def test_a_row_that_was_hidden_from_queries_is_named(running: Running, kind: str) -> None:
    """F7: the chain holds, and yet an auditor would not find the row."""
    await work(running)
    statement, word = HIDDEN[kind]
    with closing(sqlite3.connect(running.server.config.db)) as raw, raw:
        assert raw.execute(statement).rowcount > 0
    done = await asyncio.to_thread(verified, running)
    assert done.code == 7
    told = [one["what"] for one in done.tree["findings"]]
    assert told
    assert all("was altered" in one and f"does not say what it says: {word}" in one for one in told), told


async def test_a_row_that_was_altered_is_named_by_its_request(running: Running, tmp_path: Path) -> None:
    """F7: a verdict changed in the bytes and in the columns alike, by somebody who knows both."""
    heads = tmp_path / "heads.jsonl"
    await work(running)
    await export(running, heads)
    with closing(sqlite3.connect(running.server.config.db)) as raw, raw:
        (request_id, body) = raw.execute("SELECT request_id, body FROM audit_row WHERE act = 1").fetchone()
        row = audit_pb2.AuditRow.FromString(body)
        row.decisions[0].verdict = common_pb2.VERDICT_WITHHOLD
        forged = row.SerializeToString(deterministic=True)
        raw.execute("UPDATE audit_row SET body = ? WHERE request_id = ?", (forged, request_id))
        named = row.decisions[0].decision_id
        raw.execute("UPDATE audit_decision SET verdict = 2 WHERE decision_id = ?", (named,))
    done = await asyncio.to_thread(verified, running, heads)
    (finding,) = done.tree["findings"]
    assert (done.code, finding["kind"], finding["request_id"], finding["row"]) == (7, "altered", request_id, 1)
    shown = await asyncio.to_thread(discreet, "audit", "verify", "--db", running.server.config.db)
    assert (shown.code, f"was altered (request {request_id})" in " ".join(shown.out.split())) == (7, True)


@pytest.mark.parametrize(
    "text, line",
    [
        ("{", 1),
        ('{"at": "2026-01-01T00:00:00Z", "heads": []}\n{"at": "x", "heads": [{"writer"', 2),
        ("[1]", 1),
        ("x", 1),
    ],
)
def test_a_file_of_heads_that_was_cut_off_is_refused_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    """F7: a line that is not whole is no proof of anything, and is not passed over."""
    path = tmp_path / "heads.jsonl"
    path.write_text(text)
    done = discreet("audit", "verify", "--db", str(tmp_path / "none.db"), "--heads", str(path))
    assert (done.code, f"line {line}: not what `discreet audit head -o jsonl` prints" in done.err) == (2, True)


@pytest.mark.parametrize("text", ["", " \n", '{"at": "2026-01-01T00:00:00Z"}\n'])
def test_a_file_without_heads_is_no_proof(tmp_path: Path, text: str) -> None:
    """F7: an export that failed every night must not look like one that was checked."""
    path = tmp_path / "heads.jsonl"
    path.write_text(text)
    done = discreet("audit", "verify", "--db", str(tmp_path / "none.db"), "--heads", str(path))
    assert (done.code, "holds no head" in done.err) == (2, True)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """F7: no file of heads, no database."""
    done = discreet("audit", "verify", "--db", str(tmp_path / "none.db"), "--heads", str(tmp_path / "none"))
    assert (done.code, "cannot be read" in done.err) == (2, True)
    done = discreet("audit", "verify", "--db", str(tmp_path / "none.db"))
    assert (done.code, "none.db" in done.err) == (5, True), done.err
