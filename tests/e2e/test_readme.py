"""The README is true: its commands run as they stand and print what it says; its tables are the product's."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.cli.exit_codes import MEANINGS
from tests.e2e.consoles import environment, printed, served, steady, typed

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
LOOP = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SERVE = re.compile(r"^discreet serve .*$", re.MULTILINE)


def test_the_tour_runs_as_it_stands() -> None:
    """Every command of the README, in order, prints what the README says."""
    with TemporaryDirectory(prefix="dr-") as name:
        directory = Path(name)
        env = environment(directory)
        (directory / "run").mkdir(mode=0o700)
        (directory / "policy").symlink_to(ROOT / "policy")
        tour = list(typed(README))
        first = [step for step in tour if "polic" in step.command]
        for step in first:
            assert steady(printed(step.command, directory, env)) == steady(step.printed), step.command
        (serve,) = SERVE.findall(README.read_text(encoding="utf-8"))
        with served(serve, directory, env):
            for step in tour[len(first) :]:
                if step.command.startswith("export "):
                    key, _, value = step.command.removeprefix("export ").partition("=")
                    env[key] = value
                else:
                    assert steady(printed(step.command, directory, env)) == steady(step.printed), step.command


def test_the_loop_is_the_guide_s() -> None:
    """The ten lines stand in the guide, too, where they are run against a server."""
    (loop,) = LOOP.findall(README.read_text(encoding="utf-8"))
    assert loop in (ROOT / "docs/guides/agents.md").read_text(encoding="utf-8")


def test_the_exit_codes_of_the_documents_are_the_product_s() -> None:
    """docs/cli.md lists every code with its meaning, in order."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(str(code.value), meaning) for code, meaning in MEANINGS.items()]


def test_b12_g3_the_readme_says_what_it_cannot_see_and_who_does_not_need_it() -> None:
    """B12, G3: limits are stated where a newcomer reads them."""
    text = README.read_text(encoding="utf-8")
    for heading in ("## What it cannot see", "## Who does not need it"):
        assert heading in text
    assert "only a real environment can show" in text
