"""A clock that can be set ahead: what takes a moment took as long as a test says."""

from __future__ import annotations

from discreet.policy.facts import Micros
from discreet.server.clock import SystemClock


class AheadClock:
    """This machine's clocks, the one that never steps back ahead by so many nanoseconds."""

    def __init__(self) -> None:
        self.ahead_ns = 0
        self._inside = SystemClock()

    def wall(self) -> Micros:
        """See the port, here and below."""
        return self._inside.wall()

    def monotonic_ns(self) -> int:
        return self._inside.monotonic_ns() + self.ahead_ns

    def skip(self, seconds: float) -> None:
        """So much time has passed."""
        self.ahead_ns += int(seconds * 1e9)
