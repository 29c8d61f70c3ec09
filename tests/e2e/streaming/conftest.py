"""A sidecar process that the tests of a module share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from discreet.cli.demo.server_process import ServerProcess
from tests.e2e.streaming.stage import RULES, Sidecar
from tests.server.support import POLICY, make_repo


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory whose paths are short enough for a socket."""
    with TemporaryDirectory(prefix="ds-") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def sidecar() -> Iterator[Sidecar]:
    """`discreet serve` with SQLite and a policy repository."""
    with TemporaryDirectory(prefix="ds-") as name:
        directory = Path(name)
        repo = make_repo(directory / "policy", {**POLICY, "rules.yaml": RULES})
        process = ServerProcess(directory, repo.path)
        process.start()
        yield Sidecar(process, repo)
        process.stop()
