"""The guard of a streamed answer: text is held back in segments, and each leaves only after its commit.

For code that waits in threads; its twin for asyncio is in `guard_aio`. What both share is here and in the modules that
hold, cut and resume. A piece that is handed out is as the reader may see it: its text, or the fixed text in its place.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from secrets import token_hex
from types import TracebackType
from typing import Self

from discreet.client.cutting import SEGMENT_CHARS_MAX, Cut, Cutter, Item, Splitter, by_sentence
from discreet.client.draft import Piece
from discreet.client.holding import Asks, Holding, Limits, Undecided
from discreet.client.model import Binding, Segment
from discreet.client.reporting import Reported, Shown
from discreet.client.result import Answer
from discreet.client.resuming import Owner, Repeat, Steps, Stored, position, resumption


@dataclass(frozen=True, slots=True)
class Cutting:
    """How a guard cuts text and how much of it it holds."""

    splitter: Splitter = by_sentence
    chars_max: int = SEGMENT_CHARS_MAX
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        if self.chars_max < 1:
            raise ValueError("chars_max is below 1; a segment has at least one character")


BY_SENTENCE = Cutting()


class Answering:
    """What a guard knows of its answer, whatever it waits with."""

    def __init__(self, owner: Owner, cutting: Cutting) -> None:
        if not isinstance(cutting, Cutting):
            raise TypeError(f"cutting is {type(cutting).__name__}; give Cutting, for example Cutting(by_paragraph)")
        self._owner = owner
        self._cutting = cutting
        self._undecided = Undecided()
        self._ids: set[str] = set()
        self._shown = Shown()

    @property
    def undecided(self) -> tuple[str, ...]:
        """The segments that were held back since nothing could be decided, and whose text this guard still has.

        `resume` asks about them again, for as long as the service keeps the guard.
        """
        return tuple(self._undecided.held)

    def shown(self, piece: Piece) -> None:
        """Notes that a piece was put before its reader (its bytes were written); `report` says it to the server."""
        self._shown.note(piece)

    def stored(self, piece: Piece) -> Stored | None:
        """The row to keep of a piece, written over an earlier one; None: what is stored stays as it is.

        It has the text only while that may be stored, and none after a purge: writing it deletes the copy.
        """
        return self._owner.row(piece)

    def follows(self, rows: Sequence[Stored], after: str = "") -> bool:
        """Whether this reader may go on with the answer: every row is its own, and `after` is one of them or empty."""
        return all(map(self._owner.owns, rows)) and position(rows, self._owner, after) is not None

    def _flow(self, bindings: Iterable[Binding]) -> "Flow":
        cutter = Cutter(self._cutting.splitter, bindings=bindings, chars_max=self._cutting.chars_max)
        return Flow(cutter, Holding(self._cutting.limits, self._undecided), self._name)

    def _resumption(self, rows: Iterable[Stored], after: str, *, notices: bool) -> Steps:
        return resumption(rows, self._owner, self._undecided, after, notices=notices)

    def _name(self, chosen: str) -> str:
        """The id of the next segment: the one chosen, else one that nobody guesses, since who resumes names it."""
        segment_id = chosen or f"s{len(self._ids) + 1}-{token_hex(8)}"
        if segment_id in self._ids:
            raise ValueError("segment_id was used before in this answer; ids are unique within an answer")
        self._ids.add(segment_id)
        return segment_id


class Flow:
    """One stream of text on its way from the cutter through the hold."""

    def __init__(self, cutter: Cutter, holding: Holding, name: Callable[[str], str]) -> None:
        self.holding = holding
        self._cutter = cutter
        self._name = name

    def feed(self, item: Item) -> None:
        """Takes a bit of text in, or the end of a segment."""
        self._hold(self._cutter.feed(item))

    def finish(self) -> None:
        """Ends the last segment."""
        self._hold(self._cutter.finish())

    def clear(self) -> None:
        """Forgets everything that has not left: it never does."""
        self._cutter.clear()
        self.holding.clear()

    def _hold(self, cuts: Iterable[Cut]) -> None:
        for cut in cuts:
            self.holding.hold(self._name(cut.segment_id), cut)


class Guard(Answering):
    """Guards one streamed answer; made by `Client.guard`. Not for use by two threads at once."""

    def __init__(
        self,
        owner: Owner,
        cutting: Cutting,
        commit: Callable[[tuple[Segment, ...]], Answer],
        replay: Callable[[tuple[str, ...]], Answer],
        report: Callable[[tuple[str, ...]], Reported],
    ) -> None:
        super().__init__(owner, cutting)
        self._commit = commit
        self._replay = replay
        self._report = report

    def stream(self, items: Iterable[Item], *, bindings: Iterable[Binding] = ()) -> "HeldStream":
        """A context in which to iterate over the pieces of a stream of generated text.

        `bindings` are added to those of every bound segment. Nothing is read ahead: text is taken from `items` when no
        segment waits, and the segments that one item ends are committed together.
        """
        return HeldStream(self._flow(bindings), items, self._commit)

    def resume(self, rows: Iterable[Stored], *, after: str = "", notices: bool = False) -> Iterator[Piece]:
        """The stored segments after the one that was shown last, each with its text only if it may be shown now.

        `after` names a segment; empty: all are shown again. Where it names none of this answer, nothing comes, and of
        rows of another principal, session or answer nothing comes either. With `notices`, segments of before come too
        where they may no longer be shown or were undecided, as pieces that replace them. A PURGE says: delete the
        stored copy.
        """
        steps = self._resumption(rows, after, notices=notices)
        answer: Answer | None = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration:
                return
            answer = None
            if isinstance(step, Piece):
                yield step
            else:
                answer = self._commit(step.segments) if isinstance(step, Repeat) else self._replay(step.ledger_ids)

    def report(self) -> Reported:
        """Says which pieces were shown, all that were noted since; what could not be said is kept for the next time."""
        ledger_ids = self._shown.ledger_ids
        reported = self._report(ledger_ids) if ledger_ids else Reported()
        self._shown.settle(reported)
        return reported


class HeldStream:
    """The pieces of one stream, in order; iterate inside `with`.

    An error of the text's source ends it, and what has not left never does. So does leaving early.
    """

    def __init__(self, flow: Flow, items: Iterable[Item], commit: Callable[[tuple[Segment, ...]], Answer]) -> None:
        self._flow = flow
        self._items = iter(items)
        self._commit = commit
        self._entered = False
        self._ended = False

    def __enter__(self) -> Self:
        if self._entered:
            raise RuntimeError("this stream was entered before; open another with stream()")
        self._entered = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended = True
        self._flow.clear()
        close = getattr(self._items, "close", None)
        if close is not None:
            close()

    def __iter__(self) -> Iterator[Piece]:
        return self

    def __next__(self) -> Piece:
        """The next piece, after its commit."""
        if not self._entered:
            raise RuntimeError("iterate inside `with`, so that nothing is left behind")
        holding = self._flow.holding
        while not holding.ready:
            uncommitted = holding.uncommitted()
            if uncommitted:
                self._drive(holding.asks(uncommitted))
            elif self._ended:
                raise StopIteration
            else:
                self._read()
        expired = holding.expired()
        if expired:
            self._drive(holding.asks(expired))
        return holding.take()

    def _read(self) -> None:
        """Takes one item of text in; an error of its source is the consumer's to see, and nothing leaves after it."""
        try:
            for item in self._items:
                self._flow.feed(item)
                return
            self._ended = True
            self._flow.finish()
        except BaseException:
            self._ended = True
            self._flow.clear()
            raise

    def _drive(self, asks: Asks) -> None:
        segments = next(asks, None)
        while segments is not None:
            try:
                segments = asks.send(self._commit(segments))
            except StopIteration:
                return
