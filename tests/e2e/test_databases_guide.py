"""docs/guides/databases.md is true: what it tells operators to type prints what it says, around a backup restored."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.consoles import environment, printed, served, steady, typed

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/databases.md"
SERVE = "discreet serve --policy policies --db discreet.db --state state"
_DIFFERS = ((re.compile(r"\b[0-9a-f]{32}\b"), "EPOCH"), (re.compile(r"SQLite [\d.]+"), "SQLite VERSION"))


def _steady(text: str) -> str:
    for pattern, word in _DIFFERS:
        text = pattern.sub(word, text)
    return steady(text)


def test_the_commands_of_the_guide_print_what_it_says() -> None:
    """F1, A12: checked and copied beside a server, restored, refused, adopted, served again."""
    steps = list(typed(GUIDE))
    before, after = steps[:3], steps[3:]
    assert "report.txt" in after[0].command
    with TemporaryDirectory(prefix="dg-") as name:
        directory = Path(name)
        env = environment(directory)
        (directory / "run").mkdir(mode=0o700)
        printed("discreet policy init policies", directory, env)
        with served(SERVE, directory, env):
            for step in before:
                assert _steady(printed(step.command, directory, env)) == _steady(step.printed), step.command
            granted = printed("discreet --tenant acme grant add ana staff --reason joined", directory, env)
            assert granted.startswith("ana holds staff"), granted
        for left in directory.glob("discreet.db*"):
            left.unlink()
        shutil.copy(directory / "monday.db", directory / "discreet.db")
        assert "run `discreet db adopt`" in printed(SERVE, directory, env)
        for step in after:
            assert _steady(printed(step.command, directory, env)) == _steady(step.printed), step.command
        with served(SERVE, directory, env):
            assert "nothing is wrong" in printed("discreet db check --state state", directory, env)
