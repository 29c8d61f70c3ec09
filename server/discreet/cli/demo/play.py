"""The stage of the demo while it runs: the server, the people, the agent's client, and what was shown."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from discreet.cli.demo.cast import Shelf, read_shelf
from discreet.cli.demo.index_work import Office
from discreet.cli.demo.repository import PolicyRepository
from discreet.cli.demo.server_process import ServerProcess
from discreet.cli.demo.teller import Teller
from discreet.cli.demo.transcripts import Transcripts
from discreet.cli.peps import TENANT
from discreet.cli.settings import quiet_transport
from discreet.client import Client

PLACE_BYTES_MAX = 60
"""Of the temporary directory: the path of a socket in it may have 100 bytes."""


@dataclass(slots=True)
class Play:
    """Everything that the acts share."""

    teller: Teller
    directory: Path
    shelf: Shelf
    repository: PolicyRepository
    server: ServerProcess
    office: Office
    agent: Client
    transcripts: Transcripts
    shown: dict[str, str] = field(default_factory=dict)
    """Ana's published segments by name, with the ledger id that each was committed under."""


@contextmanager
def stage(teller: Teller) -> Iterator[Play]:
    """Sets everything up in a directory of its own, and takes it down again, whatever happens in between."""
    quiet_transport()
    directory = _directory()
    try:
        repository = PolicyRepository(directory / "policies")
        commit = repository.first_commit()
        teller.did("dora", f"commits a policy set to Git ({commit[:12]})")
        server = ServerProcess(directory, repository.path)
        try:
            server.start()
            teller.did("discreet serve", f"is ready: SQLite, policy revision {server.status().policy.number}")
            yield from _with_people(teller, directory, repository, server)
        finally:
            server.stop()
            repository.close()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _directory() -> Path:
    """A new directory, short enough for the paths of sockets in it."""
    place = tempfile.gettempdir()
    long = len(os.fsencode(place)) > PLACE_BYTES_MAX
    return Path(tempfile.mkdtemp(prefix="discreet-demo-", dir="/tmp" if long else place))  # noqa: S108  (made 0700)


def _with_people(
    teller: Teller, directory: Path, repository: PolicyRepository, server: ServerProcess
) -> Iterator[Play]:
    office = Office(server.settings, TENANT)
    try:
        with Client(server.settings.address("agent"), tenant=TENANT, deadline_s=10.0) as agent:
            kept = Transcripts(directory / "transcripts.db")
            yield Play(teller, directory, read_shelf(), repository, server, office, agent, kept)
    finally:
        office.close()
