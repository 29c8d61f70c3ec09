"""The server as a whole: put together, started, watched, drained.

`serve` gives 0 after a drain and 1 after a failure; a start that is refused raises `errors.StartRefused`.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import signal
import sys
import traceback
from collections.abc import Callable, Coroutine
from typing import Literal

from discreet.server.bell import Bell
from discreet.server.cache import cache_of
from discreet.server.calls import new_id
from discreet.server.clock import SystemClock
from discreet.server.config import ServerConfig
from discreet.server.errors import PolicyRefused, StartRefused, StoreRefused
from discreet.server.fleet.fleet import Fleet
from discreet.server.fleet.names import require_state
from discreet.server.logs import Log, make_log
from discreet.server.metrics import CallCounts, Metrics
from discreet.server.metrics.caching import Caching
from discreet.server.metrics.exposing import Exposing
from discreet.server.metrics.standing import Standing
from discreet.server.policies.bundles import Bundles
from discreet.server.policies.errors import SourceRefused
from discreet.server.policies.follower import Policies
from discreet.server.policies.sources import followed
from discreet.server.policies.webhook import PolicyWebhook, secret_of
from discreet.server.ports import Adoption, Clock, DatabaseChanged, Head, Store, StoreError
from discreet.server.ports_cache import CacheState
from discreet.server.reading.high_water import HighWater, epochs_of
from discreet.server.reading.reader import FactReader
from discreet.server.servicers.methods import Methods
from discreet.server.servicers.server_info import server_version
from discreet.server.spool import Draining, Spool, SpoolSeries
from discreet.server.stores import open_store
from discreet.server.wire.edge import Edge
from discreet.server.wire.health import Health
from discreet.server.wire.listeners import Listeners

WATCH_S = 0.5
"""How often the server looks at its own state: the store, the policy revision in force, health.

It looks at once where the bell rings, and so often where no bell can be heard.
"""

LAST_MARK_S = 1.0
"""How long the last reading of the order may take when the server stops."""

Announce = Callable[[str], None]


def _announce(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class Server:
    """A server between `start` and `stop`. One event loop, one store, one policy source, any number of listeners."""

    def __init__(
        self, config: ServerConfig, log: Log | None = None, store: Store | None = None, clock: Clock | None = None
    ) -> None:
        self.config = config
        self.log = log if log is not None else make_log(config.log_format, config.log_level)
        self.clock: Clock = clock if clock is not None else SystemClock()
        self.instance = config.instance or new_id()
        self.store: Store = store if store is not None else _store_of(config)
        self.listeners = Listeners(config, self.log)
        self.health = Health()
        self._counts = CallCounts()
        self.metrics = Metrics(self._counts)
        self._exposing = Exposing(self.metrics.text)
        self.metrics_address = ""
        """HOST:PORT of /metrics; empty where nobody asked for it."""
        self.bell = Bell()
        cache = cache_of(config.redis, config.redis_prefix, self.bell, self.log)
        self.bundles = Bundles(self.store, cache, self.bell)
        self.policies = self._policies()
        self._webhook = PolicyWebhook(self.policies.look_soon, secret_of(config.policy_webhook_secret_file))
        self.webhook_address = ""
        """HOST:PORT of the policy's webhook; empty where nobody asked for it."""
        self.fleet = Fleet(
            config, self.instance, server_version(), self.store, self.policies, self.problems, self.clock, self.log,
            self.bell.ring,
        )  # fmt: skip
        self.edge = Edge(self.store, self.clock, self.log, self.instance, self._counts, self.fleet.lease)
        self.spool = Spool(config.state_dir, config.spool_mb_max, self.clock, self.log)
        self._draining = Draining(self.spool, self.store, self.log)
        self.methods: Methods | None = None
        self._high_water = HighWater(config.state_dir)
        self._mark_lost = False
        self._tasks: list[asyncio.Task[None]] = []
        self.failed = asyncio.Event()
        """Set when what runs in the background ended by an error: serving on would be serving blindly."""
        self._store_answers = True
        self._store_changed = ""

    def _policies(self) -> Policies:
        try:
            source = followed(self.config)
        except SourceRefused as error:
            raise PolicyRefused(str(error)) from None
        return Policies(source, self.bundles, self.store, self.clock, self.log, self.instance, self.config.environment)

    async def start(self) -> None:
        """Serves once it returns. StartRefused says what cannot be served; nothing is left behind then."""
        self.listeners.hold()
        try:
            head, adoptions = await self._open()
            await require_state(self.store, self.config.instance, self._high_water, head, adoptions)
            self._high_water.admit(head, adoptions)
            self.bundles.cache.start(head.epoch)
            await self.policies.start()
            self.spool.open(epochs_of(head, adoptions), wanted=self.policies.spooled)
            reader = FactReader(self.store, head, self.clock)
            await self.fleet.join(reader.heads)
            self.methods = self._methods(reader)
            await self._tell_health(serving=self.policies.usable())
            await self._expose(reader, self.methods)
            await self.listeners.start(self.edge, self.health, self.methods.unary, self.methods.streams)
        except BaseException:
            await self._exposing.stop()
            await self._webhook.stop()
            await self.bundles.cache.stop()
            await self.listeners.stop(0)
            self.listeners.release()
            await self.fleet.leave()
            await self._draining.stop(0)
            with contextlib.suppress(StoreError):
                await self.store.close()
            raise
        self._tasks = [
            self._in_background(self.policies.run(self.config.poll_s)),
            self._in_background(self._watch(reader)),
            self._in_background(self._be_known()),
            self._in_background(self._draining.run()),
            *(self._in_background(work()) for work in self.methods.purging.background()),
        ]

    def _methods(self, reader: FactReader) -> Methods:
        return Methods(
            self.config, self.instance, self.store, reader, self.policies, self.clock, self.log, self.edge.refusal,
            self.problems, self._counts, self.bell.ring, self.fleet, self.bundles.cache,
            self.spool,
        )  # fmt: skip

    async def _expose(self, reader: FactReader, methods: Methods) -> None:
        """Serves the metrics, and the policy's webhook, where the operator asked for them."""
        tally = methods.asking.tally
        standing = Standing(self.health, self.policies, reader.heads, self.edge, tally, lambda: self._store_answers)
        self.metrics.add_source(standing)
        self.metrics.add_source(methods.purging.noticing)
        self.metrics.add_source(Caching(self.bundles, reader))
        self.metrics.add_source(self.fleet.series)
        self.metrics.add_source(SpoolSeries(self.spool))
        if self.config.metrics is not None:
            self.metrics_address = await self._exposing.start(*self.config.metrics)
        if self.config.policy_webhook is not None:
            self.webhook_address = await self._webhook.start(*self.config.policy_webhook)

    def _in_background(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
            self.log.error("background work failed; the server stops", error=type(error).__name__, place=where)
            self.failed.set()

    async def _open(self) -> tuple[Head, list[Adoption]]:
        try:
            return await self.store.open(), await self.store.adoptions()
        except StoreError as error:
            raise StoreRefused(str(error)) from None

    async def _be_known(self) -> None:
        """Keeps this server known to the others; ends it where another one lives under its name."""
        await self.fleet.presence.run()
        self.log.error("another server lives under this one's name; the server stops", instance=self.instance)
        self.failed.set()

    async def _watch(self, reader: FactReader) -> None:
        """Keeps health true, and takes over what other servers publish, without waiting for a call to notice."""
        ear, loop, mark_due = self.bell.ear(), asyncio.get_running_loop(), 0.0
        while True:
            try:
                async with asyncio.timeout(self.config.store_timeout_s):
                    head = await reader.heads.read()
                    await self.policies.at_least(head.policy_revision)
                self._note_store(answers=True)
                self.fleet.presence.moved()
                if loop.time() >= mark_due:  # each is a write to the disk: as often as without a bell
                    await self._keep_mark(head)
                    mark_due = loop.time() + WATCH_S
                if self.methods is not None:
                    self.methods.purging.tide.moved(head.seq)
            except DatabaseChanged as error:
                self._note_store(answers=False, why=str(error))
                self._store_changed = str(error)
                self.fleet.presence.forsaken = True
            except (StoreError, TimeoutError) as error:
                self._note_store(answers=False, why=type(error).__name__)
            await self._set_health()
            await ear.wait(WATCH_S)

    async def _keep_mark(self, head: Head) -> None:
        """The mark that a later start compares with. Where it cannot be kept, status says so and serving goes on."""
        lost = ""
        try:
            await asyncio.to_thread(self._high_water.note, head)
        except (OSError, ValueError) as error:
            lost = type(error).__name__
        if lost and not self._mark_lost:
            self.log.error("the high-water mark cannot be kept", error=lost)
        self._mark_lost = bool(lost)

    def _note_store(self, *, answers: bool, why: str = "") -> None:
        self._store_changed = ""
        self.fleet.presence.forsaken = False
        if answers != self._store_answers:
            self._store_answers = answers
            if answers:
                self.log.info("store answers again")
            else:
                self.log.error("store does not answer: everything is withheld", error=why)

    async def _set_health(self) -> None:
        serving = self._store_answers and self.policies.usable() and self.fleet.heard
        if await self._tell_health(serving=serving):
            self.log.info("health", serving=serving, problems=self.problems())

    async def _tell_health(self, *, serving: bool) -> bool:
        """True where whether the server serves is news."""
        following = self.policies.following
        newest = self.policies.snapshot is not None and not (following.error or following.unreachable)
        await self.health.set_newest_policy(in_force=newest)
        return await self.health.set(serving=serving)

    def problems(self) -> list[str]:
        """What is wrong or degraded, sorted; empty where all is well."""
        following, found = self.policies.following, [*self.fleet.problems(), *self.spool.problems()]
        if self.policies.snapshot is None:
            found.append("policy: no revision is in force yet")
        if self.policies.stale():
            found.append("policy: the revision in force is older than its policy-max-age; everything is withheld")
        if following.unreachable:
            found.append(f"policy source: {following.unreachable}")
        if following.error:
            found.append(f"policy: the newest revision is refused: {following.error.splitlines()[0]}")
        if not self._store_answers:
            found.append("store: does not answer")
        if self._store_changed:
            found.append(f"store: {self._store_changed}")
        if self.bundles.cache.state is CacheState.DOWN:
            found.append(f"cache: {self.bundles.cache.trouble or 'silent'}; changes are seen by polling")
        if self._mark_lost:
            found.append("state directory: the high-water mark cannot be kept")
        if self.edge.refusals_lost:
            found.append(f"audit: {self.edge.refusals_lost} refusals are not on record")
        if self.methods is not None and self.methods.asking.tally.audit_failures:
            found.append(
                f"audit: {self.methods.asking.tally.audit_failures} answers were withheld since it could not be written"
            )
        return sorted(found)

    async def stop(self, hurry: asyncio.Event | None = None) -> None:
        """Health first, then a moment for routing to notice, then no new calls, then those under way.

        Then the store. `hurry`, once set, ends the waiting.
        """
        await self.health.drain()
        self.log.info("draining", under_way=self.edge.running)
        await _until(hurry, asyncio.sleep(self.config.drain_s))
        if self.methods is not None:
            self.methods.streaming.drain()
            self.methods.purging.tide.drain()
        self.fleet.waiting.drain()
        stopping = asyncio.create_task(self.listeners.stop(self.config.grace_s))
        await _until(hurry, self._idle())
        await self.listeners.stop(0)
        await stopping
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.bundles.cache.stop()
        await self._exposing.stop()
        await self._webhook.stop()
        self.listeners.release()
        await self.fleet.leave()
        await self._draining.stop()
        with contextlib.suppress(StoreError, TimeoutError):
            async with asyncio.timeout(LAST_MARK_S):
                await self._keep_mark(await self.store.head())
        with contextlib.suppress(StoreError):
            await self.store.close()
        self.log.info("stopped")

    async def _idle(self) -> None:
        """Returns once no call is under way, or the grace is over."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self.config.grace_s):
                await self.edge.idle()

    def ready_line(self) -> str:
        """`READY` and what a program that started the server wants to know, as JSON."""
        said = {
            "instance": self.instance,
            "version": server_version(),
            "sockets": self.listeners.sockets,
            "listen": self.listeners.ports,
            "metrics": self.metrics_address,
            "policy_webhook": self.webhook_address,
            "serving": self.policies.snapshot is not None,
        }
        return "READY " + json.dumps(said, separators=(",", ":"), sort_keys=True)


async def _until(hurry: asyncio.Event | None, work: Coroutine[None, None, None]) -> None:
    """Waits for the work, or until there is a hurry."""
    task = asyncio.ensure_future(work)
    waiting: set[asyncio.Future[None] | asyncio.Future[Literal[True]]] = {task}
    if hurry is not None:
        waiting.add(asyncio.ensure_future(hurry.wait()))
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


async def _first(*events: asyncio.Event) -> None:
    """Waits until one of the events is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for one in waiting:
        one.cancel()


def _store_of(config: ServerConfig) -> Store:
    try:
        return open_store(config.db)
    except StoreError as error:
        raise StoreRefused(str(error)) from None


async def serve(config: ServerConfig, announce: Announce = _announce) -> int:
    """Serves until SIGTERM or SIGINT, drains, and returns 0. A second signal ends the waiting. Raises StartRefused."""
    stop, hurry = asyncio.Event(), asyncio.Event()

    def told(name: str) -> None:
        server.log.info("signal", name=name)
        (hurry if stop.is_set() else stop).set()

    server = Server(config)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told, number.name)
    try:
        starting = asyncio.create_task(server.start())
        asked = asyncio.create_task(stop.wait())
        await asyncio.wait({starting, asked}, return_when=asyncio.FIRST_COMPLETED)
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})
            return 0
        await starting
        # What was loaded lives as long as the process: it need not be looked at again whenever garbage is collected.
        gc.collect()
        gc.freeze()
        line = server.ready_line()
        server.log.info("ready", instance=server.instance, sockets=list(server.listeners.sockets.values()))
        announce(line)
        await _first(stop, server.failed)
        await server.stop(hurry)
        return 1 if server.failed.is_set() else 0
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def run(config: ServerConfig) -> int:
    """Serves in an event loop of its own; see `serve`."""
    return asyncio.run(serve(config))


__all__ = ["Server", "StartRefused", "run", "serve"]
