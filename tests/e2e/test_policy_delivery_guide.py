"""docs/guides/policy-delivery.md is true: one change led from a branch to a sidecar, and back, prints what it says."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.e2e.consoles import environment, printed, served, steady, typed

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/policy-delivery.md"
SERVE = "discreet serve --policy published --db discreet.db --state state --instance sidecar-1"
FIRST = "git init -q -b main . && git add policies && git commit -q -m 'First policy set'"
_DIFFERS = ((re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{12})\b"), "COMMIT"), (re.compile(r"after [\d.]+ s"), "after S s"))


def _steady(text: str) -> str:
    for pattern, word in _DIFFERS:
        text = pattern.sub(word, text)
    return steady(text)


def test_the_commands_of_the_guide_print_what_it_says() -> None:
    """F1, F2, F8: compared, published, refused, listed, rolled back, pinned out and let in again."""
    steps = list(typed(GUIDE))
    assert len(steps) > 10
    with TemporaryDirectory(prefix="dg-") as name:
        directory = Path(name)
        env = environment(directory)
        (directory / "run").mkdir(mode=0o700)
        printed("discreet policy init policies", directory, env)
        assert printed(FIRST, directory, env) == ""
        with served(SERVE, directory, env):
            for step in steps:
                assert _steady(printed(step.command, directory, env)) == _steady(step.printed), step.command
        report = (directory / "diff.md").read_text("utf-8")
        assert report.startswith("## What changes in meaning\n")
