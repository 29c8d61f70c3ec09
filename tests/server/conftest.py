"""A policy repository, and servers on it: in this process, and as a process of their own.

For server and end-to-end tests.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.server.support import PolicyRepo, Running, Spawned, config_of, in_process, make_repo, spawn


@pytest.fixture
def place() -> Iterator[Path]:
    """A short directory: socket paths are limited to about a hundred bytes."""
    directory = Path(tempfile.mkdtemp(prefix="d-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def repo(place: Path) -> PolicyRepo:
    """A Git repository with the tests' policy set."""
    return make_repo(place / "policy")


@pytest.fixture
async def running(place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """A server in this process."""
    async with in_process(config_of(place, repo.path)) as server:
        yield server


@pytest.fixture
async def spawned(place: Path, repo: PolicyRepo) -> AsyncIterator[Spawned]:
    """A server as a process of its own."""
    server = await spawn(place, repo.path)
    yield server
    await server.terminate()
