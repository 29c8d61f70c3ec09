"""A server with something to purge, for each test of holders."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.server.purge.orders import Scene, scene
from tests.server.support import make_repo


@pytest.fixture
def place() -> Iterator[Path]:
    """A short directory: socket paths are limited to about a hundred bytes."""
    directory = Path(tempfile.mkdtemp(prefix="d-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
async def stage(place: Path) -> AsyncIterator[Scene]:
    """A server with one document that was committed."""
    async with scene(place, make_repo(place / "policy")) as made:
        yield made
