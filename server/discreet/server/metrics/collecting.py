"""One server's metrics: a registry of its own, filled when it is read. Counts nothing itself and reads no store.

Everything is gathered on the event loop's thread, where the counts are kept, so that nothing needs a lock; only the
text is made beside it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from discreet.server.metrics.counts import BOUNDS_S, CallCounts

PREFIX: Final = "discreet_"
SOURCE_SERIES_MAX: Final = 400
"""Series that one source may bring; what is more is left out, and counted as left out."""


class Gathered(NamedTuple):
    """One series as a source tells it.

    `name` stands without the prefix; one that ends in `_total` is a counter, any other a gauge. The values of labels
    come from closed sets, never from a request or a record: no id, no name, no text.
    """

    name: str
    help: str
    labels: Mapping[str, str]
    value: float


Source = Callable[[], Sequence[Gathered]]


class Metrics(Collector):
    """The metrics of one server."""

    def __init__(self, calls: CallCounts) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self._calls = calls
        self._sources: list[Source] = []
        self.registry.register(self)

    def add_source(self, source: Source) -> None:
        """Has a source asked at every scrape.

        It is called on the event loop's thread and tells what its part holds in memory: it may not wait, read a store
        or take a lock. A name belongs to one source, and always has the same help and the same label names.
        """
        self._sources.append(source)

    async def text(self) -> bytes:
        """The exposition in the Prometheus text format, as of now."""
        gathered = _Fixed(list(self.registry.collect()))
        return await asyncio.to_thread(generate_latest, gathered)

    def collect(self) -> Iterator[Metric]:
        """Every family; on the event loop's thread."""
        left_out = 0
        for source in self._sources:
            told = source()
            left_out += max(0, len(told) - SOURCE_SERIES_MAX)
            yield from _families(told[:SOURCE_SERIES_MAX])
        yield from _families([Gathered("series_left_out", "Series of this scrape that are too many.", {}, left_out)])
        yield from _of_calls(self._calls)


class _Fixed(Collector):
    """Families that were gathered before."""

    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        """The families."""
        return self._families


def _families(told: Sequence[Gathered]) -> Iterator[Metric]:
    families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {}
    for one in told:
        family = families.get(one.name)
        if family is None:
            kind = CounterMetricFamily if one.name.endswith("_total") else GaugeMetricFamily
            family = families[one.name] = kind(PREFIX + one.name, one.help, labels=tuple(one.labels))
        family.add_metric(tuple(one.labels.values()), one.value)
    yield from families.values()


def _of_calls(counts: CallCounts) -> Iterator[Metric]:
    calls = CounterMetricFamily(
        f"{PREFIX}calls_total", "Calls that ended, by method and gRPC status.", labels=("method", "code")
    )
    for (method, code), count in sorted(counts.calls.items()):
        calls.add_metric((method, code), count)
    yield calls
    streams = CounterMetricFamily(
        f"{PREFIX}streams_total",
        "Streams of checks, and of purge orders, that ended, by gRPC status.",
        labels=("code",),
    )
    for code, count in sorted(counts.streams.items()):
        streams.add_metric((code,), count)
    yield streams
    times = HistogramMetricFamily(
        f"{PREFIX}call_seconds", "How long calls took in the server, by method.", labels=("method",)
    )
    bounds = [*map(str, BOUNDS_S), "+Inf"]
    for method, took in sorted(counts.times.items()):
        times.add_metric((method,), list(zip(bounds, accumulate(took.buckets), strict=True)), took.sum_s)
    yield times
