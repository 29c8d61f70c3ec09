"""A service that streams answers as server-sent events, each segment after its commit. An example: copy and change it.

Yours are the retriever and the model (`writer.py`), and who is asking (`reader_of`). What must stay: text goes to the
reader and into the store as pieces of the guard, and in no other way.
"""

import json
import os
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import astuple
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from discreet.client import AsyncClient, AsyncGuard, Cutting, Delta, End, Piece, Stored, by_agent
from docs.examples.streaming.writer import Notes

# Writes the answer to a question for a reader in a session; what was written before is so many segments, left out.
Writer: TypeAlias = Callable[[str, str, str, int], AsyncIterator[Delta | End]]
# Guards that hold segments whose outcome is unknown wait for their reader to come back; so many, with those at work.
GUARDS_MAX = 1_000


class Rows:
    """Segments as they were shown, in SQLite: what a reader who comes back gets, if it may be shown then."""

    def __init__(self, path: str) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("PRAGMA secure_delete = ON")  # what is deleted is gone from the file, too
        self._db.execute(
            "CREATE TABLE IF NOT EXISTS segment (principal TEXT, session TEXT, answer TEXT, id TEXT, ledger_id TEXT,"
            " text TEXT, disclosure TEXT, PRIMARY KEY (session, answer, id))"
        )

    def of(self, session: str, answer: str) -> list[Stored]:
        """The segments of an answer, in the order in which they were shown first."""
        wanted = "SELECT * FROM segment WHERE session = ? AND answer = ? ORDER BY rowid"
        return [Stored(*row) for row in self._db.execute(wanted, (session, answer))]

    def keep(self, row: Stored | None) -> None:
        """Writes a row over an earlier one: after a purge, one without text."""
        if row is not None:
            self._db.execute(
                "INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, answer, id) DO UPDATE"
                " SET ledger_id = excluded.ledger_id, text = excluded.text, disclosure = excluded.disclosure",
                astuple(row),
            )

    def close(self) -> None:
        """Lets go of the file."""
        self._db.close()


class Service:
    """Answers readers, and readers who come back."""

    def __init__(self, client: AsyncClient, rows: Rows, write: Writer) -> None:
        self._client = client
        self._rows = rows
        self._write = write
        self._guards: dict[tuple[str, str, str], AsyncGuard] = {}

    async def answer(self, request: Request) -> Response:
        """The answer as a stream; after `Last-Event-ID` for one who comes back, nothing for one who never was here."""
        session, answer = request.path_params["session"], request.path_params["answer"]
        reader, after = reader_of(request), request.headers.get("last-event-id", "")
        guard = self._guard(reader, session, answer)
        rows = self._rows.of(session, answer)
        if not guard.follows(rows, after):
            async for _ in guard.resume(rows, after=after):
                pass  # asked, so that the audit has the attempt; whatever comes is not sent
            await self._end(guard, (reader, session, answer))
            return Response(status_code=204)  # tells a browser not to come back
        writing = self._write(request.query_params.get("question", ""), reader, session, len(rows))
        return StreamingResponse(
            self._events(guard, rows, after, writing),
            media_type="text/event-stream",
            headers={"cache-control": "no-store"},
            background=BackgroundTask(self._end, guard, (reader, session, answer)),
        )

    def _guard(self, reader: str, session: str, answer: str) -> AsyncGuard:
        """The guard of an answer: the one that still holds text of it whose outcome is unknown, else a new one."""
        key = (reader, session, answer)
        if key not in self._guards:
            self._guards[key] = self._client.guard(
                principal=reader, session_id=session, answer_id=answer, cutting=Cutting(by_agent)
            )
            while len(self._guards) > GUARDS_MAX:
                del self._guards[next(iter(self._guards))]
        return self._guards[key]

    async def _events(
        self, guard: AsyncGuard, rows: list[Stored], after: str, writing: AsyncIterator[Delta | End]
    ) -> AsyncIterator[bytes]:
        async for piece in guard.resume(rows, after=after, notices=True):
            self._rows.keep(guard.stored(piece))
            yield event(piece)
            guard.shown(piece)  # its bytes were written
        async with guard.stream(writing) as pieces:
            async for piece in pieces:
                self._rows.keep(guard.stored(piece))
                yield event(piece)
                guard.shown(piece)
        yield b"event: end\ndata: {}\n\n"

    async def _end(self, guard: AsyncGuard, key: tuple[str, str, str]) -> None:
        """After the last byte, or when the reader is gone."""
        self._guards[key] = guard
        if not guard.undecided:
            del self._guards[key]
        await guard.report()


def event(piece: Piece) -> bytes:
    """A piece as an event: `shown`, `withheld` or `purged`; one with the id of an earlier one stands in its place.

    A place to come back to (`id:`) is given where the piece is decided: from an undecided one on, all is asked again.
    """
    name = "shown" if piece.allowed else "purged" if piece.purge else "withheld"
    place = "" if piece.undecided or piece.replaces else f"id: {piece.segment_id}\n"
    data = json.dumps({"segment": piece.segment_id, "text": piece.text}, ensure_ascii=False)
    return f"{place}event: {name}\ndata: {data}\n\n".encode()


def reader_of(request: Request) -> str:
    """Who is asking. Yours to replace by your own authentication: this believes a header."""
    return request.headers["x-reader"]


def create(client: AsyncClient | None = None, rows: Rows | None = None, write: Writer | None = None) -> Starlette:
    """The application; from the environment what is not given: DISCREET_AGENT (a target), DISCREET_TENANT, SEGMENTS."""
    asked = client or AsyncClient(os.environ["DISCREET_AGENT"], tenant=os.environ.get("DISCREET_TENANT", ""))
    kept = rows or Rows(os.environ["SEGMENTS"])
    service = Service(asked, kept, write or Notes(asked).write)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await asked.close()
        kept.close()

    return Starlette(routes=[Route("/sessions/{session}/answers/{answer}", service.answer)], lifespan=lifespan)
