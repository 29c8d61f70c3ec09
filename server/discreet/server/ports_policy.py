"""What the store knows of policy revisions and of servers. Part of `discreet.server.ports`."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from discreet.policy.facts import Micros


class PolicyName(NamedTuple):
    """A published revision without its bundle."""

    number: int
    commit: str
    digest: str
    dirty: bool
    published_at: Micros

    @property
    def pin(self) -> str:
        """What a pin names it by: the commit, or the digest of a set of no commit."""
        return self.commit or self.digest


class PolicyRow(NamedTuple):
    """A published policy revision with its canonical bundle."""

    number: int
    commit: str
    digest: str
    dirty: bool
    bundle: bytes
    published_at: Micros

    @property
    def name(self) -> PolicyName:
        """The revision without its bundle."""
        return PolicyName(self.number, self.commit, self.digest, self.dirty, self.published_at)


class Origin(NamedTuple):
    """Where a revision came from. `committed_at` None: not those of a commit. `source`: without credentials."""

    publisher: str
    source: str = ""
    ref: str = ""
    author: str = ""
    subject: str = ""
    committed_at: Micros | None = None
    rolled_back_to: int = 0
    """The earlier revision that a rollback brought back; 0: no rollback."""
    reason: str = ""


class Revision(NamedTuple):
    """A published revision with where it came from; None for one from before origins were kept."""

    name: PolicyName
    origin: Origin | None


class Pin(NamedTuple):
    """What a rollback pinned out: no follower publishes it until the ref has moved or somebody unpins it."""

    pinned: str
    actor: str
    reason: str
    at: Micros
    seq: int


class Beat(NamedTuple):
    """What a server tells of itself. Times and ages in microseconds.

    `run`: random, one a process: two processes of one name are told apart by it. `acked_seq` and `policy.number`: no
    answer that leaves it from now on is made under an older state. `read_age`: since it last read the policy's source;
    None: never yet.
    """

    instance: str
    run: str
    version: str
    engine: int
    lease: int
    acked_seq: int
    policy: PolicyName | None
    environment: str
    lag: int
    read_age: int | None
    problem: str
    ended: bool = False


class ServerRow(NamedTuple):
    """A server as the database knows it. `beat.read_age` is as of `seen_at`."""

    beat: Beat
    started_at: Micros
    seen_at: Micros

    def live(self, now: Micros) -> bool:
        """True while its lease runs: it told of itself within that time, and has not ended."""
        return not self.beat.ended and now < self.seen_at + self.beat.lease


class PolicyWork(Protocol):
    """What an index transaction can do about policy revisions."""

    def in_force(self) -> PolicyName | None:
        """The revision in force."""
        ...

    def row(self, number: int) -> PolicyRow | None:
        """A published revision with its bundle."""
        ...

    def publish(self, expected: int, row: PolicyRow, origin: Origin) -> int | None:
        """Publishes a revision if the one in force is still `expected`; returns its number, or None."""
        ...

    def pins(self) -> tuple[Pin, ...]:
        """What is pinned out, newest first."""
        ...

    def pin(self, pinned: str, actor: str, reason: str) -> int:
        """Pins out a commit or digest; returns the event's number."""
        ...

    def unpin(self, pinned: str, actor: str, reason: str) -> int:
        """Ends the pins of a commit or digest; returns the event's number."""
        ...

    def servers(self) -> tuple[ServerRow, ...]:
        """Servers that are live."""
        ...


class PolicyStore(Protocol):
    """Policy revisions and servers, outside index transactions. Raises StoreError."""

    async def policy_row(self, number: int) -> PolicyRow | None:
        """A published revision; 0: the one in force."""
        ...

    async def policy_name(self, number: int) -> PolicyName | None:
        """A published revision without its bundle; 0: the one in force."""
        ...

    async def revisions(self, before: int | None, limit: int) -> list[Revision]:
        """Published revisions, newest first, below the given number."""
        ...

    async def pins(self) -> tuple[Pin, ...]:
        """What is pinned out, newest first."""
        ...

    async def beat(self, beat: Beat) -> bool:
        """Writes what a server tells of itself; False, and nothing written, where another live one has its name.

        Takes no lock of the order: it goes through while a large change is written.
        """
        ...

    async def servers(self, within: int) -> tuple[Micros, Sequence[ServerRow]]:
        """The database's clock, and the servers seen within so many microseconds before it, by instance."""
        ...

    async def server(self, instance: str) -> ServerRow | None:
        """The last that is known of a server of that name."""
        ...
