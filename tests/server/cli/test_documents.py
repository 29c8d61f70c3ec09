"""What the documents show of requests and of lines to import is what the command line takes."""

from __future__ import annotations

import re
from pathlib import Path

from discreet.cli.messages import build
from discreet.cli.reading import parse_text
from discreet.policy.codec import parse_check
from discreet.v1.disclosure_pb2 import CheckRequest
from discreet.v1.index_pb2 import DocumentInput, EvidenceInput

DOCS = Path(__file__).parents[3] / "docs"


def _blocks(name: str, language: str) -> list[str]:
    text = (DOCS / name).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_request_of_the_command_line_s_page_is_a_question() -> None:
    """E1: docs/cli.md shows a request that is built and parsed without a complaint."""
    (text,) = _blocks("cli.md", "yaml")
    request = build(CheckRequest, parse_text(text.encode(), "cli.md"))
    assert parse_check(request.SerializeToString()).request.segments


def test_the_lines_of_the_import_s_page_are_taken() -> None:
    """E1: docs/index-import.md shows a document and a piece of evidence with fields that exist."""
    (text,) = _blocks("index-import.md", "json")
    document, evidence = (parse_text(line.encode(), "line") for line in text.splitlines())
    assert isinstance(evidence, dict)
    assert evidence.pop("kind") == "evidence"
    assert build(DocumentInput, document).record_id == "pep-0020"
    assert build(EvidenceInput, evidence).fields["value"].int_value == 1200
