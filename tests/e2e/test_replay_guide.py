"""docs/guides/replay.md is true: its commands print what it says, its job passes and fails, its tables are complete."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from discreet.cli.policy_replaying import TITLES
from discreet.policy.replay import MEANINGS
from tests.e2e.consoles import environment, printed, served, steady, typed

GUIDE = Path(__file__).resolve().parents[2] / "docs/guides/replay.md"
SERVE = "discreet serve --policy policies --db discreet.db --state state"
RECORDS = {"note-1": "research-notes", "draft-1": "drafts", "draft-2": "drafts"}
DIGEST = "a" * 64


@contextmanager
def _decided(directory: Path, env: dict[str, str]) -> Iterator[None]:
    """A server that runs until the block ends, and has decided on three records."""
    with served(SERVE, directory, env):
        _ask(directory, env)
        yield


def _ask(directory: Path, env: dict[str, str]) -> None:
    documents = [
        {"record_id": name, "version": "1", "digest": DIGEST, "source_label": label, "scopes": ["public"],
         "assessment_expires_at": "2099-12-31T00:00:00Z"}
        for name, label in RECORDS.items()
    ]  # fmt: skip
    segments: list[dict[str, Any]] = [
        {"id": name, "kind": "chunk", "grounding": "BOUND", "digest": DIGEST,
         "bindings": [{"record_id": name, "version": "1", "digest": DIGEST}]}
        for name in RECORDS
    ]  # fmt: skip
    check = {"moment": "RETRIEVE", "principal": {"id": "ana"}, "session_id": "s-1", "segments": segments}
    for name, given in (("documents.json", documents), ("check.json", check)):
        (directory / name).write_text(json.dumps(given))
    assert "CREATED" in printed("discreet --tenant acme index put documents.json", directory, env)
    assert "UNTRUSTED_SOURCE" in printed("discreet --tenant acme check check.json", directory, env)


def _draft(directory: Path) -> None:
    """The folder `draft` as the guide tells of it."""
    shutil.copytree(directory / "policies", directory / "draft")
    sources, rules = directory / "draft/sources.yaml", directory / "draft/disclosure.yaml"
    sources.write_text(sources.read_text().replace("listed: false", "listed: true"))
    rules.write_text(rules.read_text().replace("sources: [research-notes]", "sources: [research-notes, drafts]"))


def test_the_guide_runs_as_it_stands() -> None:
    """F8: beside a running server: the table, the exit code, the Markdown, and the job of a pull request."""
    with TemporaryDirectory(prefix="dg-") as name:
        directory = Path(name)
        env = environment(directory)
        (directory / "run").mkdir(mode=0o700)
        made = "discreet policy init policies && git init -q -b main && git add policies && git commit -q -m first"
        printed(made, directory, env)
        _draft(directory)
        with _decided(directory, env):
            for step in typed(GUIDE):
                assert steady(printed(step.command, directory, env)) == steady(step.printed), step.command
            assert "Newly allowed: 2" in (directory / "replay.md").read_text()
            _run_job(directory, env)


def _run_job(directory: Path, env: dict[str, str]) -> None:
    """Runs the job on a commit that changes nothing, then on one that opens the drafts."""
    (block,) = re.findall(r"```yaml\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    steps = [step["run"] for step in yaml.safe_load(block)["jobs"]["replay"]["steps"] if "run" in step]
    (command,) = (step for step in steps if step.startswith("discreet "))
    env = {**env, "REPLAY_DB": "discreet.db", "GITHUB_STEP_SUMMARY": str(directory / "summary.md")}
    assert printed(f"{command} >table.txt; echo $?", directory, env) == "0"
    shutil.copytree(directory / "draft", directory / "policies", dirs_exist_ok=True)
    printed("git add policies && git commit -q -m drafts", directory, env)
    assert printed(f"{command} >table.txt 2>&1; echo $?", directory, env) == "12"
    assert printed(steps[-1], directory, env) == ""
    assert "Newly allowed: 2" in (directory / "summary.md").read_text()


def test_the_tables_of_the_guide_are_complete() -> None:
    """F8: every cause with its meaning, every count that a report has, in their order."""
    rows = re.findall(r"^\| (.+?) \| (.+) \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    causes = [(name.strip("`"), meaning) for name, meaning in rows if name.startswith("`")]
    assert causes == [(cause.value, meaning) for cause, meaning in MEANINGS.items()]
    counts = [name for name, _ in rows if not name.startswith("`") and name not in ("count", "cause", "---")]
    assert counts[: len(TITLES)] == list(TITLES.values())
    assert counts[len(TITLES) :] == ["unchanged", "not replayable"]
