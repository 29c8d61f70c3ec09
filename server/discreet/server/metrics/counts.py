"""Counting calls as plain ints on the event loop's thread. Knows nothing of Prometheus, and of no call but its name."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

BOUNDS_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Upper bounds of the latency buckets; the last bucket has none."""

TIMED: Final = "DisclosureService"
"""The service whose methods are timed one by one; all others are timed together, which bounds the series."""
OTHER: Final = "other"


@dataclass(slots=True)
class Times:
    """How long calls took: how many in each bucket, and all together."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    sum_s: float = 0.0

    def took(self, seconds: float) -> None:
        """Counts one."""
        self.buckets[bisect_left(BOUNDS_S, seconds)] += 1
        self.sum_s += seconds


class CallCounts:
    """Calls by method and code. A method is `Service/Method` and one that is served; a code is a gRPC status."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], int] = {}
        self._times: dict[str, Times] = {}
        self._streams: dict[str, int] = {}

    @property
    def calls(self) -> Mapping[tuple[str, str], int]:
        """How many ended, by method and code; each frame of a stream is a call."""
        return self._calls

    @property
    def times(self) -> Mapping[str, Times]:
        """How long they took, by method; `other`: those of all services but DisclosureService."""
        return self._times

    @property
    def streams(self) -> Mapping[str, int]:
        """How many streams ended, by code."""
        return self._streams

    def ended(self, method: str, code: str, seconds: float) -> None:
        """Counts a call that ended."""
        key = method, code
        self._calls[key] = self._calls.get(key, 0) + 1
        timed = method if method.startswith(TIMED) else OTHER
        times = self._times.get(timed)
        if times is None:
            times = self._times[timed] = Times()
        times.took(seconds)

    def stream_ended(self, code: str) -> None:
        """Counts a stream that ended."""
        self._streams[code] = self._streams.get(code, 0) + 1


def labelled(method: str) -> str:
    """A full method name as it is counted.

    >>> labelled("/discreet.v1.DisclosureService/Check")
    'DisclosureService/Check'
    """
    return method.rpartition(".")[2]
