"""A scene for each test of purges."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.server.purge.orders import Scene, scene
from tests.server.support import PolicyRepo


@pytest.fixture
async def stage(place: Path, repo: PolicyRepo) -> AsyncIterator[Scene]:
    """A server with one document that was committed."""
    async with scene(place, repo) as made:
        yield made
