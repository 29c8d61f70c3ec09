"""Until when an answer may leave this process, and which state every answer to come rests on at least. No I/O.

An answer rests on a read of the head. It leaves only within the lease of the start of that read, and only while this
server has been known to the database as live, without a gap, since then. So who reads that a server is not live, or
has waited for its lease, knows that nothing of an older state can leave it any more.

Where the policy lets facts be older than the lease (BOUNDED), the lease lasts as long, and the database is told so
before: a read counts for longer only if it began after that, and a shorter lease is told only once nothing that may
still leave rests on more.

Calls are counted under the state that was known when their read of the head began: what they read is that one or a
later one. Everything happens on the event loop's thread, between two awaits, so that nothing needs a lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from discreet.policy.snapshot import Snapshot
from discreet.server.calls import Rest
from discreet.server.errors import Unavailable
from discreet.server.ports import Clock, Head

TOO_LATE = "the answer took longer than it may be relied on; nothing is disclosed by it: ask again, it is safe to"


class State(NamedTuple):
    """What this process knows: the newest head that it read, and the policy that it decides under."""

    head: Head
    snapshot: Snapshot | None


class _UnderWay:
    """Calls that began to read the head, or took an earlier read of it, while one state was known."""

    __slots__ = ("calls", "lasts_ns", "seq", "snapshot", "until_ns")

    def __init__(self, seq: int, snapshot: Snapshot | None) -> None:
        self.seq = seq
        self.snapshot = snapshot
        self.calls = 0
        self.until_ns = 0
        """Until when the last of them may leave."""
        self.lasts_ns = 0
        """For how long what one of them rests on may count at most."""


class Acknowledged(NamedTuple):
    """No answer that leaves from now on rests on an older state than this."""

    seq: int
    snapshot: Snapshot | None


class Lease:
    """The lease of one server process. `state` tells what it knows, each part never older than before."""

    def __init__(self, clock: Clock, lease_us: int, state: Callable[[], State]) -> None:
        self.late = 0
        """Answers that did not leave, since they came too late."""
        self._clock = clock
        self._lease_ns = lease_us * 1_000
        self._told_ns = 0
        """The lease that the database knows."""
        self._longer_since_ns = 0
        """Since when it knows one as long as that."""
        self._state = state
        self._under_way: deque[_UnderWay] = deque()
        self._acked = Acknowledged(0, None)
        self._since_ns: int | None = None
        self._until_ns = 0

    def now_ns(self) -> int:
        """The clock by which the lease is measured."""
        return self._clock.monotonic_ns()

    def to_tell_us(self, sent_ns: int) -> int:
        """The lease that a beat tells which is sent now. Where it is shorter than the last, it counts from now on."""
        self._settle()
        _, snapshot = self._state()
        told = max(self._lease_ns, *(one.lasts_ns for one in self._under_way), _staleness_ns(snapshot))
        self._until_ns = min(self._until_ns, sent_ns + told)
        return told // 1_000

    def registered(self, sent_ns: int, returned_ns: int, told_us: int) -> None:
        """The database took a beat that was sent and answered at these times, and told this lease."""
        told_ns = told_us * 1_000
        if self._since_ns is None or returned_ns > self._until_ns:
            self._since_ns = returned_ns
        if told_ns > self._told_ns:
            self._longer_since_ns = returned_ns
        self._told_ns = told_ns
        self._until_ns = max(self._until_ns, sent_ns + told_ns)

    @property
    def held(self) -> bool:
        """Whether the database surely knows this server as live."""
        return self._since_ns is not None and self._clock.monotonic_ns() < self._until_ns

    def staleness_us(self, snapshot: Snapshot, began_ns: int) -> int | None:
        """How old a read of the head that began then may be for a new answer under a policy; None: it may not be used.

        As old as the policy lets it be, or as the database knew of when it began, whichever is less.
        """
        lasts_ns = _staleness_ns(snapshot)
        if not lasts_ns or self._since_ns is None or began_ns < self._since_ns:
            return None
        lasts_ns = min(lasts_ns, self._told_ns if began_ns >= self._longer_since_ns else self._lease_ns)
        return lasts_ns // 1_000 if self._clock.monotonic_ns() < began_ns + lasts_ns else None

    def begin(self, rest: Rest, began_ns: int | None = None, lasts_us: int | None = None) -> bool:
        """To be called right before the head is read for an answer; False where an earlier read counts already.

        Where it takes a read that was made before: when that began, and how old it may be.
        """
        if rest.under_way is not None:
            return False
        head, snapshot = self._state()
        waiting = self._under_way
        if not waiting or waiting[-1].seq != head.seq or waiting[-1].snapshot is not snapshot:
            self._settle()
            waiting.append(_UnderWay(head.seq, snapshot))
        newest = waiting[-1]
        rest.began_ns = self._clock.monotonic_ns() if began_ns is None else began_ns
        rest.lasts_ns = self._lease_ns if lasts_us is None else lasts_us * 1_000
        newest.calls += 1
        newest.until_ns = max(newest.until_ns, rest.began_ns + rest.lasts_ns)
        newest.lasts_ns = max(newest.lasts_ns, rest.lasts_ns)
        rest.under_way = newest
        return True

    def end(self, rest: Rest) -> None:
        """Nothing that is to leave rests on that read any more."""
        under_way = rest.under_way
        if isinstance(under_way, _UnderWay):
            under_way.calls -= 1
            rest.under_way = None

    def leave(self, rest: Rest) -> None:
        """To be called right before an answer is handed over. Raises Unavailable where it came too late."""
        if rest.under_way is None:
            return
        now, since = self._clock.monotonic_ns(), self._since_ns
        if since is None or not since <= rest.began_ns <= now < min(rest.began_ns + rest.lasts_ns, self._until_ns):
            self.late += 1
            raise Unavailable(TOO_LATE)

    def acknowledged(self) -> Acknowledged:
        """The newest state that every answer to come rests on at least."""
        self._settle()
        head, snapshot = self._state()
        if self._under_way:
            oldest = self._under_way[0]
            self._acked = Acknowledged(oldest.seq, oldest.snapshot)
        elif (snapshot.number if snapshot is not None else 0) >= head.policy_revision:
            self._acked = Acknowledged(head.seq, snapshot)
        return self._acked

    @property
    def behind(self) -> bool:
        """Whether less was acknowledged than is known."""
        head, snapshot = self._state()
        return self._acked.seq < head.seq or self._acked.snapshot is not snapshot

    def _settle(self) -> None:
        """Forgets states on which nothing rests that may still leave."""
        now = self._clock.monotonic_ns()
        while self._under_way:
            oldest = self._under_way[0]
            if oldest.calls and now <= oldest.until_ns:
                return
            self._under_way.popleft()


def _staleness_ns(snapshot: Snapshot | None) -> int:
    """How old facts may be under a policy; 0: they are read anew."""
    return ((snapshot.read_max_staleness_us if snapshot is not None else None) or 0) * 1_000
