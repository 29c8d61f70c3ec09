"""`discreet serve --redis`: from the command line, the environment or the file, and a password never from the first."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from discreet.cli.errors import InputError
from tests.server.cli.command import discreet
from tests.server.support import PolicyRepo
from tests.valkey_server import ValkeyServer

SECRET = "hush-hush"


def served(place: Path, repo: PolicyRepo, *options: str, **environment: str) -> tuple[str, str, int]:
    """What the cache is in the status of a server with these options; else its last words, and its exit code."""
    sockets = ["--socket-dir", str(place / "s")]
    words = [
        "serve",
        "--policy",
        str(repo.path),
        "--db",
        str(place / "d.db"),
        "--state",
        str(place / "state"),
        *sockets,
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "discreet.cli", *words, *options],
        env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=place,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        if not process.stdout.readline().startswith("READY "):
            return "", process.communicate()[1], process.returncode
        line = (Path("/proc") / str(process.pid) / "cmdline").read_text() if Path("/proc").exists() else ""
        assert SECRET not in line
        while True:
            told = subprocess.run(
                [sys.executable, "-m", "discreet.cli", "status", "-o", "json", *sockets],
                capture_output=True, text=True, check=False, cwd=place,
            )  # fmt: skip
            cache = json.loads(told.stdout).get("cache", "")
            if cache != "down":
                break
        process.send_signal(signal.SIGTERM)
        return cache, process.communicate()[1], process.returncode
    finally:
        process.kill()
        process.communicate()


def test_the_environment_may_hold_a_password(place: Path, repo: PolicyRepo) -> None:
    """DISCREET_REDIS is read, and neither the process list nor a line that is logged repeats its password."""
    server = ValkeyServer(requirepass=SECRET)
    try:
        url = server.url.replace("//", f"//:{SECRET}@")
        cache, log, code = served(place, repo, DISCREET_REDIS=url)
        assert (cache, code) == ("up", 0), log
        assert SECRET not in log
    finally:
        server.stop()


def test_an_option_wins_over_the_environment(place: Path, repo: PolicyRepo, valkey: ValkeyServer) -> None:
    """What is given on the command line stands over what the environment says."""
    cache, log, code = served(place, repo, "--redis", valkey.url, DISCREET_REDIS="redis://127.0.0.1:1")
    assert (cache, code) == ("up", 0), log


@pytest.mark.parametrize("url", [f"redis://:{SECRET}@h", f"rediss://ana:{SECRET}@h:1/2"])
def test_a_password_on_the_command_line_is_refused(url: str) -> None:
    """OBS-03: every process of the machine could read it; the error says where it belongs, and not what it is."""
    outcome = discreet("serve", "--policy", "p", "--redis", url)
    assert outcome.code == InputError.exit_code
    assert "DISCREET_REDIS" in outcome.err
    assert SECRET not in outcome.err + outcome.out


def test_an_address_that_is_none_is_refused_without_being_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """OBS-03: what stands in the environment by mistake may be a secret."""
    monkeypatch.setenv("DISCREET_REDIS", f"https://{SECRET}@h")
    outcome = discreet("serve", "--policy", "p")
    assert outcome.code == InputError.exit_code
    assert "redis: must be redis://" in outcome.err
    assert SECRET not in outcome.err + outcome.out
