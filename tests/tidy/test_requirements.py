"""docs/REQUIREMENTS.md lists every requirement once, with a state that the tests bear out."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from tests.tidy.tree import repository_files, text

SECTIONS = {"A": 19, "B": 12, "C": 13, "D": 8, "E": 6, "F": 13, "G": 4}
STATES = {"holds", "partly", "planned", "stated"}
ROW = re.compile(r"^\| *([A-Z]\d+) *\| *(\S.*?) *\| *(\S+) *\|$", re.MULTILINE)


def _rows() -> list[tuple[str, str]]:
    """(id, state) of each row, in order."""
    return [(match[1], match[3]) for match in ROW.finditer(text(Path("docs/REQUIREMENTS.md")))]


def _named_by_tests() -> set[str]:
    """Every id that stands, as a word or a part of a snake_case name, in a test module or a decision case."""
    files = [
        path
        for path in repository_files()
        if path.parts[0] == "tests" and (path.name.startswith("test_") or path.suffix in {".yaml", ".yml"})
    ]
    return {found for path in files for found in re.findall(r"(?<![A-Za-z0-9])[A-G]\d{1,2}(?![A-Za-z0-9])", text(path))}


def test_every_requirement_stands_there_once_in_order() -> None:
    """The list is complete: nothing is dropped and nothing stands twice."""
    every = [f"{section}{n}" for section, last in SECTIONS.items() for n in range(1, last + 1)]
    assert [requirement for requirement, _ in _rows()] == every


def test_every_state_is_a_known_one() -> None:
    """The states are a closed set, explained at the top of the file."""
    assert set(Counter(state for _, state in _rows())) <= STATES


def test_what_is_marked_as_holding_is_named_by_a_test() -> None:
    """A row may say `holds` or `partly` only where a test names its id."""
    named = _named_by_tests()
    claimed = [requirement for requirement, state in _rows() if state in {"holds", "partly"}]
    assert [requirement for requirement in claimed if requirement not in named] == []
