"""A reader who stops reading holds the model up, and gets nothing later on a verdict of before."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.client.holding import AHEAD_SEGMENTS_MAX
from tests.client.test_publishing import Hand
from tests.e2e.streaming.stage import READER, SESSION, Changes, Part, Script, Sidecar, Stage, service
from tests.e2e.streaming.wire import Wire
from tests.server.support import eventually

PARTS = 120
BUFFER = 8 * 1024


def stored(stage: Stage) -> int:
    """How many segments were handed to the wire: each has its row before."""
    with closing(sqlite3.connect(stage.rows)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM segment").fetchone()
    return int(count)


class _Still:
    """Whether nothing has been handed on for a number of looks."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.count = self.looks = 0

    async def __call__(self) -> bool:
        before, self.count = self.count, stored(self.stage)
        self.looks = self.looks + 1 if before == self.count > 0 else 0
        return self.looks > 20


async def test_what_waits_for_a_slow_reader_is_asked_about_again(sidecar: Sidecar, place: Path) -> None:
    """F13, B6, B10: some of the answer is on its way, a bounded part is held, and of that nothing leaves any more."""
    topic = os.urandom(4).hex()
    parts = [Part((f"Zq{topic}n{at}x", "y" * 3_500), f"handbook/{topic}") for at in range(PARTS)]
    hand = Hand()
    async with (
        sidecar.lines() as lines,
        service(
            place, f"unix:{sidecar.of('agent')}", Script(parts), send_buffer=BUFFER, clock=hand, deadline_s=20.0
        ) as stage,
    ):
        changes = Changes(sidecar, lines, topic)
        await changes.stock()
        wire = await Wire.ask_only(stage.port, f"/sessions/{SESSION}/answers/{topic}", x_reader=READER)
        await eventually(_Still(stage), 30)
        await changes.revoke()
        hand.seconds += 61
        sent, written = stored(stage), stage.script.written
        assert sent < PARTS / 2
        # Besides what is held: the segment that the reader's task has just taken in, and the one being written.
        assert written <= sent + AHEAD_SEGMENTS_MAX + 2
        wire.read()
        events = await wire.end()
        assert len(events) == PARTS + 1
        assert [event.name for event in events[sent:]] == ["purged"] * (PARTS - sent) + ["end"]
        for part in parts[sent:]:
            assert part.words[0].encode() not in wire.raw
