"""The stage of the demo: a database, a Redis, a repository of policies, and two sidecars, taken down at the end."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from discreet.cli.demo.teller import Teller
from discreet.cli.settings import quiet_transport
from docs.examples.fleet.postgres import Postgres, short_place
from docs.examples.fleet.repository import Repository
from docs.examples.fleet.sidecar import Sidecar
from docs.examples.fleet.valkey import Valkey

LOOKS_BY_ITSELF_S = "3600"
"""So seldom that the story knows when the follower reads the repository: whenever it is told to."""
LEASE_S = "15"
"""Long enough for a machine that has much else to do: nothing here waits for a lease to run out."""


@dataclass(slots=True)
class Stage:
    """Everything that the acts share. `a` follows the repository; `b` serves what is published."""

    teller: Teller
    place: Path
    postgres: Postgres
    valkey: Valkey
    repository: Repository
    a: Sidecar
    b: Sidecar
    commits: dict[str, str] = field(default_factory=dict)
    """By what the story calls them."""
    digests: dict[str, str] = field(default_factory=dict)
    """Of the sets of those commits, as far as the story needs them."""

    @property
    def sidecars(self) -> tuple[Sidecar, Sidecar]:
        """Both."""
        return self.a, self.b


@contextmanager
def stage(teller: Teller) -> Iterator[Stage]:
    """Sets up all but the sidecars' start, and takes everything down again, whatever happens in between."""
    quiet_transport()
    with ExitStack() as stack:
        place = Path(tempfile.mkdtemp(prefix="discreet-fleet-", dir=short_place()))
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        repository = Repository(place)
        stack.callback(repository.close)
        postgres = Postgres()
        stack.callback(postgres.stop)
        valkey = Valkey(place / "valkey")
        stack.callback(valkey.stop)
        shared = ["--db", postgres.url, "--redis", valkey.url, "--poll", LOOKS_BY_ITSELF_S, "--lease", LEASE_S]
        follows = ["--policy", repository.url, "--ref", "refs/heads/main", "--policy-webhook", "127.0.0.1:0"]
        a = Sidecar("sidecar-a", place, [*shared, *follows])
        stack.callback(a.stop)
        b = Sidecar("sidecar-b", place, [*shared, "--policy", "published"])
        stack.callback(b.stop)
        yield Stage(teller, place, postgres, valkey, repository, a, b)
