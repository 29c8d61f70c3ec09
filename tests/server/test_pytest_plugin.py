"""The pytest plugin in somebody else's project: it starts a sidecar on their policy folder, and their agent asks it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from discreet.policy.starter import starter_files

ROOT = Path(__file__).parents[2]
AGENT = """
import hashlib, json
import pytest
from discreet.client import Binding, Grounding, Segment, Verdict

DIGEST = hashlib.sha256(b"text").hexdigest()
NOTE = {"record_id": "notes/outlook", "version": "1", "digest": DIGEST, "source_label": "research-notes",
        "scopes": ["desk-a"], "assessment_expires_at": "2099-01-01T00:00:00Z"}


def ask(client, principal="ana"):
    bound = Binding("notes/outlook", "1", DIGEST)
    segment = Segment(id="s1", kind="answer", digest=DIGEST, grounding=Grounding.BOUND, bindings=(bound,))
    return client.check_publish([segment], principal, "session-1").results[0]


def prepare(sidecar):
    (sidecar.directory / "notes.json").write_text(json.dumps(NOTE))
    sidecar.cli("index", "put", str(sidecar.directory / "notes.json"))
    sidecar.cli("grant", "add", "ana", "desk-a", "--reason", "test")


def test_a_note_is_shown_to_its_desk_alone(discreet_sidecar, discreet_client):
    prepare(discreet_sidecar)
    assert ask(discreet_client).verdict is Verdict.ALLOW
    assert ask(discreet_client, "bo").verdict is Verdict.WITHHOLD
    discreet_sidecar.cli("index", "suspend", "notes/outlook", "1", "--reason", "test")
    assert ask(discreet_client).reason.name == "SUSPENDED"


@pytest.mark.discreet(tenant="another")
def test_each_test_has_an_index_of_its_own(discreet_sidecar, discreet_client):
    assert discreet_sidecar.tenant == "another"
    assert ask(discreet_client).verdict is Verdict.WITHHOLD
    with pytest.raises(Exception, match="exit 2"):
        discreet_sidecar.cli("index", "suspend", "notes/outlook", "1", "--reason", "test")
"""
BROKEN = """
import pytest

@pytest.mark.discreet(policy="broken")
def test_never_runs(discreet_sidecar):
    pass

@pytest.mark.discreet(policy="missing")
def test_nor_this(discreet_sidecar):
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a policy set."""
    for name, data in starter_files().items():
        (tmp_path / "policies").mkdir(exist_ok=True)
        (tmp_path / "policies" / name).write_bytes(data)
    (tmp_path / "pytest.ini").write_text("[pytest]\ndiscreet_policy = policies\nfilterwarnings = error\n")
    return tmp_path


def pytest_in(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """What pytest says in the project, with this plugin and no other."""
    parts = [str(ROOT / part) for part in ("proto", "policy", "server", "client")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(parts), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "discreet.pytest_plugin", "-p", "no:cacheprovider", "-q"]
    return subprocess.run(
        [*command, "--strict-markers", *arguments], cwd=project, env=env, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip


def test_an_agent_is_tested_against_a_sidecar_of_its_own(project: Path) -> None:
    """E1: index and grants by the command line, questions by the client; each test has an index of its own."""
    (project / "test_agent.py").write_text(AGENT)
    done = pytest_in(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_a_sidecar_that_cannot_start_says_why(project: Path) -> None:
    """E1: a set with problems, a folder that is not there, no folder at all: each is told, and no test passes."""
    (project / "broken").mkdir()
    (project / "broken" / "discreet.yaml").write_text("kind: [")
    (project / "test_broken.py").write_text(BROKEN)
    done = pytest_in(project)
    assert done.returncode == 1
    assert "2 errors" in done.stdout
    assert "the sidecar did not start: " in done.stdout
    assert "discreet.yaml" in done.stdout
    assert "missing is no directory" in done.stdout
    (project / "pytest.ini").write_text("[pytest]\n")
    (project / "test_broken.py").write_text("def test_it(discreet_client):\n    pass\n")
    assert "set discreet_policy in the configuration file" in pytest_in(project).stdout


def test_the_plugin_is_declared_to_pytest() -> None:
    """E1: `pip install discreet[pytest]` is all that a project needs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    module = import_module(project["entry-points"]["pytest11"]["discreet"])
    assert {"discreet_client", "discreet_sidecar"} <= set(dir(module))
    assert [line.split(">")[0] for line in project["optional-dependencies"]["pytest"]] == ["discreet[server]", "pytest"]
