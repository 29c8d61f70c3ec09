"""The clock port on this process's clocks. Decisions use the database's clock, which is read with the head."""

import time

from discreet.policy.facts import Micros


class SystemClock:
    """Wall and monotonic time of this machine."""

    def wall(self) -> Micros:
        """Microseconds since 1970 UTC."""
        return Micros(time.time_ns() // 1_000)

    def monotonic_ns(self) -> int:
        """Nanoseconds that never step back."""
        return time.monotonic_ns()
