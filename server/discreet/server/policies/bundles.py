"""Where the bundle of a published revision comes from: a cache, if there is one, else SQL.

SQL alone says which revision is in force and what its digest is. A cache is believed where what it gives has that
digest, and else as good as empty: it can make a revision come sooner, never make it another one.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from discreet.server.bell import Bell
from discreet.server.ports import Store
from discreet.server.ports_cache import BundleCache, CacheCounts, CacheState
from discreet.server.ports_policy import PolicyName, PolicyRow


class Layer(StrEnum):
    """Where a bundle was found; a closed set, for metrics."""

    CACHE = "cache"
    STORE = "store"


class NoCache:
    """Where none is configured."""

    state = CacheState.OFF
    silent_ms = 0
    trouble = ""

    def __init__(self) -> None:
        self.counts = CacheCounts()

    async def get(self, digest: str) -> bytes | None:
        """Nothing."""
        return None

    def put(self, digest: str, bundle: bytes) -> None:
        """Keeps nothing."""

    def published(self, name: PolicyName, bundle: bytes) -> None:
        """Keeps nothing."""

    def start(self, epoch: str) -> None:
        """Begins nothing."""

    async def stop(self) -> None:
        """Nothing to end."""


class Bundles:
    """Reads bundles of published revisions, and counts where they came from."""

    def __init__(self, store: Store, cache: BundleCache, bell: Bell) -> None:
        self._store = store
        self._bell = bell
        self.cache = cache
        self.found = dict.fromkeys(Layer, 0)

    async def row(self, name: PolicyName) -> PolicyRow | None:
        """The revision with its bundle; None where SQL has none of that number. Raises StoreError."""
        bundle = await self.cache.get(name.digest)
        if bundle is not None and hashlib.sha256(bundle).hexdigest() == name.digest:
            self.found[Layer.CACHE] += 1
            return PolicyRow(name.number, name.commit, name.digest, name.dirty, bundle, name.published_at)
        self.cache.counts.lies += bundle is not None
        row = await self._store.policy_row(name.number)
        if row is not None:
            self.found[Layer.STORE] += 1
            self.cache.put(row.digest, row.bundle)
        return row

    def published(self, name: PolicyName, bundle: bytes) -> None:
        """Has every server look at a revision that this one brought into force; to be called after its transaction.

        Returns at once. Servers look without it, too, but later.
        """
        self._bell.heard()
        self.cache.published(name, bundle)
