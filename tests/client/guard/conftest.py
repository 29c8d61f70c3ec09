"""Guards of both kinds on the scripted server."""

from collections.abc import Iterator

import pytest

from discreet.client import Cutting, by_agent
from tests.client.asking import KINDS
from tests.client.guard.guarding import Guarded
from tests.client.scripted import ScriptedServer


@pytest.fixture(params=KINDS)
def guard_kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind


@pytest.fixture
def guarded(guard_kind: str, server: ScriptedServer) -> Iterator[Guarded]:
    """A guard whose segments end where the agent says so."""
    found = Guarded(guard_kind, server.target, Cutting(by_agent), deadline_s=30.0)
    yield found
    found.close()
