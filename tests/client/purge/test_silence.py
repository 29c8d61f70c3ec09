"""A line that is open at this end alone: the holder notices by the silence, and comes again over another connection."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from discreet.client.purge_lines import SILENCE_S
from discreet.client.purging import Outcome, PurgeItem
from discreet.server.servicers.purge.watching import HEARTBEAT_S
from tests.client.purge.working import at_work, target
from tests.server.purge.orders import WAIT_S, Scene
from tests.server.support import commit, eventually, segment

KINDS = pytest.mark.parametrize("kind", ["async", "blocking"])
SHORT_S = 1.0


class Road:
    """Carries bytes between a holder and its server, until it forgets what goes over it, as a router that restarts."""

    def __init__(self, to: str) -> None:
        self._to = to
        self._forgotten = asyncio.Event()
        self._walks: set[asyncio.Task[None]] = set()
        self.lines = 0

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection of the holder."""
        self.lines += 1
        there, back = await asyncio.open_unix_connection(self._to)
        self._walks |= {
            asyncio.create_task(self._carry(reader, back, self._forgotten)),
            asyncio.create_task(self._carry(there, writer, self._forgotten)),
        }

    async def _carry(self, source: asyncio.StreamReader, to: asyncio.StreamWriter, forgotten: asyncio.Event) -> None:
        try:
            with contextlib.suppress(OSError):
                while data := await source.read(65_536):
                    if not forgotten.is_set():
                        to.write(data)
                        await to.drain()
        finally:
            to.close()

    def forget(self) -> None:
        """Nothing passes any more on the connections there are, and nobody is told; new ones work."""
        self._forgotten.set()
        self._forgotten = asyncio.Event()

    async def close(self) -> None:
        """Ends all."""
        for walk in self._walks:
            walk.cancel()
        await asyncio.gather(*self._walks, return_exceptions=True)


@asynccontextmanager
async def road(place: Path, to: str) -> AsyncIterator[Road]:
    """One that is taken at `road.sock`."""
    made = Road(to)
    listening = await asyncio.start_unix_server(made.take, place / "road.sock")
    try:
        yield made
    finally:
        listening.close()
        await made.close()


def test_silence_is_three_heartbeats() -> None:
    """F3: one that is lost, or late, does not break a line that works."""
    assert SILENCE_S == 3 * HEARTBEAT_S


@KINDS
async def test_a_line_on_which_nothing_comes_is_left(place: Path, stage: Scene, kind: str) -> None:
    """F3: the connection is forgotten between revokes; what is revoked afterwards is purged all the same."""
    done: list[str] = []

    def purge(item: PurgeItem) -> Outcome:
        done.append(item.order_id)
        return Outcome.PURGED

    async def purged() -> bool:
        return all(one.done for one in await stage.orders())

    assert stage.running.server.methods is not None
    stage.running.server.methods.purging.watching.heartbeat_s = SHORT_S / 5
    second = commit(segment("s2"), answer="answer-2")
    async with road(place, target(stage, "threads").removeprefix("unix:")) as way:
        where = f"unix:{place / 'road.sock'}"
        async with at_work(kind, stage, purge, where=where, silence_s=SHORT_S):
            await eventually(lambda: _waits(stage), WAIT_S)
            await stage.line("agent").commit(second)
            way.forget()
            later = await stage.revoke()
            await eventually(purged, WAIT_S)
            assert set(done) == {later}
            assert way.lines > 1


async def _waits(stage: Scene) -> bool:
    """True once the holder's stream is open."""
    return stage.running.server.edge.running > 0
