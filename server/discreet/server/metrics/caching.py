"""Where a server found what it needed, and how it stands with its cache and its bell, as a source of metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from discreet.server.metrics.collecting import Gathered
from discreet.server.policies.bundles import Bundles
from discreet.server.ports_cache import CacheState
from discreet.server.reading.reader import FactReader

_LOADS_HELP: Final = "Policy revisions that were taken over, by where their bundle was found."
_READS_HELP: Final = "Reads of facts, by what was needed for them."
_TROUBLES_HELP: Final = "Exchanges with the cache that failed, by why."
_RUNG_HELP: Final = "Messages that came through the bell's channel."


class Caching:
    """A source of metrics over the bundles and the facts of a running server."""

    def __init__(self, bundles: Bundles, reader: FactReader) -> None:
        self._bundles = bundles
        self._reader = reader

    def __call__(self) -> list[Gathered]:
        """What there is to tell now."""
        return list(self._told())

    def _told(self) -> Iterator[Gathered]:
        cache = self._bundles.cache
        up, silent = cache.state is CacheState.UP, cache.silent_ms / 1_000
        yield Gathered("cache_up", "1 while what is sent through the cache comes back; 0: not, or none.", {}, up)
        yield Gathered("cache_silent_seconds", "For how long nothing has come back; 0: all well, or none.", {}, silent)
        reads = {"recent": self._reader.recent_hits, "memory": self._reader.hits, "store": self._reader.misses}
        for found_in, count in reads.items():
            yield Gathered("fact_reads_total", _READS_HELP, {"layer": found_in}, count)
        for layer, count in self._bundles.found.items():
            yield Gathered("policy_loads_total", _LOADS_HELP, {"layer": layer.value}, count)
        yield Gathered("cache_lies_total", "Answers of the cache that were not what was asked.", {}, cache.counts.lies)
        for trouble, count in cache.counts.troubles.items():
            yield Gathered("cache_failures_total", _TROUBLES_HELP, {"cause": trouble.value}, count)
        for kind, count in cache.counts.rung.items():
            yield Gathered("bell_messages_total", _RUNG_HELP, {"kind": kind.value}, count)
