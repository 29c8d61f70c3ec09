"""The clock port on this process's clocks. Decisions use the database's clock, which is read with the head."""

import time
from typing import Final

from discreet.policy.facts import Micros

_NEVER_BACK: Final[int] = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Where there is one, the clock that goes on while the machine sleeps: a lease must not outlast a sleep."""


class SystemClock:
    """Wall and monotonic time of this machine."""

    def wall(self) -> Micros:
        """Microseconds since 1970 UTC."""
        return Micros(time.time_ns() // 1_000)

    def monotonic_ns(self) -> int:
        """Nanoseconds that never step back."""
        return time.clock_gettime_ns(_NEVER_BACK)
