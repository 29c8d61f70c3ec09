"""How the following of a ref goes, and for how long a policy may have been outdated. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.policy.facts import Micros
from discreet.server.ports_policy import ServerRow


@dataclass(frozen=True, slots=True)
class Following:
    """How the following goes, for status and health. Times are monotonic nanoseconds, but for `read_at`."""

    read_ns: int | None = None
    """When the source was last read; None: never yet, or no ref is followed."""
    read_at: Micros | None = None
    pending_ns: int | None = None
    """Since when the source has been known to point at something that is not in force."""
    error: str = ""
    """Why the newest revision is not in force: every problem with file, line and column."""
    error_commit: str = ""
    unreachable: str = ""
    """Why the source cannot be read; empty where it can."""
    pinned: str = ""
    """What a rollback pinned out and the source still points at; empty otherwise. It is out on purpose."""

    def outdated_us(self, now_ns: int) -> int:
        """For how long the revision in force may have been outdated, by what this process read. It must have read."""
        read = self.read_ns if self.read_ns is not None else now_ns
        oldest = min(read, self.pending_ns if self.pending_ns is not None else read)
        return max(0, (now_ns - oldest) // 1_000)


def outdated_as_told(now: Micros, servers: Iterable[ServerRow], published_at: Micros) -> int:
    """For how long a revision may have been outdated, by what others tell of the ref, on the database's clock.

    The last word on the ref counts: that of the server which read it last, with how outdated it found the revision; or
    the publication, where that came later. Where nobody reads the ref any more, it grows.
    """
    reads = [(row.seen_at - row.beat.read_age, row) for row in servers if row.beat.read_age is not None]
    last_at, last = max(reads, key=lambda read: (read[0], read[1].beat.lag), default=(0, None))
    since = last.seen_at - last.beat.lag if last is not None and last_at >= published_at else published_at
    return max(0, now - since)
