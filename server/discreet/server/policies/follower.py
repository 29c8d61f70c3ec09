"""Follows a ref: what it points at is compiled aside, published to SQL by compare-and-set, swapped whole.

The number in force is read before the ref: whoever publishes has read the ref later than whoever published before, so
no commit goes over one that was read later. A commit that does not compile leaves what is in force as it is and is said
so, until the ref moves. Nothing here ever forks, and nothing blocks the event loop: sources are read and sets compiled
in a thread.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from functools import partial
from typing import Final

from discreet.policy.facts import Caller
from discreet.policy.problems import PolicyProblems
from discreet.policy.words import AuditMode, Role
from discreet.server.calls import Call, new_id
from discreet.server.errors import PolicyRefused
from discreet.server.logs import Log
from discreet.server.policies import publication
from discreet.server.policies.aside import aside
from discreet.server.policies.bundles import Bundles
from discreet.server.policies.compile import Compiled, TestsFailed, compile_files
from discreet.server.policies.errors import Cause, SourceRefused, SourceUnavailable
from discreet.server.policies.following import Following, outdated_as_told
from discreet.server.policies.held import Held
from discreet.server.policies.publication import InForce, Overtaken, PinnedOut, TooOld
from discreet.server.policies.sources import Source, Target
from discreet.server.ports import Clock, Store, StoreError
from discreet.server.ports_policy import PolicyName

PUBLISH_TRIES_MAX = 8
START_WAIT_S = 5.0
"""How long a start waits for a source that is silent; then it goes on with what SQL holds, or NOT_SERVING."""
PUBLISHER = "server"
"""The identity that publications are recorded under."""
GAP_S: Final = 0.05
"""The shortest time between two looks, however often somebody asks for one: that of the shortest poll interval."""
ASK_S: Final = 1.0
"""How often others are asked how old the policy is, at least: what they said grows older with the time since."""
TOLD_WITHIN_US: Final = 86_400_000_000
"""How far back another server may have told of itself to count as one that read the ref."""


class Policies(Held):
    """Holds the snapshot in force and keeps it up to date. Without a source it takes what others publish."""

    def __init__(
        self, source: Source | None, bundles: Bundles, store: Store, clock: Clock, log: Log, instance: str,
        environment: str = "",
    ) -> None:  # fmt: skip
        super().__init__(bundles, store, log, environment)
        self._source = source
        self._clock = clock
        self._instance = instance
        self._wanted = asyncio.Event()
        self._first: asyncio.Task[None] | None = None
        self._handled: Target | None = None
        self._offered: PolicyName | None = None
        """What `_handled` holds, compiled; None where it was refused."""
        self._made: tuple[str, Compiled] | None = None
        """The set compiled last, by its target, as long as it is not in force."""
        self._under = 0
        """The number under which what the ref points at was last in force, or known as pinned out."""
        self._refused_target = False
        """Whether the error in `following` is about what the ref points at, and not about the ref itself."""
        self._told: tuple[int, int, int] | None = None
        """Without a source: of which revision others were asked, when (monotonic), and how outdated they found it."""
        self._asked_in_vain = False
        self.following = Following()
        self.refused = dict.fromkeys(Cause, 0)
        """How many commits were refused, by what was wrong with them."""

    @property
    def environment(self) -> str:
        """The environment that sets are compiled for here."""
        return self._environment

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
        """Polls until cancelled: so often, and soon where somebody asks for it."""
        if self._first is not None:
            await self._first
        if self._source is None:
            await self._ask_others()
            poll_s = min(poll_s, ASK_S)
        while True:
            # At once where nobody has looked for a while, so that a push is not kept waiting.
            await asyncio.sleep(GAP_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, poll_s - GAP_S)):
                    await self._wanted.wait()
            # Cleared before the look: who asks during it may know of something newer, and gets one more.
            self._wanted.clear()
            await self.poll()

    def look_soon(self) -> None:
        """Has the source read soon; of many who ask while nobody looks, all get the same look."""
        self._wanted.set()

    async def poll(self) -> None:
        """Reads the source and brings what is new into force.

        Says in `following` what is wrong; raises nothing of that.
        """
        if self._source is None:
            await self._ask_others()
            return
        for _ in range(PUBLISH_TRIES_MAX):
            try:
                if await self._follow(self._source):
                    return
            except SourceUnavailable as error:
                self._unreachable(str(error))
                return
            except SourceRefused as error:
                self._refused(error, None)
                return
            except StoreError as error:
                self._log.warning("policy not published: the store does not answer", error=type(error).__name__)
                return
        self._log.warning("policy not published: others keep publishing", tries=PUBLISH_TRIES_MAX)

    async def _follow(self, source: Source) -> bool:
        """Looks once; False where another revision came into force meanwhile, so that it has to begin again."""
        lost: StoreError | None = None
        held = None
        try:
            held = await self._store.policy_name(0)
        except StoreError as error:
            lost = error
        target = await aside(source.resolve)
        self._read()
        if self._handled is not None and target.key == self._handled.key and (lost or await self._settled(held)):
            return True
        self._pending()
        if lost is not None:
            raise lost
        compiled = await self._compile(source, target)
        return compiled is None or await self._bring_into_force(target, compiled, held.number if held else 0)

    async def _settled(self, held: PolicyName | None) -> bool:
        """Whether nothing is to be done about what the ref points at, which was handled before."""
        if self.following.error and not self._refused_target:
            self.following = replace(self.following, error="", pending_ns=None)
        if self._offered is None or held is None:
            return self._offered is None
        pinned = ""
        if publication.same_set(held, self._offered):
            self._under = held.number
        else:
            pin = publication.pin_of(self._offered, await self._store.pins())
            if pin is None and await self._unpinned_by_hand(held):
                return False
            if pin is not None:
                pinned, self._under = pin.pinned, held.number
        self._note_pinned(pinned)
        return True

    async def _unpinned_by_hand(self, held: PolicyName) -> bool:
        """Whether somebody took the pin of what the ref points at away, and nobody published anything since."""
        if held.number == self._under:
            return True
        newest = await self._store.revisions(None, 1)
        back = bool(newest) and newest[0].origin is not None and newest[0].origin.rolled_back_to > 0
        return back and newest[0].name.number == held.number == self._under + 1

    async def _compile(self, source: Source, target: Target) -> Compiled | None:
        """The target's set compiled; None, with the reason noted, where it is none.

        It is not tried again until the ref moves.
        """
        if self._made is not None and self._made[0] == target.key:
            return self._made[1]
        try:
            files = await aside(source.files, target)
            compiled = await aside(compile_files, files, target.commit, target.dirty, self._environment)
        except (SourceRefused, PolicyProblems) as error:
            self._refused(error, target)
            return None
        self._made = target.key, compiled
        return compiled

    async def _bring_into_force(self, target: Target, compiled: Compiled, expected: int) -> bool:
        async with self._lock:
            call = Call(Caller(PUBLISHER, Role.PUBLISHER, None), "PublishPolicy", new_id())
            signed = publication.Signed(call, self._instance)
            origin = target.origin._replace(publisher=PUBLISHER)
            outcome = await self._store.change(
                partial(
                    publication.publish,
                    signed=signed,
                    row=compiled.row,
                    origin=origin,
                    expected=expected,
                    ref_moved=True,
                )
            )
            if isinstance(outcome, Overtaken):
                return False
            if isinstance(outcome, TooOld):
                self._too_old(outcome, target)
                return True
            self._handled, self._offered = target, compiled.row.name
            self.following = replace(self.following, pending_ns=None, error="", error_commit="")
            if isinstance(outcome, PinnedOut):
                self._under = expected
                self._note_pinned(outcome.pin.pinned)
                return True
            await self._note_rewritten(target)
            self._under, self._made = outcome.name.number, None
            self._note_pinned("")
            self._in_force(outcome, compiled)
            return True

    async def take(self, outcome: InForce, compiled: Compiled) -> None:
        """Holds a revision that this process brought into force, and has the other servers look at it."""
        async with self._lock:
            self._in_force(outcome, compiled)

    def _in_force(self, outcome: InForce, compiled: Compiled) -> None:
        number = outcome.name.number
        if self.snapshot is None or self.snapshot.number < number:
            self._swap(replace(compiled.snapshot, number=number), outcome.name.published_at)
        if outcome.published:
            self._bundles.published(outcome.name, compiled.bundle)

    async def _ask_others(self) -> None:
        """How outdated the revision may be, by those who read the ref."""
        began = self._clock.monotonic_ns()
        try:
            now, servers = await self._store.servers(TOLD_WITHIN_US)
        except StoreError as error:
            if not self._asked_in_vain:
                self._log.warning("nobody can be asked about the ref: the store is silent", error=type(error).__name__)
            self._asked_in_vain = True
            return
        self._asked_in_vain = False
        if self.snapshot is not None and self._published_at is not None:
            self._told = self.snapshot.number, began, outdated_as_told(now, servers, self._published_at)

    def age_us(self) -> int:
        """For how long the revision in force may have been outdated.

        Since the source was last read, or since something newer has been known that is not in force, whichever is
        longer. Without a source by the word of those who have one; where nobody reads it, since the publication.
        """
        now = self._clock.monotonic_ns()
        if self.following.read_ns is not None:
            return self.following.outdated_us(now)
        if self._told is not None and self.snapshot is not None and self._told[0] == self.snapshot.number:
            return self._told[2] + max(0, (now - self._told[1]) // 1_000)
        return max(0, self._clock.wall() - self._published_at) if self._published_at is not None else 0

    def stale(self) -> bool:
        """True where the revision in force may be outdated for longer than it allows: everything is withheld."""
        held = self.snapshot
        return held is not None and held.policy_max_age_us is not None and self.age_us() > held.policy_max_age_us

    @property
    def spooled(self) -> bool:
        """Whether the revision in force has the audit rows of checks spooled."""
        return self.snapshot is not None and self.snapshot.audit_checks is AuditMode.SPOOLED

    def usable(self) -> bool:
        """True where there is a revision to decide under."""
        return self.snapshot is not None and not self.stale()

    def _read(self) -> None:
        if self.following.unreachable:
            self._log.info("policy source can be read again", source=self._shown)
        now, wall = self._clock.monotonic_ns(), self._clock.wall()
        self.following = replace(self.following, read_ns=now, read_at=wall, unreachable="")

    @property
    def _shown(self) -> str:
        return self._source.shown if self._source is not None else ""

    def _pending(self) -> None:
        if self.following.pending_ns is None:
            self.following = replace(self.following, pending_ns=self._clock.monotonic_ns())

    def _unreachable(self, why: str) -> None:
        if self.following.unreachable != why:
            self._log.warning("policy source cannot be read", why=why)
        self.following = replace(self.following, unreachable=why)

    def _note_pinned(self, pinned: str) -> None:
        if pinned and pinned != self.following.pinned:
            self._log.warning("the ref points at what a rollback pinned out", source=self._shown, pinned=pinned)
        pending = None if pinned else self.following.pending_ns
        self.following = replace(self.following, pinned=pinned, pending_ns=pending)

    def _too_old(self, outcome: TooOld, target: Target) -> None:
        """Not handled: it is tried again at each look, until the servers are upgraded or the ref moves."""
        self._say_refused(str(outcome), target.commit, Cause.ENGINE)
        self._handled, self._refused_target = None, True

    def _refused(self, error: SourceRefused | PolicyProblems, target: Target | None) -> None:
        self._say_refused(str(error), target.commit if target is not None else "", _cause(error, target))
        if target is not None:
            self._handled, self._offered, self._made = target, None, None
            self._note_pinned("")
        self._refused_target = target is not None

    def _say_refused(self, why: str, commit: str, cause: Cause) -> None:
        if (self.following.error, self.following.error_commit) != (why, commit):
            self.refused[cause] += 1
            self._log.error(
                "policy refused; the revision in force goes on", commit=commit, problems=why.split("\n")[:20]
            )
            self.following = replace(self.following, error=why, error_commit=commit)

    async def _note_rewritten(self, target: Target) -> None:
        old = self.snapshot.commit if self.snapshot is not None else ""
        moved = old and target.commit and old != target.commit
        if self._source is not None and moved and await aside(self._source.rewritten, old, target.commit):
            self._log.warning("history rewritten", source=self._shown, old=old, new=target.commit)


def _cause(error: SourceRefused | PolicyProblems, target: Target | None) -> Cause:
    if target is None:
        return Cause.REF
    if isinstance(error, SourceRefused):
        return Cause.FILES
    return Cause.TESTS if isinstance(error, TestsFailed) else Cause.PROBLEMS
