"""Answers from an earlier read of the head (BOUNDED), held against who waits until none of an older state leaves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.compile import compile_set
from discreet.policy.facts import Micros
from discreet.policy.snapshot import Snapshot
from discreet.policy.token import Token
from discreet.server.calls import Rest
from discreet.server.errors import Unavailable
from discreet.server.fleet.lease import Lease, State
from discreet.server.fleet.waiting import _Wait
from discreet.server.ports import Head
from discreet.server.ports_policy import Beat, PolicyName, ServerRow
from discreet.server.reading.heads import HeadRead
from tests.server.repos import POLICY

LEASE_US = 5
"""Five steps of the tests' clock."""
STALENESS = (None, 12, 8)
"""What the policies allow, one revision after the other."""
STEP_NS = 1_000
BASE = compile_set({name: text.encode() for name, text in POLICY.items()}, commit="a" * 40, number=1, dirty=False)


def policy(number: int) -> Snapshot:
    """The revision of that number."""
    return replace(BASE, number=number, read_max_staleness_us=STALENESS[(number - 1) % len(STALENESS)])


class Sent(NamedTuple):
    """A beat under way."""

    at: int
    told_us: int
    beat: Beat


class Asked(NamedTuple):
    """A call with the state that its answer rests on at least."""

    rest: Rest
    seq: int
    number: int


@dataclass
class World:
    """A server, its database and those who wait, on one clock."""

    now: int = 0
    seq: int = 1
    number: int = 1
    known: Head = Head("e", 1, 0, 1, Micros(0))
    held: Snapshot = field(default_factory=lambda: policy(1))
    last_read: HeadRead | None = None
    reading_since: int | None = None
    sent: Sent | None = None
    recorded: bool = False
    row: ServerRow | None = None
    open: list[Asked] = field(default_factory=list)
    waits: list[tuple[_Wait, Token]] = field(default_factory=list)
    over: list[Token] = field(default_factory=list)
    """What somebody waited for, and was told that nothing older leaves."""
    bounded: int = 0
    """Answers that left and rest on an earlier read."""

    def __post_init__(self) -> None:
        self.lease = Lease(self, LEASE_US, lambda: State(self.known, self.held))
        self.steps: dict[str, Callable[[], None]] = {
            name.removeprefix("step_"): getattr(self, name) for name in dir(self) if name.startswith("step_")
        }

    def wall(self) -> Micros:
        """See the port, here and below."""
        return Micros(self.now)

    def monotonic_ns(self) -> int:
        return self.now * STEP_NS

    def do(self, *steps: str) -> None:
        """Things that happen; what cannot happen now does not."""
        for step in steps:
            self.steps[step]()

    def step_time(self) -> None:
        self.now += 1

    def step_change(self) -> None:
        """A change that somebody waits for."""
        self.seq += 1
        token = Token("e", self.seq, self.number)
        self.waits.append((_Wait(token, self.monotonic_ns()), token))
        self.step_look()

    def step_publish(self) -> None:
        """The next revision, in force in the database."""
        self.number += 1
        self.step_change()

    def step_adopt(self) -> None:
        self.held = policy(self.number)

    def step_read(self) -> None:
        if self.reading_since is None:
            self.reading_since = self.now

    def step_got(self) -> None:
        if self.reading_since is not None:
            self.known = Head("e", self.seq, 0, self.number, Micros(self.now))
            self.last_read = HeadRead(self.known, self.reading_since * STEP_NS, self.monotonic_ns())
            self.reading_since = None

    def step_send(self) -> None:
        if self.sent is not None:
            return
        acked = self.lease.acknowledged()
        told_us = self.lease.to_tell_us(self.monotonic_ns())
        number = acked.snapshot.number if acked.snapshot is not None else 0
        name = PolicyName(number, "a" * 40, "d", False, Micros(0)) if number else None
        beat = Beat(
            instance="one", run="r", version="1", engine=1, lease=told_us, acked_seq=acked.seq, policy=name,
            environment="", lag=0, read_age=None, problem="", ended=False,
        )  # fmt: skip
        self.sent, self.recorded = Sent(self.now, told_us, beat), False

    def step_record(self) -> None:
        if self.sent is not None and not self.recorded:
            self.row, self.recorded = ServerRow(self.sent.beat, Micros(0), Micros(self.now)), True

    def step_return(self) -> None:
        if self.sent is not None and self.recorded:
            self.lease.registered(self.sent.at * STEP_NS, self.monotonic_ns(), self.sent.told_us)
            self.sent = None

    def step_lose(self) -> None:
        self.sent = None

    def step_authoritative(self) -> None:
        if self.lease.held:
            rest = Rest()
            assert self.lease.begin(rest)
            self.open.append(Asked(rest, self.seq, self.number))

    def step_bounded(self) -> None:
        """As the server does it: an earlier read of the time of the policy in force."""
        read = self.last_read
        if read is None or read.head.policy_revision != self.held.number or not self.lease.held:
            return
        staleness_us = self.lease.staleness_us(self.held, read.began_ns)
        if staleness_us is not None:
            rest = Rest()
            assert self.lease.begin(rest, read.began_ns, staleness_us)
            self.open.append(Asked(rest, read.head.seq, self.held.number))

    def step_answer(self) -> None:
        if not self.open:
            return
        asked = self.open.pop(len(self.open) // 2)
        try:
            self.lease.leave(asked.rest)
        except Unavailable:
            pass
        else:
            self.bounded += asked.rest.lasts_ns > LEASE_US * STEP_NS
            for token in self.over:
                assert asked.seq >= token.seq, "an answer under an older state left after a wait for it"
                assert asked.number >= token.policy_revision, "an answer under an older policy left after a wait for it"
        self.lease.end(asked.rest)

    def step_look(self) -> None:
        """Everybody who waits looks."""
        for wait, token in list(self.waits):
            wait.saw(Micros(self.now), [self.row] if self.row is not None else [])
            if not wait.pending(self.monotonic_ns()):
                self.waits.remove((wait, token))
                self.over.append(token)


BEAT = ("send", "record", "return")
STEPS = st.sampled_from(
    [("time",), ("time",), ("time", "time", "time"), ("change",), ("publish",), ("adopt",), ("read",), ("got",),
     ("read", "got"), BEAT, BEAT, ("send",), ("record",), ("return",), ("lose",), ("authoritative",), ("bounded",),
     ("bounded",), ("answer",), ("answer",), ("look",), ("look",)]
)  # fmt: skip


@given(st.integers(1, 3), st.lists(STEPS, max_size=100))
def test_nothing_older_leaves_after_a_wait_was_told_so(number: int, steps: list[tuple[str, ...]]) -> None:
    """F1, E6: whatever the policies allow, and in every order of beats, losses, reads, publications and answers."""
    world = World(number=number, held=policy(number), known=Head("e", 1, 0, number, Micros(0)))
    world.do(*BEAT)
    for some in steps:
        world.do(*some)


def allowed() -> World:
    """A server whose database knows that its facts may be as old as the policy allows, right after a read."""
    world = World(number=2, held=policy(2), known=Head("e", 1, 0, 2, Micros(0)))
    world.do(*BEAT, "time", "read", "got")
    return world


def test_an_earlier_read_does_as_long_as_the_policy_allows_and_no_longer() -> None:
    """E6, A12: past the ordinary lease, with nothing heard from the database; then no more."""
    world = allowed()
    world.do(*["time"] * 9, "bounded", "answer")
    assert (world.bounded, world.lease.late) == (1, 0)
    world.do(*["time"] * 2, "bounded")
    assert world.open == []


def test_who_waits_waits_for_the_longer_lease() -> None:
    """F1, E6: a server that fell silent may answer from memory that long, so nobody is told earlier that it cannot."""
    world = allowed()
    world.do("change")
    for _ in range(STALENESS[1] or 0):
        world.do("time", "look")
        assert world.over == []
    world.do("time", "look")
    assert len(world.over) == 1


@pytest.mark.parametrize("before", [("adopt",), ("adopt", "send"), ("adopt", "send", "record")])
def test_a_read_from_before_the_database_knew_of_a_longer_lease_does_not_last_longer(before: tuple[str, ...]) -> None:
    """F1, E6: who waited meanwhile had been told the shorter one."""
    world = World()
    world.do(*BEAT, "publish", "read", "got", *before, *["time"] * 4)
    world.do("send", "record", "return", "time", "bounded")
    assert world.open == []
    world.do("read", "got", "bounded", *["time"] * 6, "answer")
    assert world.bounded == 1


def test_a_shorter_lease_is_told_once_nothing_rests_on_a_longer_one() -> None:
    """F1, E6: an answer under the policy before may still leave, and whoever waits knows of it."""
    world = allowed()
    world.do("bounded", "publish", "adopt", *BEAT)
    assert world.row is not None
    assert world.row.beat.lease == STALENESS[1]
    world.do("answer", *BEAT)
    assert world.row.beat.lease == STALENESS[2]
