"""What follows from a streamed answer: what was shown is confirmed, and what is made from it falls with it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from discreet.client import AsyncGuard, Cutting, Delta, End, Piece, Stored, by_agent
from tests.client.guard.guarding import Item, later
from tests.e2e.streaming.stage import READER, SESSION, Sidecar
from tests.e2e.streaming.test_every_point import Act, acting
from tests.server.support import eventually


def confirmed(sidecar: Sidecar) -> set[str]:
    """The ledger ids that are on record as shown."""
    database = sidecar.process.directory / "discreet.db"
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        return {ledger_id for (ledger_id,) in connection.execute("SELECT ledger_id FROM ledger_shown")}


async def test_f4_what_was_put_before_the_reader_is_confirmed_and_what_was_withheld_is_not(
    sidecar: Sidecar, place: Path
) -> None:
    """F4, F13: after the last byte, and when the reader is gone in the middle; a fixed text confirms nothing."""
    async with acting(sidecar, place) as act:
        await act.changes.suspend()
        before = confirmed(sidecar)
        wire = await act.begin()
        await wire.end()
        ids = [row.ledger_id for row in rows_of(act)]
        assert [bool(ledger_id) for ledger_id in ids] == [True, False, True]

        async def reported() -> bool:
            return confirmed(sidecar) - before == {ids[0], ids[2]}

        await eventually(reported)


def rows_of(act: Act) -> list[Stored]:
    """The rows that the service keeps of the answer."""
    with closing(sqlite3.connect(act.stage.rows)) as connection:
        return [Stored(*row) for row in connection.execute("SELECT * FROM segment ORDER BY rowid")]


async def _summary(act: Act, parents: tuple[str, ...]) -> tuple[AsyncGuard, list[Piece]]:
    """A summary of stored segments, streamed as an answer of its own; it binds no record itself."""
    guard = act.stage.client.guard(
        principal=READER, session_id=SESSION, answer_id=f"{act.answer}-summary", cutting=Cutting(by_agent)
    )
    bits: list[Item] = [Delta("In short: ", parents=parents[:1]), Delta("it was so.", parents=parents[1:]), End()]
    async with guard.stream(later(bits)) as pieces:
        return guard, [piece async for piece in pieces]


async def test_a_streamed_summary_falls_with_any_segment_that_it_was_made_from(sidecar: Sidecar, place: Path) -> None:
    """B7, B10, F6: it rests on its parents; their revoke purges it at REPLAY and EXPORT, under that order."""
    async with acting(sidecar, place) as act:
        await (await act.begin()).end()
        ids = tuple(row.ledger_id for row in rows_of(act))
        guard, (piece,) = await _summary(act, ids)
        assert piece.text == "In short: it was so."
        row = guard.stored(piece)
        assert row is not None
        client = act.stage.client
        assert (await client.export([row.ledger_id], READER, SESSION)).results[0].allowed
        await act.changes.revoke()
        (again,) = [found async for found in guard.resume([row])]
        assert (again.purge, again.allowed) == (True, False)
        assert again.purge_order_id
        erased = guard.stored(again)
        assert erased is not None
        assert (erased.text, erased.ledger_id) == ("", row.ledger_id)
        exported = (await client.export([row.ledger_id, ids[0]], READER, SESSION)).results
        assert [result.purge for result in exported] == [True, False]
        assert exported[0].purge_order_id == again.purge_order_id
        assert exported[1].allowed


async def test_a_summary_of_what_may_not_be_shown_is_never_streamed(sidecar: Sidecar, place: Path) -> None:
    """B10, F6: a parent that is hidden now lets nothing made from it out."""
    async with acting(sidecar, place) as act:
        await (await act.begin()).end()
        ids = tuple(row.ledger_id for row in rows_of(act))
        await act.changes.suspend()
        _, (piece,) = await _summary(act, ids)
        assert not piece.allowed
        assert "In short" not in piece.text
        _, (unknown,) = await _summary(act, (ids[0], "no-such-entry"))
        assert not unknown.allowed
