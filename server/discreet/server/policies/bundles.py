"""Where the bundle of a published revision comes from: a cache, if there is one, else SQL.

SQL alone says which revision is in force and what its digest is. A cache is believed where what it gives has that
digest, and else as good as empty: it can make a revision come sooner, never make it another one.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Protocol

from discreet.server.ports import Store
from discreet.server.ports_policy import PolicyName, PolicyRow


class Layer(StrEnum):
    """Where a bundle was found; a closed set, for metrics."""

    CACHE = "cache"
    STORE = "store"


class BundleCache(Protocol):
    """A copy of bundles, and a bell, that may be lost, slow, or wrong at any time. Its methods raise nothing."""

    async def get(self, digest: str) -> bytes | None:
        """What it holds under that digest, right or wrong; None where it holds nothing or does not answer soon."""
        ...

    async def put(self, digest: str, bundle: bytes) -> None:
        """Keeps a bundle, if it can."""
        ...

    async def ring(self) -> None:
        """Tells every server of the database that something changed, if it can."""
        ...


class NoCache:
    """Where none is configured."""

    async def get(self, digest: str) -> bytes | None:
        """Nothing."""
        return None

    async def put(self, digest: str, bundle: bytes) -> None:
        """Keeps nothing."""

    async def ring(self) -> None:
        """Tells nobody."""


class Bundles:
    """Reads bundles of published revisions, and counts where they came from."""

    def __init__(self, store: Store, cache: BundleCache) -> None:
        self._store = store
        self.cache = cache
        self.found = dict.fromkeys(Layer, 0)
        self.lies = 0
        """How often the cache gave something else than what it was asked for."""

    async def row(self, name: PolicyName) -> PolicyRow | None:
        """The revision with its bundle; None where SQL has none of that number. Raises StoreError."""
        bundle = await self.cache.get(name.digest)
        if bundle is not None and hashlib.sha256(bundle).hexdigest() == name.digest:
            self.found[Layer.CACHE] += 1
            return PolicyRow(name.number, name.commit, name.digest, name.dirty, bundle, name.published_at)
        self.lies += bundle is not None
        row = await self._store.policy_row(name.number)
        if row is not None:
            self.found[Layer.STORE] += 1
            await self.cache.put(row.digest, row.bundle)
        return row
