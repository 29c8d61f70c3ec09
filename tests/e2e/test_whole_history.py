"""The whole PEP history against a real server: every version arrives, and questions are answered right."""

from __future__ import annotations

import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from discreet.cli.peps import read_peps, supersessions, to_line
from tests.e2e.conftest import Running, running
from tests.e2e.reading_peps import expected, rows

ROWS = 15_876
IMPORT_S_MAX = 60.0
"""Generous: the suite shares its machine. `make bench` measures against 20 s."""


@pytest.fixture(scope="module")
def history() -> dict[str, list[dict[str, Any]]]:
    """The data file by document, versions in order."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows():
        found[row["document_id"]].append(row)
    return dict(found)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that holds the whole history, imported through the command line."""
    file = tmp_path_factory.mktemp("peps") / "peps.jsonl"
    file.write_text("".join(json.dumps(to_line(pep)) + "\n" for pep in read_peps()))
    with running() as server:
        started = time.monotonic()
        done = server("index", "import", str(file), "-o", "json")
        taken = time.monotonic() - started
        assert (done.code, done.err) == (0, "")
        assert done.tree == {
            "lines": ROWS, "created": ROWS, "updated": 0, "unchanged": 0, "refused": 0, "bad_lines": 0, "bad": []
        }  # fmt: skip
        assert taken < IMPORT_S_MAX
        assert list(file.parent.iterdir()) == [file], "a checkpoint is left only where something is left to do"
        assert server("grant", "add", "ana", "peps-drafts", "--reason", "test").code == 0
        yield server


def test_b5_every_version_arrives_as_it_is(full: Running, history: dict[str, list[dict[str, Any]]]) -> None:
    """B5: count and content; the index holds what was registered, and the last version of each document is current."""
    listed = full("index", "list", "--label", "peps", "--limit", "20000", "-o", "jsonl").lines
    assert len(listed) == ROWS
    held = {(record["record_id"], record["version"]): record for record in listed}
    for document, versions in history.items():
        for row in versions:
            record = held[document, str(row["version"])]
            assert record["digest"] == row["content_sha256"]
            assert record["as_of"] == row["committed_at"]
            assert record["attributes"] == {"status": row["status"], "type": row["type"]}
            assert (record["source_label"], record["collector"]) == ("peps", "collector")
            assert record["current"] == (row is versions[-1])
            following = None if row is versions[-1] else {"record_id": document, "version": str(row["version"] + 1)}
            assert record["superseded_by"] == following


def test_importing_again_changes_nothing(full: Running, tmp_path: Path) -> None:
    """A repeated import is harmless: equal is UNCHANGED, and nothing new is written."""
    file = tmp_path / "again.jsonl"
    peps = [pep for pep in read_peps() if pep.document_id in ("pep-0001", "pep-0008")]
    file.write_text("".join(json.dumps(to_line(pep)) + "\n" for pep in peps))
    before = full("status", "-o", "json").tree["token"]
    done = full("index", "import", str(file), "-o", "json").tree
    assert (done["unchanged"], done["created"], done["updated"]) == (len(peps), 0, 0)
    assert full("status", "-o", "json").tree["token"] == before


@pytest.mark.parametrize("principal,scopes", [("ana", ("peps-drafts",)), ("cy", ())])
@pytest.mark.parametrize("seed", range(4))
def test_b2_f11_fifty_segments_are_answered_as_the_data_says(
    full: Running, history: dict[str, list[dict[str, Any]]], principal: str, scopes: tuple[str, ...], seed: int
) -> None:
    """B2, F11: bound to current, old, edited and unknown versions; compared with a reading of the file alone."""
    chance = random.Random(seed)
    documents = sorted(history)
    asked = [_binding(history, chance.choice(documents), chance) for _ in range(50)]
    request = {
        "moment": "RETRIEVE",
        "principal": {"id": principal},
        "session_id": f"s-{seed}",
        "segments": [
            {"id": f"seg-{n}", "kind": "chunk", "grounding": "BOUND", "bindings": [binding]}
            for n, binding in enumerate(asked)
        ],
    }
    answer = full("check", "-", "-o", "json", stdin=json.dumps(request))
    now = datetime.now(UTC)
    wanted = [expected(history.get(b["record_id"], []), int(b["version"]), b["digest"], scopes, now) for b in asked]
    found = [(result["verdict"], result["reason"]) for result in answer.tree["results"]]
    assert found == [(one.verdict, one.reason) for one in wanted]
    assert len(set(found)) >= 4, "the draw covers several outcomes"
    assert answer.code == 10


def _binding(history: dict[str, list[dict[str, Any]]], document: str, chance: random.Random) -> dict[str, str]:
    versions = history[document]
    kind = chance.choice(["current", "current", "old", "edited", "no such version", "no such document"])
    row = chance.choice(versions[:-1]) if kind == "old" and len(versions) > 1 else versions[-1]
    binding = {"record_id": document, "version": str(row["version"]), "digest": row["content_sha256"]}
    if kind == "edited":
        binding["digest"] = row["content_sha256"][::-1]
    elif kind == "no such version":
        binding["version"] = str(len(versions) + 7)
    elif kind == "no such document":
        binding["record_id"] = f"{document}-b"
    return binding


def test_documents_that_replaced_others_hide_them(full: Running) -> None:
    """The data's own supersessions, said one by one, hide the replaced documents and nothing else."""
    calls = supersessions(read_peps())[:5]
    for item in calls:
        done = full("index", "supersede", item.record_id, item.version, "--by", item.by_record_id, item.by_version,
                    "--reason", "as its header says")  # fmt: skip
        assert done.code == 0, done.err
    shown = full("index", "show", calls[0].record_id, "-o", "json").tree["record"]
    assert shown["superseded_by"] == {"record_id": calls[0].by_record_id, "version": calls[0].by_version}
