"""`discreet demo` as a process of its own, without a terminal: the story holds, and nothing is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

SECONDS_MAX = 60


def _surroundings() -> dict[str, str]:
    """The environment without a width of terminal, which whatever runs the tests may have set."""
    return {name: value for name, value in os.environ.items() if name != "COLUMNS"}


@pytest.mark.parametrize("place", ["t", "a-directory-of-so-long-a-name-that-no-socket-could-have-a-path-below-it"])
def test_the_demo_tells_its_story_and_leaves_nothing_behind(place: str) -> None:
    """A1, A2, B4, B6, B8, B9, B11, F2, F11 as a person sees them; exit code 0: every answer was the story's."""
    with TemporaryDirectory(prefix="dt-") as short:
        temporary = Path(short) / place
        temporary.mkdir()
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "discreet.cli", "demo"],
            capture_output=True,
            text=True,
            env={**_surroundings(), "TMPDIR": str(temporary)},
            check=False,
            timeout=120,
        )
        assert list(temporary.iterdir()) == []
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - started < SECONDS_MAX
    assert done.stderr == ""
    assert "DIFFERS" not in done.stdout
    for told in (
        "registers 1,568 versions of 40 Python proposals",
        "2  RETRIEVE",
        "SUPERSEDED",
        "CONTENT_MISMATCH",
        "ASSESSMENT_EXPIRED",
        "UNTRUSTED_SOURCE",
        "POLICY_RULE (REJECTED_PROPOSAL)",
        "NO_BINDING",
        "revokes the retention of PEP 401",
        "RETENTION_REVOKED",
        "Refused whole: revision 2",
        "SCOPE_DENIED (told: NOT_AVAILABLE)",
        "0 differ",
    ):
        assert told in done.stdout, told
    act = done.stdout.partition("4  Meanwhile")[2].partition("5  REPLAY")[0]
    for between in ("SUPERSEDED", "SUSPENDED", "NOT_AVAILABLE", "RETENTION_REVOKED"):
        assert between in act, "it happened between generation and publication"
    assert "\x1b" not in done.stdout, "without a terminal there are no colours"
