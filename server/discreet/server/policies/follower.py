"""The policy revision in force.

Followed in its source, compiled aside, published to SQL by compare-and-set, swapped whole.

What is in force is one reference. A commit that does not compile leaves it as it is and is said so, until the ref
moves. A revision that another server published is loaded from SQL. Nothing here ever forks, and nothing blocks the
event loop: sources are read and sets compiled in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from discreet.policy.facts import Caller, Micros
from discreet.policy.problems import PolicyProblems
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import AuditAct, Role
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call, new_id
from discreet.server.errors import PolicyRefused
from discreet.server.logs import Log
from discreet.server.policies.aside import aside
from discreet.server.policies.bundles import Bundles
from discreet.server.policies.compile import Compiled, TestsFailed, compile_files, compile_row
from discreet.server.policies.errors import Cause, SourceRefused, SourceUnavailable
from discreet.server.policies.sources import Source, Target
from discreet.server.ports import Clock, Store, StoreError, Work
from discreet.server.ports_policy import Origin, PolicyRow

PUBLISH_TRIES_MAX = 8
START_WAIT_S = 5.0
"""How long a start waits for a source that is silent; then it goes on with what SQL holds, or NOT_SERVING."""
PUBLISHER = "server"
"""The identity that publications are recorded under."""


@dataclass(frozen=True, slots=True)
class Following:
    """How the following goes, for status and health. Times are monotonic nanoseconds, but for `read_at`."""

    read_ns: int | None = None
    """When the source was last read; None: never yet."""
    read_at: Micros | None = None
    pending_ns: int | None = None
    """Since when the source has been known to point at something that is not in force."""
    error: str = ""
    """Why the newest revision is not in force: every problem with file, line and column."""
    error_commit: str = ""
    unreachable: str = ""
    """Why the source cannot be read; empty where it can."""


class Policies:
    """Holds the snapshot in force and keeps it up to date."""

    def __init__(
        self, source: Source, bundles: Bundles, store: Store, clock: Clock, log: Log, instance: str,
        environment: str = "",
    ) -> None:  # fmt: skip
        self._source = source
        self._bundles = bundles
        self._store = store
        self._clock = clock
        self._log = log
        self._instance = instance
        self._environment = environment
        self._lock = asyncio.Lock()
        self._catching: asyncio.Task[None] | None = None
        self._handled: Target | None = None
        self._first: asyncio.Task[None] | None = None
        self._refused_target = False
        """Whether the error in `following` is about what the ref points at, and not about the ref itself."""
        self._from_store_at: int | None = None
        self.snapshot: Snapshot | None = None
        self.following = Following()
        self.refused = dict.fromkeys(Cause, 0)
        """How many commits were refused, by what was wrong with them."""

    async def start(self) -> None:
        """Brings a first revision into force.

        The source's, else the one that SQL holds, else none yet (health says so).

        PolicyRefused, with all problems, where the source's set is wrong and there is no earlier revision to go on
        with: waiting would mend nothing. A folder that is no commit is refused in any case: whoever serves it stands
        before it.
        """
        self._first = asyncio.create_task(self.poll())
        await asyncio.wait({self._first}, timeout=START_WAIT_S)
        if self.snapshot is None:
            await self._load(0)
        dirty = self._handled is not None and self._handled.dirty
        if self.following.error and (self.snapshot is None or dirty or not self._refused_target):
            raise PolicyRefused(self.following.error)

    async def run(self, poll_s: float) -> None:
        """Polls until cancelled."""
        if self._first is not None:
            await self._first
        while True:
            await asyncio.sleep(poll_s)
            await self.poll()

    async def poll(self) -> None:
        """Reads the source once and brings what is new into force.

        Says in `following` what is wrong; raises nothing of that.
        """
        try:
            target = await aside(self._source.resolve)
            self._read()
            if self._handled is not None and target.key == self._handled.key:
                self._settled()
                return
            self._pending()
            compiled = await self._compile(target)
        except SourceUnavailable as error:
            self._unreachable(str(error))
            return
        except SourceRefused as error:
            self._refused(error, None)
            return
        if compiled is not None:
            await self._bring_into_force(target, compiled)

    async def _compile(self, target: Target) -> Compiled | None:
        """The target's set compiled; None, with the reason noted, where it is none.

        It is not tried again until the ref moves.
        """
        try:
            files = await aside(self._source.files, target)
            return await aside(compile_files, files, target.commit, target.dirty, self._environment)
        except (SourceRefused, PolicyProblems) as error:
            self._refused(error, target)
            return None

    async def _bring_into_force(self, target: Target, compiled: Compiled) -> None:
        async with self._lock:
            try:
                number = await self._publish(compiled)
            except StoreError as error:
                self._log.warning("policy not published: the store does not answer", error=type(error).__name__)
                return
            if number is None:
                return
            await self._note_rewritten(target)
            self._handled = target
            self.following = replace(self.following, pending_ns=None, error="", error_commit="")
            if self.snapshot is None or self.snapshot.number < number:
                self._swap(replace(compiled.snapshot, number=number))

    async def _publish(self, compiled: Compiled) -> int | None:
        """The number that the set is in force under. What is in force already keeps its number."""
        wanted = compiled.snapshot
        for _ in range(PUBLISH_TRIES_MAX):
            row = await self._store.policy_name(0)
            if row is not None and (row.commit, row.digest, row.dirty) == (wanted.commit, wanted.digest, wanted.dirty):
                return row.number
            number = await self._store.change(self._publication(row.number if row is not None else 0, compiled))
            if number is not None:
                return number
        self._log.warning("policy not published: others keep publishing", tries=PUBLISH_TRIES_MAX)
        return None

    def _publication(self, expected: int, compiled: Compiled) -> Callable[[Work], int | None]:
        snapshot, call = compiled.snapshot, Call(Caller(PUBLISHER, Role.PUBLISHER, None), "PublishPolicy", new_id())

        def work(index: Work) -> int | None:
            row = PolicyRow(expected + 1, snapshot.commit, snapshot.digest, snapshot.dirty, compiled.bundle, index.now)
            number = index.policies.publish(expected, row, Origin(PUBLISHER, self._source.shown))
            if number is not None:
                detail = f"revision {number}, commit {snapshot.commit or 'none'}, digest {snapshot.digest}"
                change = Change("PublishPolicy", seq=index.head.seq, detail=detail)
                index.audit(row_of(call, AuditAct.CHANGE, "", index.now, self._instance, change))
            return number

        return work

    def _swap(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._from_store_at = None
        self._log.info(
            "policy in force",
            policy=snapshot.name,
            number=snapshot.number,
            commit=snapshot.commit,
            digest=snapshot.digest,
            dirty=snapshot.dirty,
            environment=snapshot.environment,
        )
        if snapshot.environment != self._environment:
            self._log.warning("servers of this database are told different environments", told=self._environment)

    async def at_least(self, number: int) -> Snapshot | None:
        """The snapshot in force once it is that revision or a later one; None where SQL has none to give."""
        if self.snapshot is None or self.snapshot.number < number:
            if self._catching is None or self._catching.done():
                self._catching = asyncio.create_task(self._load(number))
            await asyncio.shield(self._catching)
        snapshot = self.snapshot
        return snapshot if snapshot is not None and snapshot.number >= number else None

    async def _load(self, number: int) -> None:
        """Takes the revision that SQL says is in force, unless one at least as new is held by now."""
        async with self._lock:
            if self.snapshot is not None and self.snapshot.number >= max(number, 1):
                return
            name = await self._store.policy_name(0)
            if name is None or (self.snapshot is not None and self.snapshot.number >= name.number):
                return
            row = await self._bundles.row(name)
            if row is None:
                return
            try:
                compiled = await aside(compile_row, row)
            except PolicyProblems as error:
                self._log.error(
                    "the published policy does not compile here", number=row.number, problems=len(error.problems)
                )
                return
            self._swap(compiled)
            self._from_store_at = row.published_at

    def age_us(self) -> int:
        """For how long the revision in force may have been outdated.

        Since the source was last read, or since something newer has been known that is not in force, whichever is
        longer.
        """
        now, following = self._clock.monotonic_ns(), self.following
        if following.read_ns is None:
            return max(0, self._clock.wall() - self._from_store_at) if self._from_store_at is not None else 0
        oldest = min(following.read_ns, following.pending_ns if following.pending_ns is not None else following.read_ns)
        return max(0, (now - oldest) // 1_000)

    def stale(self) -> bool:
        """True where the revision in force may be outdated for longer than it allows: everything is withheld."""
        held = self.snapshot
        return held is not None and held.policy_max_age_us is not None and self.age_us() > held.policy_max_age_us

    def usable(self) -> bool:
        """True where there is a revision to decide under."""
        return self.snapshot is not None and not self.stale()

    def _read(self) -> None:
        if self.following.unreachable:
            self._log.info("policy source can be read again", source=self._source.shown)
        now, wall = self._clock.monotonic_ns(), self._clock.wall()
        self.following = replace(self.following, read_ns=now, read_at=wall, unreachable="")

    def _settled(self) -> None:
        """The source points at what was handled before: an error that was about the ref itself is over."""
        if self.following.error and not self._refused_target:
            self.following = replace(self.following, error="", pending_ns=None)

    def _pending(self) -> None:
        if self.following.pending_ns is None:
            self.following = replace(self.following, pending_ns=self._clock.monotonic_ns())

    def _unreachable(self, why: str) -> None:
        if self.following.unreachable != why:
            self._log.warning("policy source cannot be read", why=why)
        self.following = replace(self.following, unreachable=why)

    def _refused(self, error: SourceRefused | PolicyProblems, target: Target | None) -> None:
        why, commit = str(error), target.commit if target is not None else ""
        if (self.following.error, self.following.error_commit) != (why, commit):
            self.refused[_cause(error, target)] += 1
            self._log.error(
                "policy refused; the revision in force goes on", commit=commit, problems=why.split("\n")[:20]
            )
            self.following = replace(self.following, error=why, error_commit=commit)
        self._handled = target or self._handled
        self._refused_target = target is not None

    async def _note_rewritten(self, target: Target) -> None:
        old = self.snapshot.commit if self.snapshot is not None else ""
        moved = old and target.commit and old != target.commit
        if moved and await aside(self._source.rewritten, old, target.commit):
            self._log.warning("history rewritten", source=self._source.shown, old=old, new=target.commit)


def _cause(error: SourceRefused | PolicyProblems, target: Target | None) -> Cause:
    if target is None:
        return Cause.REF
    if isinstance(error, SourceRefused):
        return Cause.FILES
    return Cause.TESTS if isinstance(error, TestsFailed) else Cause.PROBLEMS
