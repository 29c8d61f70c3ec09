"""The scripted server and the clients of each kind on it."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.client.asking import KINDS, Surface
from tests.client.scripted import ScriptedServer


@pytest.fixture
def socket_dir() -> Iterator[Path]:
    """A directory whose paths are short enough for a socket."""
    with TemporaryDirectory(prefix="dc-") as directory:
        yield Path(directory)


@pytest.fixture(scope="module")
def running_server() -> Iterator[ScriptedServer]:
    with TemporaryDirectory(prefix="dc-") as directory:
        server = ScriptedServer(f"unix:{directory}/agent.sock")
        yield server
        server.stop()


@pytest.fixture
def server(running_server: ScriptedServer) -> Iterator[ScriptedServer]:
    """A server that answers ALLOW until a test says otherwise."""
    running_server.reset()
    yield running_server
    running_server.over.set()


@pytest.fixture(params=KINDS)
def surface(request: pytest.FixtureRequest, server: ScriptedServer) -> Iterator[Surface]:
    """A client of each kind."""
    found = Surface(request.param, server.target, deadline_s=5.0)
    yield found
    found.close()


@pytest.fixture(params=KINDS)
def surface_kind(request: pytest.FixtureRequest) -> str:
    kind: str = request.param
    return kind
