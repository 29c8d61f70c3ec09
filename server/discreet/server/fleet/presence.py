"""What this server tells the database of itself: before it listens, every half second while it runs, and at its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.snapshot import Snapshot
from discreet.server.errors import InstanceTaken
from discreet.server.fleet.lease import Lease
from discreet.server.logs import Log
from discreet.server.ports import Store, StoreError
from discreet.server.ports_policy import Beat, PolicyName, ServerRow

BEAT_S = 0.5
"""How often a server tells of itself where nothing moves."""
SOON_S = 0.1
"""How soon it does so again where it has more to acknowledge, or could not tell."""
BEAT_TIMEOUT_S = 5.0
LAST_BEAT_S = 1.0
"""How long the last beat may take when the server stops."""
TAKEN_POLL_S = 0.1
"""How often a start looks whether the lease of an earlier process of its name has run out."""
SEEN_WITHIN_US = 3 * 60 * 1_000_000
"""Servers that told of themselves within that time are looked at: longer than any lease."""
LOOK_BEATS = 10
"""Every so many beats the other servers are looked at, for metrics."""
ONE_SERVER = frozenset({"sqlite"})
"""Stores that one process at a time has open: whoever is said to live in one of them is gone."""


class Self(NamedTuple):
    """What does not change while the process runs."""

    instance: str
    run: str
    version: str
    engine: int
    environment: str


class Condition(NamedTuple):
    """How the process stands; ages in microseconds."""

    lag: int
    read_age: int | None
    problem: str


class Presence:
    """Keeps this server known to the database, and the lease of its answers with it."""

    def __init__(self, own: Self, lease: Lease, store: Store, condition: Callable[[], Condition], log: Log) -> None:
        self.lease = lease
        self.taken = asyncio.Event()
        """Set once another process lives under this name: this one must end."""
        self.failures = 0
        self.silent = ""
        """Why the database does not hear from this server; empty where it does."""
        self.forsaken = False
        """True while the database is not the one that was opened: nothing is told to another one."""
        self.live = 0
        """Servers that lived when they were last looked at."""
        self._own = own
        self._store = store
        self._condition = condition
        self._log = log
        self._soon = asyncio.Event()
        self._lock = asyncio.Lock()
        self._renewing: asyncio.Task[None] | None = None
        self._published: tuple[int, Micros] = (0, Micros(0))

    async def register(self) -> None:
        """Makes the server known before it listens.

        Waits for the lease of an earlier process of its name to run out, where that one does not tell of itself any
        more. Raises InstanceTaken where it does, StoreError where the store does not take it.
        """
        if self._store.kind in ONE_SERVER:
            await self._end_those_before()
        before = await self._store.server(self._own.instance)
        while not await self._beat():
            found = await self._store.server(self._own.instance)
            if found is not None and (before is None or _later(before, found)):
                raise InstanceTaken(
                    f"instance: another server that lives is called {self._own.instance}; give each server its own"
                    " name with --instance, or none for a random one"
                )
            await asyncio.sleep(TAKEN_POLL_S)
        await self.look()

    async def _end_those_before(self) -> None:
        now, rows = await self._store.servers(SEEN_WITHIN_US)
        for row in rows:
            if row.live(now):
                await self._store.beat(row.beat._replace(ended=True))

    async def run(self) -> None:
        """Tells of the server until cancelled, or until another one has its name."""
        beats = 0
        while not self.taken.is_set():
            told = self.forsaken or await self._tell()
            beats += 1
            if told and beats % LOOK_BEATS == 0:
                await self.look()
            self._soon.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SOON_S if not told or self.lease.behind else BEAT_S):
                    await self._soon.wait()

    def moved(self) -> None:
        """Tells the database at once where there is more to acknowledge than was."""
        if self.lease.behind:
            self._soon.set()

    async def _tell(self) -> bool:
        try:
            async with asyncio.timeout(BEAT_TIMEOUT_S):
                await self.beat()
        except (StoreError, TimeoutError) as error:
            self.failures += 1
            if not self.silent:
                self._log.error("the database does not hear from this server", error=type(error).__name__)
            self.silent = type(error).__name__
            return False
        if self.silent:
            self._log.info("the database hears from this server again")
        self.silent = ""
        return True

    async def beat(self) -> None:
        """Tells the database once. Raises StoreError, also where another server has taken the name."""
        if not await self._beat():
            self.taken.set()
            raise StoreError("another server lives under this name: this one answers nothing any more")

    async def renew(self) -> None:
        """Holds the lease again after it ran out. Raises StoreError where that cannot be."""
        if self.forsaken:
            raise StoreError("the database is not the one that was opened")
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self.beat())
        await asyncio.shield(self._renewing)
        if not self.lease.held:
            raise StoreError("the database heard from this server too late")

    async def end(self) -> None:
        """Says that nothing leaves this server any more. Says nothing where the store does not take it in time."""
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(LAST_BEAT_S):
                if not self.taken.is_set() and not self.forsaken:
                    await self._beat(ended=True)

    async def look(self) -> None:
        """Counts the servers that live."""
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(BEAT_TIMEOUT_S):
                now, rows = await self._store.servers(SEEN_WITHIN_US)
                self.live = sum(row.live(now) for row in rows)

    async def _beat(self, *, ended: bool = False) -> bool:
        async with self._lock:
            acked = self.lease.acknowledged()
            policy = await self._named(acked.snapshot)
            sent = self.lease.now_ns()
            told_us = self.lease.to_tell_us(sent)
            taken = await self._store.beat(self._said(acked.seq, policy, told_us, ended=ended))
            if taken and not ended:
                self.lease.registered(sent, self.lease.now_ns(), told_us)
            return taken

    def _said(self, acked_seq: int, policy: PolicyName | None, lease_us: int, *, ended: bool) -> Beat:
        own, condition = self._own, self._condition()
        return Beat(
            instance=own.instance, run=own.run, version=own.version, engine=own.engine, lease=lease_us,
            acked_seq=acked_seq, policy=policy, environment=own.environment, lag=condition.lag,
            read_age=condition.read_age, problem=condition.problem, ended=ended,
        )  # fmt: skip

    async def _named(self, snapshot: Snapshot | None) -> PolicyName | None:
        """The revision of a snapshot; when it was published is asked once."""
        if snapshot is None:
            return None
        if self._published[0] != snapshot.number:
            name = await self._store.policy_name(snapshot.number)
            self._published = snapshot.number, name.published_at if name is not None else Micros(0)
        return PolicyName(snapshot.number, snapshot.commit, snapshot.digest, snapshot.dirty, self._published[1])


def _later(before: ServerRow, found: ServerRow) -> bool:
    """Whether somebody told of a server between the two looks."""
    return (before.beat.run, before.seen_at) != (found.beat.run, found.seen_at)
