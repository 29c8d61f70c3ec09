"""One surface over the clients, so that one suite holds for all: threads, asyncio, and asyncio on one stream."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

from discreet.client import AsyncClient, AsyncPublishing, Binding, Client, Filtered, Piece, Publishing, Segment, digest

KINDS = ("threads", "asyncio", "stream")
PRINCIPAL, SESSION, ANSWER = "ana", "session-1", "answer-1"
RECORD_DIGEST = digest("the whole record")

Thing = TypeVar("Thing")


def binding(record_id: str = "pep-0008", version: str = "v1") -> Binding:
    """A binding to a version of a record."""
    return Binding(record_id, version, RECORD_DIGEST)


def segments(count: int = 3) -> list[Segment]:
    """Segments s0, s1, ... that rest on one record each."""
    return [Segment(f"s{at}", digest=digest(f"text {at}"), bindings=(binding(f"pep-{at:04}"),)) for at in range(count)]


class Surface:
    """A client of one kind, asked as if it waited in a thread."""

    def __init__(self, kind: str, target: str, **settings: Any) -> None:
        self.kind = kind
        self._runner: asyncio.Runner | None = None
        self.client: Client | AsyncClient
        if kind == "threads":
            self.client = Client(target, **settings)
        else:
            self._runner = asyncio.Runner()
            self.client = AsyncClient(target, stream=kind == "stream", **settings)

    def ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """What a method of the client gives."""
        given = getattr(self.client, method)(*arguments, **options)
        return given if self._runner is None else self._runner.run(given)

    def commit(self, asked: Iterable[Segment], **options: Any) -> Any:
        return self.ask("commit", asked, PRINCIPAL, SESSION, ANSWER, **options)

    def retrieve(self, asked: Iterable[Segment], **options: Any) -> Any:
        return self.ask("retrieve", asked, PRINCIPAL, SESSION, **options)

    def replay(self, ledger_ids: Iterable[str], **options: Any) -> Any:
        return self.ask("replay", ledger_ids, PRINCIPAL, SESSION, **options)

    def filter(self, candidates: Iterable[Thing], key: Callable[[Thing], Binding], **options: Any) -> Filtered[Thing]:
        kept: Filtered[Thing] = self.ask(
            "filter", candidates, key=key, principal=PRINCIPAL, session_id=SESSION, **options
        )
        return kept

    def publishing(self, **options: Any) -> "Held":
        """A publishing context, entered and left by hand."""
        out = self.client.publishing(principal=PRINCIPAL, session_id=SESSION, answer_id=ANSWER, **options)
        return Held(out, self._runner)

    def close(self) -> None:
        self.ask("close")
        if self._runner is not None:
            self._runner.close()


class Held:
    """A publishing context of either client, driven from a plain test."""

    def __init__(self, out: Publishing | AsyncPublishing, runner: asyncio.Runner | None) -> None:
        self.out = out
        self.add = out.add
        self._runner = runner

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(self.out, Publishing):
            self.out.__exit__(kind, error, trace)
        elif self._runner is not None:
            self._runner.run(self.out.__aexit__(kind, error, trace))

    def committed(self) -> Iterator[Piece]:
        """The pieces, one at a time."""
        if isinstance(self.out, Publishing):
            yield from self.out.committed()
            return
        assert self._runner is not None
        pieces = self.out.committed()
        while (piece := self._runner.run(_next(pieces))) is not None:
            yield piece


async def _next(pieces: Any) -> Piece | None:
    found: Piece | None = await anext(pieces, None)
    return found
