"""`make demo-fleet` as a process of its own, without a terminal: the story holds, and nothing of it stays."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.console import Console

from discreet.cli.demo.teller import Teller
from docs.examples.fleet.__main__ import ACTS, ended
from tests import scratch

ROOT = Path(__file__).resolve().parents[2]
DONE_S = 170
COMMAND = [sys.executable, "-m", "docs.examples.fleet"]
IN_THEIR_ACTS = {
    1: ("sidecar-b took its revision over: 1 from Redis, 0 from SQL",),
    2: ("revision 2 is in force", "Acknowledged by: sidecar-a (given), sidecar-b (given)", "UNDER_REVIEW"),
    3: ("1 change of meaning: 1 tightens", "0 newly allowed, 2 newly withheld, 6 unchanged, 0 not replayable"),
    4: ("revision 3 is in force: that of revision 1", "is pinned out; revision 3 stays", "unpinned: "),
    5: ("handbook/travel 1: revoked for good", "no server answers under the state before: 2 seen", "PURGE"),
    6: ("lies that it counted: 1", "sidecar-a: redis down, ready yes", "sidecar-b: redis down, ready yes"),
    7: ("discreet status", "cache: unreachable"),
}


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory for what is temporary, which another user's PostgreSQL can pass through."""
    with TemporaryDirectory(prefix="df-", dir=scratch.short()) as name:
        directory = Path(name)
        directory.chmod(0o711)
        yield directory


def _started(place: Path) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"} | {"TMPDIR": str(place)}
    return subprocess.Popen(
        COMMAND, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _nothing_stays(place: Path) -> bool:
    """True where the directory is empty and no process was started with a path in it."""
    running = [command for entry in Path("/proc").iterdir() if (command := _command_of(entry))]
    assert running
    return not list(place.iterdir()) and not any(os.fsencode(place) in command for command in running)


def _command_of(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""  # no process, or one that has just ended


def test_the_demo_of_the_fleet_tells_its_story_and_leaves_nothing_behind(place: Path) -> None:
    """E6, F1, F2, F8: an invalidation across two sidecars as a person sees it; 0: every outcome was the story's."""
    process = _started(place)
    told, wrong = process.communicate(timeout=DONE_S)
    assert process.returncode == 0, told + wrong
    assert wrong == ""
    assert _nothing_stays(place)
    assert "DIFFERS" not in told
    assert re.search(r"\d\d outcomes compared with the story in \d+ s; 0 differ\.", told)
    assert "\x1b" not in told, "without a terminal there are no colours"
    acts = re.split(r"^\d  ", told, flags=re.MULTILINE)
    assert len(acts) == len(ACTS) + 1
    for number, lines in IN_THEIR_ACTS.items():
        for line in lines:
            assert line in acts[number], f"{line} in act {number}"


def test_stopped_in_the_middle_it_ends_what_it_started(place: Path) -> None:
    """E6: told to stop while its servers run, it ends as by Ctrl-C, and nothing of it stays."""
    process = _started(place)
    assert process.stdout is not None
    for line in process.stdout:
        if "sidecar-a is ready" in line:
            process.send_signal(signal.SIGTERM)
            break
    process.communicate(timeout=DONE_S)
    assert process.returncode == 130
    assert _nothing_stays(place)


def test_a_difference_is_told_and_ends_it_with_a_code_of_its_own() -> None:
    """E6: one outcome that is not the story's is enough."""
    printed = io.StringIO()
    teller = Teller(Console(file=printed, width=118))
    teller.expect("the answer", "WITHHOLD", "WITHHOLD")
    assert ended(teller, 1.0) == 0
    teller.expect("the answer", "WITHHOLD", "ALLOW")
    assert ended(teller, 1.0) == 1
    assert "DIFFERS: the answer: the story says WITHHOLD, the server said ALLOW" in printed.getvalue()
