"""The policy revision that this process decides under: one reference, swapped whole, never for an older one."""

from __future__ import annotations

import asyncio

from discreet.policy.facts import Micros
from discreet.policy.problems import PolicyProblems
from discreet.policy.snapshot import Snapshot
from discreet.server.logs import Log
from discreet.server.policies.aside import aside
from discreet.server.policies.bundles import Bundles
from discreet.server.policies.compile import compile_row
from discreet.server.ports import Store


class Held:
    """Holds the snapshot in force, and takes from SQL what others brought into force."""

    def __init__(self, bundles: Bundles, store: Store, log: Log, environment: str) -> None:
        self._bundles = bundles
        self._store = store
        self._log = log
        self._environment = environment
        self._lock = asyncio.Lock()
        self._catching: asyncio.Task[None] | None = None
        self._published_at: Micros | None = None
        """When the revision was published, where it was taken from SQL: this process read no ref for it."""
        self.snapshot: Snapshot | None = None

    async def at_least(self, number: int) -> Snapshot | None:
        """The snapshot in force once it is that revision or a later one; None where SQL has none to give."""
        # A load that is under way may have begun before the revision was published; the next one has not.
        for _ in range(2):
            if self.snapshot is not None and self.snapshot.number >= number:
                break
            if self._catching is None or self._catching.done():
                self._catching = asyncio.create_task(self._load(number))
            await asyncio.shield(self._catching)
        snapshot = self.snapshot
        return snapshot if snapshot is not None and snapshot.number >= number else None

    async def _load(self, number: int) -> None:
        """Takes the revision that SQL says is in force, unless one at least as new is held by now."""
        async with self._lock:
            if self.snapshot is not None and self.snapshot.number >= max(number, 1):
                return
            name = await self._store.policy_name(0)
            if name is None or (self.snapshot is not None and self.snapshot.number >= name.number):
                return
            row = await self._bundles.row(name)
            if row is None:
                return
            try:
                compiled = await aside(compile_row, row)
            except PolicyProblems as error:
                self._log.error(
                    "the published policy does not compile here", number=row.number, problems=len(error.problems)
                )
                return
            self._swap(compiled, row.published_at)

    def _swap(self, snapshot: Snapshot, published_at: Micros | None) -> None:
        self.snapshot = snapshot
        self._published_at = published_at
        self._log.info(
            "policy in force",
            policy=snapshot.name,
            number=snapshot.number,
            commit=snapshot.commit,
            digest=snapshot.digest,
            dirty=snapshot.dirty,
            environment=snapshot.environment,
        )
        if snapshot.environment != self._environment:
            self._log.warning("servers of this database are told different environments", told=self._environment)
