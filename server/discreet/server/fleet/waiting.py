"""Waiting until no server can answer under a state older than a given one.

A server is safe once it acknowledged the state, or once its lease has run out since: no answer that it may still send
rests on a read of the head from before. Whoever is not live when the wait begins can send nothing at all.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.token import Token
from discreet.server.errors import TooMuch, Unavailable
from discreet.server.fleet.presence import SEEN_WITHIN_US
from discreet.server.ports import Clock, Store, StoreError
from discreet.server.ports_policy import ServerRow
from discreet.server.stores.shared_read import SharedRead

POLL_S = 0.05
"""How often the servers are looked at while somebody waits."""
WAITS_MAX = 100
"""So many calls may wait at once."""
DRIFT = 100
"""Two clocks may differ by one part in so many in how fast they run."""


class Standing(Enum):
    """How a server stands to the state that is waited for."""

    GIVEN = "given"
    LEASE_RAN_OUT = "lease-ran-out"
    PENDING = "pending"


class Waited(NamedTuple):
    """How far the servers are, by instance and process."""

    reached: bool
    servers: tuple[tuple[ServerRow, Standing], ...]
    now: Micros
    """The database's clock at the last look."""
    waited_us: int


class Waiting:
    """Waits for the servers of one database. `ring` asks all of them to look at once."""

    def __init__(self, store: Store, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._servers = SharedRead(lambda: store.servers(SEEN_WITHIN_US))
        self._waiting = 0
        self._draining = False
        self.ended: Counter[bool] = Counter({True: 0, False: 0})
        """Waits that ended, by whether the state was reached."""

    @property
    def waiting(self) -> int:
        """Calls that wait now."""
        return self._waiting

    async def until_safe(self, token: Token, limit_s: float) -> Waited:
        """Waits at most so long. Raises TooMuch where too many wait, Unavailable where the servers cannot be read."""
        if self._waiting >= WAITS_MAX:
            raise TooMuch(f"{WAITS_MAX} calls wait for the servers already; ask again later")
        self._waiting += 1
        try:
            waited = await self._wait(_Wait(token, self._clock.monotonic_ns()), limit_s)
        finally:
            self._waiting -= 1
        self.ended[waited.reached] += 1
        return waited

    async def _wait(self, wait: _Wait, limit_s: float) -> Waited:
        self._ring()
        try:
            async with asyncio.timeout(limit_s):
                safe = await self._look(wait)
                while not (safe or self._draining):
                    await asyncio.sleep(POLL_S)
                    safe = await self._look(wait)
        except TimeoutError:
            pass
        if wait.now is None:
            raise Unavailable("the servers cannot be read; a change that was made before stands")
        return wait.waited(self._clock.monotonic_ns())

    async def _look(self, wait: _Wait) -> bool:
        """True where no server is pending."""
        try:
            now, rows = await self._servers()
        except StoreError:
            return False
        wait.saw(now, rows)
        return not wait.pending(self._clock.monotonic_ns())

    def drain(self) -> None:
        """Ends all waits with what is known: this server is about to stop."""
        self._draining = True

    async def close(self) -> None:
        """Ends a look that is under way."""
        await self._servers.close()


class _Wait:
    """One wait: what it saw of the servers. Times of the database and of this process are both waited for."""

    def __init__(self, token: Token, began_ns: int) -> None:
        self.now: Micros | None = None
        """The database's clock at the last look; None: none succeeded yet."""
        self._token = token
        self._began_ns = began_ns
        self._known_at = Micros(0)
        """A time of the database's clock at which the state had come to be: that of the first look."""
        self._seen: dict[tuple[str, str], ServerRow] = {}

    def saw(self, now: Micros, rows: Iterable[ServerRow]) -> None:
        """What a look found. Who lives is waited for from then on, also after it fell silent."""
        if self.now is None:
            self._known_at = now
        self.now = now
        for row in rows:
            process = row.beat.instance, row.beat.run
            if row.live(now) or process in self._seen:
                self._seen[process] = row

    def pending(self, now_ns: int) -> bool:
        """Whether some server may still send an answer under an older state."""
        return any(self._standing(row, now_ns) is Standing.PENDING for row in self._seen.values())

    def _standing(self, row: ServerRow, now_ns: int) -> Standing:
        beat, number = row.beat, row.beat.policy.number if row.beat.policy is not None else 0
        if beat.acked_seq >= self._token.seq and number >= self._token.policy_revision:
            return Standing.GIVEN
        if beat.ended:
            return Standing.LEASE_RAN_OUT
        lease = beat.lease + beat.lease // DRIFT
        assert self.now is not None
        ran_out = self.now > self._known_at + lease and now_ns > self._began_ns + lease * 1_000
        return Standing.LEASE_RAN_OUT if ran_out else Standing.PENDING

    def waited(self, now_ns: int) -> Waited:
        """The result as of now."""
        found = tuple((row, self._standing(row, now_ns)) for _, row in sorted(self._seen.items()))
        reached = all(standing is not Standing.PENDING for _, standing in found)
        assert self.now is not None
        return Waited(reached, found, self.now, (now_ns - self._began_ns) // 1_000)
