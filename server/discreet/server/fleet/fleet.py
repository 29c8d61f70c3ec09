"""This server as one of those of its database: its lease, what it tells of itself, and who waits for the others."""

from __future__ import annotations

from collections.abc import Callable

from discreet.policy.engine import ENGINE
from discreet.server.calls import new_id
from discreet.server.config import ServerConfig
from discreet.server.errors import StoreRefused
from discreet.server.fleet.lease import Lease, State
from discreet.server.fleet.presence import Condition, Presence, Self
from discreet.server.fleet.series import FleetSeries
from discreet.server.fleet.waiting import Waiting
from discreet.server.logs import Log
from discreet.server.policies.follower import Policies
from discreet.server.ports import Clock, Store, StoreError
from discreet.server.reading.heads import SharedHeads


class Fleet:
    """One server's part in the fleet. Built before the store is open; `join` before the server listens."""

    def __init__(
        self,
        config: ServerConfig,
        instance: str,
        version: str,
        store: Store,
        policies: Policies,
        problems: Callable[[], list[str]],
        clock: Clock,
        log: Log,
        ring: Callable[[], None],
    ) -> None:
        self._policies = policies
        self._problems = problems
        self._clock = clock
        self._heads: SharedHeads | None = None
        own = Self(instance, new_id(), version, ENGINE, config.environment)
        self.lease = Lease(clock, int(config.lease_s * 1_000_000), self._state)
        self.presence = Presence(own, self.lease, store, self._condition, log)
        self.waiting = Waiting(store, clock, ring)
        self.series = FleetSeries(self.presence, self.waiting)

    async def join(self, heads: SharedHeads) -> None:
        """Makes the server known. Raises InstanceTaken, StoreRefused."""
        self._heads = heads
        try:
            await self.presence.register()
        except StoreError as error:
            raise StoreRefused(str(error)) from None

    async def leave(self) -> None:
        """Says that nothing leaves this server any more; before the store is closed."""
        if self._heads is not None:
            await self.presence.end()
        await self.waiting.close()

    @property
    def heard(self) -> bool:
        """False where the database did not hear from this server for longer than its answers may rely on."""
        return self.lease.held or not (self.presence.silent or self.presence.taken.is_set())

    def problems(self) -> list[str]:
        """What is wrong between this server and the database."""
        if self.presence.taken.is_set():
            return ["servers: another one lives under this server's name; this one answers nothing any more"]
        if self.presence.silent:
            return ["servers: the database does not hear from this one; what it decides is held back after its lease"]
        return []

    def _state(self) -> State:
        assert self._heads is not None
        return State(self._heads.last, self._policies.snapshot)

    def _condition(self) -> Condition:
        read_ns = self._policies.following.read_ns
        read_age = None if read_ns is None else max(0, self._clock.monotonic_ns() - read_ns) // 1_000
        found = self._problems()
        return Condition(self._policies.age_us(), read_age, found[0] if found else "")
