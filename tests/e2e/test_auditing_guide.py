"""docs/auditing.md is true: its commands answer as it says, on a server that has a day behind it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.e2e.consoles import environment, printed, served, steady, typed

GUIDE = Path(__file__).resolve().parents[2] / "docs/auditing.md"
SERVE = "discreet serve --policy policies --db discreet.db --state state"
DIGEST = "a" * 64


def _document(name: str, **fields: Any) -> dict[str, Any]:
    given = {
        "record_id": name,
        "version": "1",
        "digest": DIGEST,
        "source_label": "research-notes",
        "scopes": ["public"],
    }
    return {**given, "assessment_expires_at": "2099-12-31T00:00:00Z", **fields}


def _asked(principal: str, name: str, **fields: Any) -> dict[str, Any]:
    bound = [{"record_id": name, "version": "1", "digest": DIGEST}]
    segment = {"id": "s1", "kind": "chunk", "grounding": "BOUND", "digest": DIGEST, "bindings": bound}
    asked = {"principal": {"id": principal}, "session_id": f"{principal}-1", "segments": [segment]}
    return {**asked, **fields}


FILES = {
    "documents.json": [_document("note-1"), _document("note-2", digest="b" * 64, scopes=["board"])],
    "ana.json": _asked("ana", "note-1", moment="RETRIEVE"),
    "answer.json": _asked("ana", "note-1", answer_id="a-1"),
    "cy.json": _asked("cy", "note-1", answer_id="a-1"),
}
FILES["bo.json"] = json.loads(json.dumps(_asked("bo", "note-2", moment="RETRIEVE")).replace("a" * 64, "b" * 64))
DAY = """
discreet index put documents.json
discreet check ana.json
discreet commit answer.json
discreet commit cy.json
discreet check bo.json
discreet grant add bo board --reason 'joins the board'
discreet index suspend note-1 1 --reason 'its author asks for a review'
discreet --identity agent index suspend note-1 1 --reason 'I may not'
discreet index resume note-1 1 --reason reviewed
discreet index revoke note-1 1 --reason 'its author withdrew it' --ticket LEGAL-7 --yes
"""
SHOWN = """
import json, sys
from discreet.client import Client
found = json.loads(sys.stdin.readline())
with Client("unix:run/discreet/agent.sock", tenant="acme") as client:
    client.report_shown([found["decision"]["ledger_id"]], principal="ana", session_id="ana-1")
"""


def _day(directory: Path, env: dict[str, str]) -> None:
    """What the guide says has happened."""
    for name, given in FILES.items():
        (directory / name).write_text(json.dumps(given))
    for command in DAY.strip().splitlines():
        printed(command, directory, env)
        if command == "discreet commit answer.json":
            (directory / "shown.py").write_text(SHOWN)
            newest = "discreet audit query --principal ana --limit 1 -o jsonl 2>/dev/null"
            assert printed(f"{newest} | python shown.py", directory, env) == ""


def _counted(text: str) -> str:
    """What was printed, without how many rows came to share a link."""
    return re.sub(r"in \d+ links of 1 writer", "in links", steady(text))


def test_the_guide_runs_as_it_stands() -> None:
    """F7, F11: who did what, who saw what, what was withheld and why: each question with its answer."""
    with TemporaryDirectory(prefix="dg-") as name:
        directory = Path(name)
        env = {**environment(directory), "DISCREET_TENANT": "acme"}
        (directory / "run").mkdir(mode=0o700)
        made = "discreet policy init policies && git init -q -b main && git add policies && git commit -q -m first"
        printed(made, directory, env)
        with served(SERVE, directory, env):
            _day(directory, env)
            for step in typed(GUIDE):
                assert _counted(printed(step.command, directory, env)) == _counted(step.printed), step.command
