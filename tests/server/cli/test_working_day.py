"""What a policy repository is told to run, in hooks and in CI, exists and passes on a set that holds."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.cli.command import discreet
from tests.tidy.tree import ROOT

GUIDE = (ROOT / "docs" / "guides" / "policies-in-ci.md").read_text("utf-8")
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
QUESTION = {
    "tenant": "test", "moment": "RETRIEVE", "principal": {"id": "ana"}, "session_id": "s-1",
    "segments": [{"id": "s", "kind": "answer", "digest": "a" * 64, "grounding": "BOUND",
                  "bindings": [{"record_id": "notes/outlook", "version": "1"}]}],
}  # fmt: skip


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a policy set in `policies`, as its working directory."""
    monkeypatch.chdir(tmp_path)
    assert discreet("policy", "init", "policies").code == 0
    (tmp_path / "question.yaml").write_text(json.dumps(QUESTION))
    return tmp_path


def blocks(kind: str) -> list[str]:
    """The code blocks of the guide in a language."""
    return re.findall(rf"```{kind}\n(.*?)```", GUIDE, re.DOTALL)


def test_each_hook_passes_on_a_new_set_and_fails_on_a_spoilt_one(repository: Path) -> None:
    """E1: with the files that pre-commit would pass, and with none where it passes none."""
    assert [hook["id"] for hook in HOOKS] == ["discreet-policy-fmt", "discreet-policy-check", "discreet-policy-test"]
    spoilt = {
        "discreet-policy-fmt": "x: [",
        "discreet-policy-check": "efect: ALLOW",
        "discreet-policy-test": "x: [",
    }
    for hook in HOOKS:
        chosen = re.compile(hook["files"])
        files = [path.relative_to(repository).as_posix() for path in sorted(repository.rglob("*")) if path.is_file()]
        passed = [file for file in files if chosen.search(file)]
        assert len(passed) == 5, hook["id"]
        command = [*shlex.split(hook["entry"])[1:], *hook.get("args", [])]
        command += passed if hook.get("pass_filenames", True) else []
        told = discreet(*command)
        assert told.code == 0, (hook["id"], told.err)
        more = repository / "policies" / "more.yaml"
        more.write_text(f"apiVersion: discreet/v1\nkind: Texts\n{spoilt[hook['id']]}\n")
        assert discreet(*command, *([str(more)] if hook.get("pass_filenames", True) else [])).code == 3, hook["id"]
        more.unlink()


def test_the_fmt_hook_is_given_policy_files_alone() -> None:
    """E1: hidden files and folders are no part of a set."""
    chosen = re.compile(HOOKS[0]["files"])
    assert all(map(chosen.search, ["policies/a.yaml", "policies/a_test.yml", "policies/desks/equity/rules.yaml"]))
    for other in ("a.yaml", "policies/.schema.yaml", "policies/.ci/a.yaml", "policies/a/.b/c.yaml", "policies/a.json"):
        assert not chosen.search(other), other


def test_the_workflow_runs_commands_that_exist_and_pass(repository: Path) -> None:
    """E1: each step of the job on a new set; what is typed in the guide besides."""
    (workflow,) = (yaml.safe_load(block) for block in blocks("yaml") if "runs-on" in block)
    steps = [step["run"] for step in workflow["jobs"]["policies"]["steps"] if "run" in step]
    commands = [step for step in steps if step.startswith("discreet ")]
    assert len(commands) == len(steps) - 1 == 3
    typed = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(typed) == 2
    for command in (*commands, *typed):
        told = discreet(*shlex.split(command.partition(" > ")[0])[1:])
        assert told.code == 0, (command, told.err)
    assert (repository / "results.xml").exists()


def test_the_configuration_names_hooks_that_exist() -> None:
    """E1: and only the keys of pre-commit."""
    (config,) = (yaml.safe_load(block) for block in blocks("yaml") if "repos:" in block)
    (repo,) = config["repos"]
    assert [hook["id"] for hook in repo["hooks"]] == [hook["id"] for hook in HOOKS]
    assert [set(hook) - {"id", "name", "description", "entry", "args", "language", "additional_dependencies",
                         "pass_filenames", "files"} for hook in HOOKS] == [set()] * 3  # fmt: skip


def test_the_schema_is_printed_as_json() -> None:
    """E1: for editors."""
    told = discreet("policy", "schema")
    assert told.code == 0
    assert {"$schema", "$defs", "oneOf"} <= set(told.tree)
