"""Which answers may leave, and what is acknowledged: held against every order of what can happen."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.facts import Micros
from discreet.server.calls import Rest
from discreet.server.errors import Unavailable
from discreet.server.fleet.lease import Lease, State
from discreet.server.ports import Head

LEASE_US = 5
"""Five steps of the tests' clock."""
STEP_NS = 1_000


@dataclass
class World:
    """A server and its database on one clock; `told` holds the span in which each beat became known there."""

    now: int = 0
    seq: int = 1
    known: int = 1
    sent: int | None = None
    told: list[int] = field(default_factory=list)
    open: list[tuple[Rest, int, int]] = field(default_factory=list)
    """Calls with when they began and the number that was known then."""
    left: list[tuple[int, int, int]] = field(default_factory=list)
    """Answers that left: began, left, known."""
    acked: list[tuple[int, int]] = field(default_factory=list)
    """When which number was acknowledged."""

    def __post_init__(self) -> None:
        self.lease = Lease(self, LEASE_US, lambda: State(Head("e", self.known, 0, 0, Micros(0)), None))

    def wall(self) -> Micros:
        """See the port, here and below."""
        return Micros(0)

    def monotonic_ns(self) -> int:
        return self.now * STEP_NS

    def do(self, step: str) -> None:
        """One thing that happens; what cannot happen now does not."""
        match step:
            case "wait":
                self.now += 1
            case "commit":
                self.seq += 1
            case "read":
                self.known = self.seq
            case "send" if self.sent is None:
                self.sent = self.now
                assert self.lease.to_tell_us(self.monotonic_ns()) == LEASE_US
            case "take" if self.sent is not None:
                self.told.append(self.now)
                self.lease.registered(self.sent * STEP_NS, self.monotonic_ns(), LEASE_US)
                self.sent = None
            case "lose":
                self.sent = None
            case "begin" if self.lease.held:
                rest = Rest()
                assert self.lease.begin(rest)
                assert not self.lease.begin(rest)
                self.open.append((rest, self.now, self.known))
            case "answer" if self.open:
                self._answer()
            case "acknowledge":
                self.acked.append((self.now, self.lease.acknowledged().seq))

    def _answer(self) -> None:
        rest, began, known = self.open.pop(len(self.open) // 2)
        try:
            self.lease.leave(rest)
        except Unavailable:
            pass
        else:
            self.left.append((began, self.now, known))
            for _, acked in self.acked:
                assert known >= acked, "an answer under an older state than was acknowledged left"
        self.lease.end(rest)
        self.lease.end(rest)

    def live(self, at: int) -> bool:
        """Whether the database took the server for live."""
        return any(seen <= at < seen + LEASE_US for seen in self.told)


STEPS = st.sampled_from(
    [
        "wait",
        "wait",
        "commit",
        "read",
        "send",
        "take",
        "send",
        "take",
        "lose",
        "begin",
        "begin",
        "answer",
        "acknowledge",
    ]
)


@given(st.lists(STEPS, max_size=80))
def test_what_leaves_is_young_known_as_live_throughout_and_never_older_than_acknowledged(steps: list[str]) -> None:
    """F1: in every order of beats, losses, reads, commits and answers: who waits by the rows or the lease is right."""
    world = World()
    for step in ["send", "take", *steps]:
        world.do(step)
    for began, left, _ in world.left:
        assert left - began < LEASE_US
        assert all(world.live(at) for at in range(began, left + 1))
    acked = [seq for _, seq in world.acked]
    assert acked == sorted(acked)


def test_all_is_acknowledged_once_nothing_older_is_under_way() -> None:
    """F1: a call holds the acknowledgement back, until it was answered or came too late to be."""
    world = World()
    for step in ("send", "take", "begin", "commit", "read", "acknowledge", "answer", "acknowledge"):
        world.do(step)
    assert [seq for _, seq in world.acked] == [1, 2]
    for step in ("begin", "commit", "read", *["wait"] * LEASE_US, "acknowledge", "wait", "acknowledge"):
        world.do(step)
    assert [seq for _, seq in world.acked[2:]] == [2, 3]
    assert world.lease.late == 0
    world.do("answer")
    assert world.lease.late == 1


def test_an_answer_from_before_a_gap_does_not_leave_after_it() -> None:
    """F1: while the database took the server for gone, somebody may have waited without it."""
    world = World()
    for step in ("send", "take", *["wait"] * 4, "begin", "wait", "wait", "send", "take", "answer"):
        world.do(step)
    assert (world.left, world.lease.late) == ([], 1)
    world.do("begin")
    world.do("answer")
    assert len(world.left) == 1


def test_what_rests_on_nothing_may_always_leave() -> None:
    """A12: that everything is withheld may be said by a server that has no lease at all."""
    lease = Lease(World(), LEASE_US, lambda: pytest.fail("nothing is asked"))
    rest = Rest()
    lease.leave(rest)
    lease.end(rest)
    assert not lease.held
