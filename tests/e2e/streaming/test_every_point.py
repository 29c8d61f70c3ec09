"""A fact changes at every point of a segment's way to the reader, and the bytes on the wire never hold any of it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from discreet.v1 import common_pb2
from docs.examples.streaming.app import Rows
from tests.client.test_publishing import Hand
from tests.e2e.streaming.between import CallProxy
from tests.e2e.streaming.stage import READER, SESSION, Changes, Part, Script, Sidecar, Stage, service
from tests.e2e.streaming.wire import WITHIN_S, Event, Wire
from tests.server.support import TENANT

CHANGES = ["revoke", "suspend", "withdraw", "unreachable", "hold", "policy"]
REVOKED = {"revoke"}


class Act:
    """One answer of three segments, the middle one on a record that changes."""

    def __init__(self, stage: Stage, proxy: CallProxy, changes: Changes, hand: Hand) -> None:
        self.stage = stage
        self.proxy = proxy
        self.changes = changes
        self.hand = hand
        self.answer = f"answer-{changes.topic}"
        self.script = stage.script
        self.secret = stage.script.parts[1]
        self.wire: Wire | None = None

    async def begin(self, **headers: str) -> Wire:
        """Asks for the answer."""
        self.wire = await self.stage.ask(self.answer, **headers)
        return self.wire

    async def shown(self, count: int) -> None:
        """Returns when the reader has so many events."""
        assert self.wire is not None
        await self.wire.has(count)


@asynccontextmanager
async def acting(sidecar: Sidecar, place: Path) -> AsyncIterator[Act]:
    """An answer of its own on the shared sidecar."""
    topic = os.urandom(4).hex()
    words = [tuple(f"{name}{topic}{at}" for at in range(5)) for name in ("Pa", "Zq", "Pb")]
    parts = [Part(words[0], "handbook/open"), Part(words[1], f"handbook/{topic}"), Part(words[2], "handbook/open")]
    hand = Hand()
    target = f"unix:{place}/proxy.sock"
    async with (
        sidecar.lines() as lines,
        CallProxy(target, f"unix:{sidecar.of('agent')}") as proxy,
        service(place, target, Script(parts), clock=hand, deadline_s=20.0) as stage,
    ):
        changes = Changes(sidecar, lines, topic)
        await changes.stock()
        yield Act(stage, proxy, changes, hand)


def nothing_left(act: Act, *wires: Wire) -> None:
    """No word of the secret, no beginning of it, was sent or is stored."""
    for piece in act.secret.pieces:
        for wire in wires:
            assert piece.encode() not in wire.raw
            assert piece.encode() not in wire.body
        assert piece.encode() not in act.stage.stored()


def the_rest_arrived(act: Act, events: list[Event], change: str) -> None:
    """Both public segments whole, in their places; the secret's place has a fixed text."""
    names = [event.name for event in events]
    assert names == ["shown", names[1], "shown", "end"]
    assert (events[0].text, events[2].text) == (act.script.parts[0].text, act.script.parts[2].text)
    assert names[1] in ({"purged", "withheld"} if change in REVOKED else {"withheld"})
    assert len(events[1].text) > 10
    assert events[1].segment


async def _before_everything(act: Act, change: str) -> None:
    await getattr(act.changes, change)()


async def _while_it_is_written(act: Act, change: str) -> None:
    act.script.at["half", 1] = getattr(act.changes, change)


async def _after_the_last_word(act: Act, change: str) -> None:
    act.script.at["written", 1] = getattr(act.changes, change)


async def _before_the_commit_arrives(act: Act, change: str) -> None:
    await _at_the_proxy(act, change, before=True)


async def _after_the_commit_with_its_time_over(act: Act, change: str) -> None:
    """The commit came first, its answer came too late: the text leaves only on what holds now."""
    await _at_the_proxy(act, change, before=False)


async def _between_segments(act: Act, change: str) -> None:
    async def after_the_first() -> None:
        await act.shown(1)
        await getattr(act.changes, change)()

    act.script.at["begun", 1] = after_the_first


async def _at_the_proxy(act: Act, change: str, *, before: bool) -> None:
    """Acts on the commit of the second segment, which goes alone: the first has been shown, the third waits."""
    commits = 0
    done = False

    async def commit(method: str) -> None:
        nonlocal commits, done
        commits += method == "Commit"
        if method == "Commit" and commits == 2 and not done:
            done = True
            await getattr(act.changes, change)()
            if not before:
                act.hand.seconds += 61

    act.script.at["begun", 1] = lambda: act.shown(1)
    act.script.at["begun", 2] = lambda: act.shown(2)
    if before:
        act.proxy.before = commit
    else:
        act.proxy.after = commit


POINTS = [
    _before_everything,
    _while_it_is_written,
    _after_the_last_word,
    _before_the_commit_arrives,
    _after_the_commit_with_its_time_over,
    _between_segments,
]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.__name__.strip("_"))
async def test_nothing_of_a_segment_leaves_that_lost_its_ground(
    sidecar: Sidecar, place: Path, point: object, change: str
) -> None:
    """DSC-01, F13, B1, B3, B4, B6, B10: not a word on the wire or in the store; the public segments arrive whole."""
    assert callable(point)
    async with acting(sidecar, place) as act:
        await point(act, change)
        wire = await act.begin()
        events = await wire.end()
        nothing_left(act, wire)
        the_rest_arrived(act, events, change)
        again = await act.begin()
        events = await again.end()
        nothing_left(act, wire, again)
        the_rest_arrived(act, events, change)


@pytest.mark.parametrize("change", CHANGES)
async def test_a_publication_that_came_first_stands_and_is_not_shown_again(
    sidecar: Sidecar, place: Path, change: str
) -> None:
    """B6, B1, DSC-05: a commit was answered before the change, within its time; the change forbids the next showing."""
    async with acting(sidecar, place) as act:
        await _at_the_proxy(act, change, before=False)
        moved = act.hand.seconds + 61
        wire = await act.begin()

        async def stay(method: str, inner: object = act.proxy.after) -> None:
            assert callable(inner)
            await inner(method)
            act.hand.seconds = moved - 61

        act.proxy.after = stay
        events = await wire.end()
        assert [event.name for event in events] == ["shown", "shown", "shown", "end"]
        assert events[1].text == act.secret.text
        again = await act.begin()
        events = await again.end()
        for piece in act.secret.pieces:
            assert piece.encode() not in again.raw
        the_rest_arrived(act, events, change)
        assert (act.secret.words[0].encode() in act.stage.stored()) == (change not in REVOKED)


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("seen", [1, 2])
async def test_a_dropped_connection_resumes_without_what_was_revoked_since(
    sidecar: Sidecar, place: Path, change: str, seen: int
) -> None:
    """B10, DSC-05, DSC-07: shown or on its way when the line broke, the segment comes no more; the rest does."""
    async with acting(sidecar, place) as act:
        act.script.at["begun", 2] = _for_ever
        first = await act.begin()
        await first.has(2)
        assert first.events[1].text == act.secret.text
        await first.cut()
        async with asyncio.timeout(WITHIN_S):
            await act.script.closed.wait()
        await getattr(act.changes, change)()
        second = await act.begin(last_event_id=first.events[seen - 1].id)
        events = await second.end()
        for piece in act.secret.pieces:
            assert piece.encode() not in second.raw
        purged = change in REVOKED
        assert events[0] == Event(
            "purged" if purged else "withheld",
            # A segment seen before is replaced, and the place to come back to stays where it is.
            first.events[1].id if seen == 1 else "",
            first.events[1].segment,
            events[0].text,
        )
        assert [event.text for event in events[1:]] == [act.script.parts[2].text, ""]
        assert act.script.parts[0].words[0].encode() not in second.raw
        for piece in act.secret.pieces:
            assert (piece.encode() in act.stage.stored()) == (not purged)


async def _for_ever() -> None:
    await asyncio.Event().wait()


async def test_anothers_last_event_id_gives_nothing_and_is_in_the_audit(sidecar: Sidecar, place: Path) -> None:
    """DSC-07: bo with ana's place, a guessed place, another session: no byte of the answer, and the audit has it."""
    async with acting(sidecar, place) as act:
        wire = await act.begin()
        events = await wire.end()
        assert events[1].text == act.secret.text
        tries = [
            ("bo", SESSION, events[0].id),
            ("bo", SESSION, ""),
            (READER, SESSION, "s1-0000000000000000"),
            (READER, "session-2", events[0].id),
            ("bo", "session-2", events[0].id),
        ]
        for reader, session, place_seen in tries:
            headers = {"last_event_id": place_seen} if place_seen else {}
            other = await act.stage.ask(act.answer, reader, session, **headers)
            assert await other.end() == []
            assert other.status == 204
            for part in act.script.parts:
                assert not any(piece.encode() in other.raw for piece in part.pieces)
        # A service that looks its rows up by the answer alone: the guard, and behind it the sidecar, tell them apart.
        elsewhere = act.stage.client.guard(principal=READER, session_id="session-2", answer_id=act.answer)
        rows = Rows(str(act.stage.rows)).of(SESSION, act.answer)
        assert [piece async for piece in elsewhere.resume(rows)] == []
        for reader, session, reason in (
            ("bo", SESSION, common_pb2.REASON_PRINCIPAL_MISMATCH),
            (READER, "session-2", common_pb2.REASON_SESSION_MISMATCH),
        ):
            filters = {"tenant": TENANT, "principal_id": reader, "session_id": session}
            found = await act.changes.lines.auditor.decisions(**filters)
            assert {record.decision.reason for record in found} == {reason}
            assert {record.decision.verdict for record in found} == {common_pb2.VERDICT_WITHHOLD}
