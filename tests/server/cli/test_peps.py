"""The rule that makes records of the history of the PEPs, compared with a reading of the file of its own."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from discreet.cli.peps import DATA, DRAFTS, PUBLIC, read_peps, supersessions, to_line
from discreet.v1.index_pb2 import DocumentInput

ROWS = 15_876
DOCUMENTS = 742
OPEN = {"Draft", "Draught", "Deferred", "Postponed", "Incomplete", "Provisional", ""}


@pytest.fixture(scope="module")
def rows() -> list[dict[str, Any]]:
    """The file as it is."""
    return [
        json.loads(line) for line in gzip.decompress(files("discreet.cli").joinpath(DATA).read_bytes()).splitlines()
    ]


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    """The import lines that the rule makes."""
    return [dict(to_line(pep)) for pep in read_peps()]


def test_every_version_becomes_one_record_in_order(rows: list[dict[str, Any]], lines: list[dict[str, Any]]) -> None:
    """All 15,876 are kept, also those whose digest recurs; a version names the one before it."""
    assert len(lines) == len(rows) == ROWS
    assert len({row["document_id"] for row in rows}) == DOCUMENTS
    wanted = [(row["document_id"], str(row["version"]), row["content_sha256"], row["committed_at"]) for row in rows]
    assert [(line["record_id"], line["version"], line["digest"], line["as_of"]) for line in lines] == wanted
    named = {(line["record_id"], line["version"]): line.get("supersedes_version", "") for line in lines}
    assert all(before == (str(int(version) - 1) if version != "1" else "") for (_, version), before in named.items())


def test_open_proposals_are_for_those_with_the_drafts_scope(
    rows: list[dict[str, Any]], lines: list[dict[str, Any]]
) -> None:
    """Whatever is not settled, misspelt words and missing ones too, is not public."""
    for row, line in zip(rows, lines, strict=True):
        assert line["scopes"] == [DRAFTS if row["status"] in OPEN else PUBLIC]
        assert line["attributes"] == {"status": row["status"], "type": row["type"]}


def test_digests_recur_in_the_data(rows: list[dict[str, Any]]) -> None:
    """A digest is no identity: some recur within a document, some across documents."""
    digests = Counter(row["content_sha256"] for row in rows)
    assert sum(1 for count in digests.values() if count > 1) > 20


def test_supersessions_name_documents_that_exist(lines: list[dict[str, Any]]) -> None:
    """Only a last version that names exactly one known successor becomes a call."""
    known = {(line["record_id"], line["version"]) for line in lines}
    found = supersessions(read_peps())
    assert ("pep-0333", "pep-3333") in {(item.record_id, item.by_record_id) for item in found}
    assert len(found) == 30
    assert all((item.record_id, item.version) in known for item in found)
    assert all((item.by_record_id, item.by_version) in known for item in found)


def test_the_lines_are_what_the_import_takes(lines: list[dict[str, Any]]) -> None:
    """Each line names fields of DocumentInput alone."""
    fields = set(DocumentInput.DESCRIPTOR.fields_by_name)
    assert {name for line in lines for name in line} <= fields
