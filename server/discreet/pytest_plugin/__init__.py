"""Fixtures for the tests of agents: a sidecar on a policy folder, and a client of it. Installed by `discreet[pytest]`.

    # pytest.ini
    [pytest]
    discreet_policy = policies

    def test_the_note_is_shown(discreet_sidecar, discreet_client):
        discreet_sidecar.cli("index", "import", "notes.jsonl")
        ...

Nothing of the server is imported here: the sidecar is a process, and a test that uses none of it pays nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from discreet.client import Client
    from discreet.pytest_plugin.sidecar import Sidecar

__all__ = ["discreet_client", "discreet_sidecar"]

_MARKER = "discreet(policy=DIR, tenant=NAME, environment=NAME): what the sidecar of this test serves"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declares where the policy folder is named: on the command line, or in the configuration file."""
    group = parser.getgroup("discreet")
    group.addoption("--discreet-policy", metavar="DIR", help="Policy folder that sidecars serve.")
    parser.addini("discreet_policy", "Policy folder that sidecars serve, from the root directory.")
    parser.addini("discreet_tenant", "Tenant that tests ask for.", default="test")
    parser.addini("discreet_environment", "Environment of the policy set, where it declares any.", default="")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    config.addinivalue_line("markers", _MARKER)


@pytest.fixture
def discreet_sidecar(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sidecar]:
    """A sidecar of its own for this test, with an empty index, stopped at its end."""
    from discreet.pytest_plugin.sidecar import running

    config = request.config
    marker = request.node.get_closest_marker("discreet")
    given = marker.kwargs if marker is not None else {}
    tenant = str(given.get("tenant") or config.getini("discreet_tenant"))
    environment = str(given.get("environment") or config.getini("discreet_environment"))
    directory = tmp_path / "discreet"
    directory.mkdir()
    with running(_policy(config, given.get("policy")), directory, tenant, environment) as sidecar:
        yield sidecar


@pytest.fixture
def discreet_client(discreet_sidecar: Sidecar) -> Iterator[Client]:
    """A client of the test's sidecar, as its agent and for its tenant."""
    from discreet.client import Client

    with Client(discreet_sidecar.target("agent"), tenant=discreet_sidecar.tenant) as client:
        yield client


def _policy(config: pytest.Config, marked: object) -> Path:
    named = marked or config.getoption("--discreet-policy") or config.getini("discreet_policy")
    if not named:
        raise pytest.UsageError(
            "discreet: no policy folder; set discreet_policy in the configuration file, give --discreet-policy DIR, or "
            "mark the test with @pytest.mark.discreet(policy=DIR)"
        )
    folder = config.rootpath / str(named)
    if not folder.is_dir():
        raise pytest.UsageError(f"discreet: {folder} is no directory; name the folder of a policy set")
    return folder
