"""One surface over both guards, so that one suite holds for code in threads and under asyncio."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from discreet.client import (
    AsyncClient,
    AsyncGuard,
    Binding,
    Client,
    Cutting,
    Delta,
    End,
    Guard,
    Piece,
    Reported,
    Stored,
)
from tests.client.asking import ANSWER, PRINCIPAL, SESSION, binding

Item = str | bytes | Delta | End

# Words of a model: no fixed text and no other segment has any of them.
SECRET = ["Zq7alpha ", "Zq7beta ", "Zq7gamma ", "Zq7delta."]


def paragraph(name: str, count: int = 4, record_id: str = "pep-0008") -> list[Item]:
    """The bits of a segment, each with the binding, and its end; ids as the agent gives them."""
    bits: list[Item] = [Delta(f"{name}-{at} ", (binding(record_id),)) for at in range(count)]
    return [*bits, End(segment_id=name)]


def text_of(name: str, count: int = 4) -> str:
    """The text of what `paragraph` makes."""
    return "".join(f"{name}-{at} " for at in range(count))


def answer_of(*names: str) -> list[Item]:
    """The bits of an answer of these segments."""
    return [item for name in names for item in paragraph(name)]


def row(piece_id: str, ledger_id: str = "", text: str = "", disclosure: str = "", **owner: str) -> Stored:
    """A stored row of the answer that the tests are about."""
    whose = {"principal_id": PRINCIPAL, "session_id": SESSION, "answer_id": ANSWER, **owner}
    return Stored(segment_id=piece_id, ledger_id=ledger_id, text=text, disclosure=disclosure, **whose)


class Guarded:
    """A guard of one kind on a client of its own, driven from a plain test."""

    def __init__(self, kind: str, target: str, cutting: Cutting | None = None, **settings: Any) -> None:
        self._runner = None if kind == "threads" else asyncio.Runner()
        self.client: Client | AsyncClient = (
            Client(target, **settings)
            if kind == "threads"
            else AsyncClient(target, stream=kind == "stream", **settings)
        )
        self.cutting = cutting or Cutting()
        self.guard = self.another()

    def another(self, **whose: str) -> Guard | AsyncGuard:
        """A guard for the same answer, or for another."""
        chosen: Any = {"principal": PRINCIPAL, "session_id": SESSION, "answer_id": ANSWER, **whose}
        return self.client.guard(cutting=self.cutting, **chosen)

    def stream(self, items: Iterable[Item], bindings: Iterable[Binding] = ()) -> Iterator[Piece]:
        """The pieces, one at a time; leaving early leaves the guard's context."""
        if isinstance(self.guard, Guard):
            with self.guard.stream(items, bindings=bindings) as pieces:
                yield from pieces
            return
        assert self._runner is not None
        held = self.guard.stream(later(items), bindings=bindings)
        self._runner.run(held.__aenter__())
        try:
            while (piece := self._runner.run(_next(held))) is not None:
                yield piece
        finally:
            self._runner.run(held.__aexit__(None, None, None))

    def resume(self, rows: Iterable[Stored], guard: Guard | AsyncGuard | None = None, **options: Any) -> list[Piece]:
        """All that a resume gives."""
        chosen = guard or self.guard
        if isinstance(chosen, Guard):
            return list(chosen.resume(rows, **options))
        assert self._runner is not None
        return self._runner.run(_all(chosen.resume(rows, **options)))

    def report(self) -> Reported:
        """What becomes of a report of what was shown."""
        if isinstance(self.guard, Guard):
            return self.guard.report()
        assert self._runner is not None
        return self._runner.run(self.guard.report())

    def close(self) -> None:
        """Ends the client."""
        if isinstance(self.client, Client):
            self.client.close()
        elif self._runner is not None:
            self._runner.run(self.client.close())
            self._runner.close()


async def later(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items as they come from a model: one a turn of the loop."""
    for item in items:
        await asyncio.sleep(0)
        yield item


async def _next(pieces: AsyncIterator[Piece]) -> Piece | None:
    return await anext(pieces, None)


async def _all(pieces: AsyncIterator[Piece]) -> list[Piece]:
    return [piece async for piece in pieces]
