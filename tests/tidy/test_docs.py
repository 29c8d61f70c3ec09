"""The documents stay true to the tree: what they link to and tell people to type exists."""

from __future__ import annotations

import re
from pathlib import Path

from tests.tidy.tree import ROOT, repository_files, text

DECISION_LINES_MAX = 60
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
MAKE = re.compile(r"(?:^|`|\$ )make ([a-z][a-z-]*)", re.MULTILINE)
NAMED_PATH = re.compile(r"`((?:proto|policy|server|client|tests|docs)/[\w./-]*\w/?)`")


def _documents() -> list[Path]:
    return [path for path in repository_files() if path.suffix == ".md"]


def _decisions() -> list[Path]:
    return [path for path in _documents() if path.parent == Path("docs/decisions") and path.name[0].isdigit()]


def test_every_link_leads_to_a_file() -> None:
    """Relative links resolve from where they stand."""
    broken = [
        f"{path}: {link}"
        for path in _documents()
        for link in LINK.findall(text(path))
        if not (ROOT / path.parent / link).exists()
    ]
    assert broken == []


def test_every_make_target_that_is_named_exists() -> None:
    """Nobody is told to type a target that is not there."""
    targets = set(re.findall(r"^([a-z][a-z-]*):", text(Path("Makefile")), re.MULTILINE))
    assert {f"{path}: make {t}" for path in _documents() for t in MAKE.findall(text(path)) if t not in targets} == set()


def test_every_path_that_is_named_exists() -> None:
    """A path in code marks is a promise; the changelog may speak of what was."""
    named = [
        (path, name) for path in _documents() if path.name != "CHANGELOG.md" for name in NAMED_PATH.findall(text(path))
    ]
    assert [f"{path}: {name}" for path, name in named if not (ROOT / name).exists()] == []


def test_decisions_are_numbered_once_and_short() -> None:
    """One number a decision, at most 60 lines, and each says which test fails when it is broken."""
    numbers = [path.name[:4] for path in _decisions()]
    assert len(numbers) == len(set(numbers))
    assert [str(path) for path in _decisions() if len(text(path).splitlines()) > DECISION_LINES_MAX] == []
    assert [str(path) for path in _decisions() if "tests/" not in text(path)] == []
