"""Servers of one's own, each a process with SQLite and a policy repository in a short-named directory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from discreet.cli.demo.repository import PolicyRepository
from discreet.cli.demo.server_process import ServerProcess
from tests.server.cli.command import Outcome, discreet


class Running:
    """A running server and the command line pointed at it."""

    def __init__(self, process: ServerProcess, repository: PolicyRepository) -> None:
        self.process = process
        self.repository = repository

    def __call__(self, *args: str, stdin: bytes | str = b"", tenant: str = "marlowe") -> Outcome:
        """Runs a command against this server."""
        return discreet("--socket-dir", str(self.process.sockets), "--tenant", tenant, *args, stdin=stdin)


@contextmanager
def running() -> Iterator[Running]:
    """A server that has just started, with the demo's policy set and an empty index."""
    with TemporaryDirectory(prefix="de-") as name, ExitStack() as stack:
        directory = Path(name)
        repository = PolicyRepository(directory / "policies")
        stack.callback(repository.close)
        repository.first_commit()
        process = ServerProcess(directory, repository.path)
        stack.callback(process.stop)
        process.start()
        yield Running(process, repository)


@pytest.fixture
def server() -> Iterator[Running]:
    """A server of the test's own."""
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Running]:
    """A server that the tests of a module share."""
    with running() as found:
        yield found
