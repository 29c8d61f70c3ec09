"""Two followers of one ref, paused before each step and let go in a given order, with what happens in between.

Real followers, a real database, a real repository. A schedule is a text: `1` and `2` let the first or second follower
take its next step, `m` moves the ref, `r` rolls back to the revision before the one in force. All of them, or every
so many-th, are played by `python -m tests.server.policies.schedules [STRIDE]`.
"""

from __future__ import annotations

import asyncio
import io
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Final, TypeVar

from discreet.policy.facts import Caller
from discreet.policy.words import Role
from discreet.server.bell import Bell
from discreet.server.calls import Call
from discreet.server.clock import SystemClock
from discreet.server.config import ServerConfig
from discreet.server.logs import make_log
from discreet.server.policies import follower, publication
from discreet.server.policies.bundles import Bundles, NoCache
from discreet.server.policies.compile import Compiled, compile_files
from discreet.server.policies.follower import Policies
from discreet.server.policies.publication import InForce, Signed
from discreet.server.policies.sources import Source, Target, source_of
from discreet.server.ports import Store, Work
from discreet.server.ports_policy import Origin, PolicyRow, Revision
from discreet.server.stores import open_store
from tests.server.faults import FaultyStore
from tests.server.support import PolicyRepo, make_repo

T = TypeVar("T")

EVERY: Final = ("head", "resolve", "files", "compile", "publish")
SHARED: Final = ("head", "resolve", "publish")
"""The steps that touch what others change; between them a follower works on what cannot change."""
SET: Final = {
    "discreet.yaml": "apiVersion: discreet/v1\nkind: PolicySet\nname: test\n",
    "sources.yaml": """apiVersion: discreet/v1
kind: SourceList
name: sources
sources:
  - {label: handbook, title: Handbook, duty: DOCUMENT_STORE, collectors: [collector]}
""",
}
COMMITS: Final = "zabc"
FORWARD, BACK = "c", "a"
"""Where the ref moves to from b: on, or back by a forced push."""
OPERATOR: Final = Caller("olga", Role.OPERATOR, None)


def schedules(steps: int, *, stride: int = 1) -> Iterator[str]:
    """Every order of so many steps of each follower, a move and a rollback; of two that differ in names alone, one."""
    length = 2 * steps + 2
    found = 0
    for move, back in itertools.permutations(range(length), 2):
        rest = [place for place in range(length) if place not in (move, back)]
        for others in itertools.combinations(rest[1:], steps):
            if found % stride == 0:
                names = {move: "m", back: "r"} | dict.fromkeys(others, "2")
                yield "".join(names.get(place, "1") for place in range(length))
            found += 1


class Gate:
    """Where a follower waits before each step."""

    def __init__(self, steps: tuple[str, ...]) -> None:
        self._steps = steps
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()
        self._go = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.open = False

    async def arrive(self, step: str) -> None:
        """Waits to be let go."""
        if step in self._steps and not self.open:
            self._arrived.set()
            await self._go.wait()
            self._go.clear()

    def arrive_in_thread(self, step: str) -> None:
        """The same, from a thread."""
        asyncio.run_coroutine_threadsafe(self.arrive(step), self._loop).result()

    async def begin(self, policies: Policies) -> None:
        """Has a follower look, up to its first step."""
        self._task = asyncio.create_task(policies.poll())
        await self._paused()

    async def step(self) -> bool:
        """Lets it take one step; False where it is through."""
        assert self._task is not None
        if self._task.done():
            return False
        self._arrived.clear()
        self._go.set()
        await self._paused()
        return True

    async def _paused(self) -> None:
        """Returns once it waits, or is through."""
        assert self._task is not None
        arrived = asyncio.create_task(self._arrived.wait())
        await asyncio.wait({arrived, self._task}, return_when=asyncio.FIRST_COMPLETED)
        arrived.cancel()
        if self._task.done():
            self._task.result()


class Order:
    """When refs were read: a number for each reading, and under which one each revision was published."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self.published: dict[int, int] = {}

    def next(self) -> int:
        """The number of a reading that happens now."""
        return next(self._numbers)


class PausedSource:
    """A source that waits before each step, and remembers when it read the ref."""

    def __init__(self, inside: Source, gate: Gate, order: Order) -> None:
        self._inside = inside
        self._gate = gate
        self._order = order
        self.read = 0

    @property
    def shown(self) -> str:
        """That of the source inside."""
        return self._inside.shown

    def resolve(self) -> Target:
        """Waits, then reads the ref."""
        self._gate.arrive_in_thread("resolve")
        self.read = self._order.next()
        return self._inside.resolve()

    def files(self, target: Target) -> dict[str, bytes]:
        """Waits, reads the files, and waits to have them compiled."""
        self._gate.arrive_in_thread("files")
        found = self._inside.files(target)
        self._gate.arrive_in_thread("compile")
        return found

    def rewritten(self, old: str, new: str) -> bool:
        """That of the source inside."""
        return self._inside.rewritten(old, new)


class PausedStore(FaultyStore):
    """A store that waits before the head is read and before the transaction, and remembers what was published."""

    def __init__(self, inside: Store, gate: Gate, order: Order, source: PausedSource) -> None:
        super().__init__(inside)
        self._gate = gate
        self._order = order
        self._source = source

    async def _pass(self, name: str) -> None:
        step = {"policy_name": "head", "change": "publish"}.get(name)
        if step is not None:
            await self._gate.arrive(step)

    async def change(self, work: Callable[[Work], T]) -> T:
        """Waits, then runs the transaction."""
        outcome = await super().change(work)
        if isinstance(outcome, InForce) and outcome.published:
            self._order.published[outcome.name.number] = self._source.read
        return outcome


@cache
def _compiled_once(files: tuple[tuple[str, bytes], ...], commit: str, dirty: bool, environment: str) -> Compiled:
    return compile_files(dict(files), commit, dirty, environment)


def compiled_once(files: Mapping[str, bytes], commit: str, dirty: bool, environment: str = "") -> Compiled:
    """What the real compiler gives; it is a pure function, and thousands of schedules compile four sets."""
    return _compiled_once(tuple(sorted(files.items())), commit, dirty, environment)


class Stage:
    """A repository with four commits and a database, set up anew for each schedule."""

    def __init__(self, store: Store, directory: Path) -> None:
        self._store = store
        self.repo = make_repo(directory / "policy", SET)
        self.commits = {mark: _commit(self.repo, mark) for mark in COMMITS}
        self._source = source_of(ServerConfig(policy=str(self.repo.path), ref="refs/heads/main"))
        self._rows = {mark: self._row(mark) for mark in COMMITS}
        self._log = make_log("json", "debug", io.StringIO())

    def _row(self, mark: str) -> PolicyRow:
        self.move(mark)
        target = self._source.resolve()
        return compiled_once(self._source.files(target), target.commit, False).row

    def move(self, mark: str) -> None:
        """Points the ref at a commit."""
        ref = self.repo.path / ".git" / "refs" / "heads" / "main"
        fresh = ref.with_suffix(".fresh")
        fresh.write_text(f"{self.commits[mark]}\n")
        fresh.replace(ref)

    async def _publish(self, mark: str) -> None:
        """Publishes a commit by hand, whatever is in force."""
        held = await self._store.policy_name(0)
        signed = Signed(Call(OPERATOR, "PublishRevision", "r"), "test")
        row = self._rows[mark]
        expected = held.number if held is not None else 0
        await self._store.change(
            partial(publication.publish, signed=signed, row=row, origin=Origin("olga"), expected=expected)
        )

    async def roll_back(self) -> None:
        """Back to the revision before the one in force."""
        held = await self._store.policy_name(0)
        assert held is not None
        row = await self._store.policy_row(held.number - 1)
        assert row is not None
        signed, origin = Signed(Call(OPERATOR, "RollbackRevision", "r"), "test"), Origin("olga", reason="bad")
        outcome = await self._store.change(
            partial(
                publication.roll_back,
                signed=signed,
                row=row,
                origin=origin._replace(rolled_back_to=row.number),
                expected=held.number,
            )
        )
        assert isinstance(outcome, InForce), outcome

    def _follower(self, gate: Gate, order: Order, name: str) -> Policies:
        source = PausedSource(self._source, gate, order)
        store = PausedStore(self._store, gate, order, source)
        return Policies(source, Bundles(store, NoCache(), Bell()), store, SystemClock(), self._log, name)

    async def play(self, schedule: str, steps: tuple[str, ...], moves_to: str) -> None:
        """Plays a schedule: revision a is in force, z was before, the ref is at b, both followers are new."""
        await self._unpinned()
        await self._publish("z")
        await self._publish("a")
        start = await self._store.policy_name(0)
        assert start is not None
        self.move("b")
        order, gates = Order(), {name: Gate(steps) for name in "12"}
        followers = {name: self._follower(gate, order, name) for name, gate in gates.items()}
        for name, gate in gates.items():
            await gate.begin(followers[name])
        for act in schedule:
            if act == "m":
                self.move(moves_to)
            elif act == "r":
                await self.roll_back()
            else:
                await gates[act].step()
        while any([await gate.step() for gate in gates.values()]):
            pass
        for gate in gates.values():
            gate.open = True
        for one in (*followers.values(), *followers.values()):
            await one.poll()
        revisions = [one for one in await self._store.revisions(None, 50) if one.name.number > start.number]
        await self._check(list(reversed(revisions)), order, list(followers.values()), moves_to)

    async def _unpinned(self) -> None:
        signed = Signed(Call(OPERATOR, "UnpinRevision", "r"), "test")
        await self._store.change(partial(publication.unpin, signed=signed, pinned="", reason="anew"))

    async def _check(self, revisions: list[Revision], order: Order, followers: list[Policies], moves_to: str) -> None:
        by_follower = [one for one in revisions if one.origin is not None and one.origin.publisher == "server"]
        reads = [order.published[one.name.number] for one in by_follower]
        assert reads == sorted(set(reads)), "a commit was published over one whose ref was read later"
        if moves_to == FORWARD:
            marks = [self._mark(one) for one in by_follower]
            assert marks == sorted(set(marks)), "an older commit was published over a newer one"
        (rollback,) = [one for one in revisions if one.origin is not None and one.origin.rolled_back_to]
        pins = {pin.pinned for pin in await self._store.pins()}
        tip, held = self.commits[moves_to], await self._store.policy_name(0)
        assert held is not None
        if tip in pins:
            assert held == rollback.name, "a rollback was undone"
        else:
            assert held.commit == tip, "what the ref points at is not in force"
        for one in followers:
            following = one.following
            assert following.pinned == (tip if tip in pins else "")
            assert (following.error, following.unreachable, following.pending_ns) == ("", "", None)

    def _mark(self, revision: Revision) -> str:
        (mark,) = [mark for mark, commit in self.commits.items() if commit == revision.name.commit]
        return str("zabc".index(mark))


def _commit(repo: PolicyRepo, mark: str) -> str:
    return repo.commit({"sources.yaml": f"{SET['sources.yaml']}# {mark}\n"})


async def play_all(steps: tuple[str, ...], moves_to: str, stride: int, tell: Callable[[int], None]) -> int:
    """Plays every schedule of those steps, or every so many-th, on SQLite; returns how many."""
    # Where there is a file system in memory: what a schedule finds does not hang on how long a disk takes.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as place:
        store = open_store(str(Path(place) / "discreet.db"))
        await store.open()
        stage = Stage(store, Path(place))
        played = 0
        for schedule in schedules(len(steps), stride=stride):
            try:
                await stage.play(schedule, steps, moves_to)
            except AssertionError as error:
                raise AssertionError(f"schedule {schedule}, ref to {moves_to}: {error}") from error
            played += 1
            tell(played)
        await store.close()
        return played


def main() -> int:
    """Plays all of them and says how many."""
    vars(follower)["compile_files"] = compiled_once
    stride = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    began = time.monotonic()
    for moves_to in (FORWARD, BACK):

        def tell(played: int) -> None:
            if played % 500 == 0:
                sys.stdout.write(f"{played:,} after {time.monotonic() - began:,.0f} s\n")
                sys.stdout.flush()

        played = asyncio.run(play_all(EVERY, moves_to, stride, tell))
        sys.stdout.write(f"{played:,} schedules of {len(EVERY)} steps, ref to {moves_to}: all hold\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
