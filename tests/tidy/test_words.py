"""What must not stand in the repository: unfinished work, stand-ins, waits for luck, silenced checks, outside places.

The patterns are written so that this file does not match them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.tidy.tree import is_generated, product_files, python_files, repository_files, syntax, text

FORBIDDEN = {
    "unfinished work": r"\b(?:TO[D]O|FIX[M]E|XX[X])\b|NotImplemented[E]rror",
    "a test that may not run": r"pytest\.mark\.ski[p]|pytest\.ski[p]|import[o]rskip|\bxfai[l]\b",
    "a stand-in instead of the real part": r"unittest[.]mock|Magic[M]ock|fake[r]edis",
    "code hidden from coverage": r"# pragma[:] no cover",
}
# A retry of the product waits on purpose and is bounded; a test that waits hopes.
WAIT = re.compile(r"\btime[.]sleep\((?!0?\.0\d*\))|asyncio[.]sleep\((?:0?\.[1-9]|[1-9])")
SILENCED = re.compile(r"#\s*(?:type[:] ignore|noq[a])")
SILENCED_WITH_REASON = re.compile(
    r"#\s*(?:type[:] ignore\[[\w,\- ]+\]|noq[a]: [A-Z]+\d+(?:, ?[A-Z]+\d+)*)\s+(?:#|-|\()\s*\S.{9,}",
)
OUTSIDE = re.compile(r"(?<![\w.\-])/(?:work|farm|root)/|\.\./share[d]|/opt/(?:pypi|wheels)")
# Where a broad `except` may end: an outermost edge, which answers so that the caller withholds, and work done for
# others, which hands each who waits the exception that belongs to it. A handler that raises again is no end.
EDGES = {
    "client/discreet/client/purge.py": 2,
    "server/discreet/server/wire/edge.py": 2,
    "server/discreet/server/policies/aside.py": 1,
    "server/discreet/server/servicers/stream.py": 1,
    "server/discreet/server/spool/appending.py": 1,
    "server/discreet/server/stores/shared_read.py": 1,
    "server/discreet/server/stores/sqlite_writer.py": 1,
}


def _lines(paths: Iterable[Path], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{path}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(text(path).splitlines(), 1)
        if pattern.search(line)
    ]


@pytest.mark.parametrize("what", sorted(FORBIDDEN))
def test_python_is_free_of(what: str) -> None:
    """No Python file, tests included, holds one of the patterns."""
    assert _lines(python_files(), re.compile(FORBIDDEN[what])) == []


def test_no_test_waits_for_luck() -> None:
    """Tests wait for an event or turn a clock of their own; they never sleep and hope (a bounded poll may)."""
    assert _lines((path for path in python_files() if path.parts[0] == "tests"), WAIT) == []


def test_a_silenced_check_names_its_code_and_a_reason() -> None:
    """Whoever silences a checker says which rule and why, on the same line."""
    silenced = _lines(python_files(), SILENCED)
    assert [line for line in silenced if not SILENCED_WITH_REASON.search(line)] == []


def _swallows(handler: ast.ExceptHandler) -> bool:
    """True for a handler of everything that does not raise again at its end."""
    last = handler.body[-1]
    broad = handler.type is None or re.search(r"\b(?:Base)?Exception\b", ast.unparse(handler.type)) is not None
    return broad and not (isinstance(last, ast.Raise) and last.exc is None)


def test_only_the_outermost_edges_catch_everything() -> None:
    """F12: a broad `except` beneath the edges could swallow the fault that ought to withhold."""
    broad = Counter(
        str(path)
        for path in product_files()
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.ExceptHandler) and _swallows(node)
    )
    assert broad - Counter(EDGES) == Counter()


def test_nothing_names_a_place_outside_the_repository() -> None:
    """No file names the folders of a machine or a place beside the repository."""
    files = [path for path in repository_files() if not is_generated(path)]
    assert _lines(files, OUTSIDE) == []
