"""Shows stored segments again: what to ask about them, and what of them a reader gets. It asks nobody itself.

**Invariant:** stored text comes out only with a fresh ALLOW for the principal and session that it was published to.
"""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from discreet.client.draft import Piece, piece_of
from discreet.client.holding import Undecided
from discreet.client.model import Segment, members, text_field
from discreet.client.result import Answer, Result
from discreet.client.texts import LOCALES
from discreet.client.words import Gate, Moment, Reason, Verdict

# Stored segments that are asked about together.
RESUME_TOGETHER_MAX = 64


@dataclass(frozen=True, slots=True)
class Stored:
    """A segment as a service keeps it: whose it is, its ledger id and text, and the fixed text shown in its place.

    Without a ledger id there is no text: nothing was committed, or nobody knows. Built from a row: `Stored(*row)`.
    """

    principal_id: str
    session_id: str
    answer_id: str
    segment_id: str
    ledger_id: str = ""
    text: str = ""
    disclosure: str = ""

    def __post_init__(self) -> None:
        for name in ("principal_id", "session_id", "answer_id", "segment_id"):
            text_field("Stored", name, getattr(self, name), required=True)
        for name in ("ledger_id", "text", "disclosure"):
            text_field("Stored", name, getattr(self, name))
        if self.text and not self.ledger_id:
            raise ValueError("Stored.text without a ledger id; text that is not in the ledger may not be stored")


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose answer it is."""

    principal_id: str
    session_id: str
    answer_id: str
    locale: str = LOCALES[0]

    def owns(self, row: Stored) -> bool:
        """Whether the row belongs to this answer of this principal in this session."""
        return (row.principal_id, row.session_id, row.answer_id) == (self.principal_id, self.session_id, self.answer_id)

    def row(self, piece: Piece) -> Stored | None:
        """What to keep of a piece: its text only while it may be stored, none after a purge; None: nothing changes."""
        if piece.result.moment is Moment.REPLAY and not piece.purge:
            return None
        return Stored(
            self.principal_id,
            self.session_id,
            self.answer_id,
            piece.segment_id,
            piece.ledger_id,
            text=piece.text if piece.may_store() else "",
            disclosure="" if piece.allowed else piece.text,
        )


@dataclass(frozen=True, slots=True)
class Replay:
    """Ask about these ledger ids at REPLAY."""

    ledger_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Ask for the commit of these segments again."""

    segments: tuple[Segment, ...]


# Questions are answered with what they gave, pieces with nothing.
Steps: TypeAlias = Generator[Replay | Repeat | Piece, Answer | None, None]


def position(rows: Sequence[Stored], owner: Owner, after: str) -> int | None:
    """How many of the rows were shown up to the segment `after`; None where that is no segment of the owner's rows."""
    if not after:
        return 0
    places = [at for at, row in enumerate(rows) if row.segment_id == after and owner.owns(row)]
    return places[-1] + 1 if places else None


def resumption(rows: Iterable[Stored], owner: Owner, undecided: Undecided, after: str, *, notices: bool) -> Steps:
    """The steps of showing rows again after a segment that was shown last.

    Rows of another principal, session or answer are asked about, so that the audit has it, and give no piece; nor does
    anything where `after` is no segment of this answer. With `notices`, rows shown before give a piece where the reader
    should see something else now: text that may no longer be shown, and what was undecided and is decided.
    """
    found = members("rows", rows, Stored)
    yield from _told_to_the_audit([row for row in found if not owner.owns(row)])
    shown = position(found, owner, after)
    if shown is None:
        return
    mine = [(row, at < shown) for at, row in enumerate(found) if owner.owns(row) and (notices or at >= shown)]
    for start in range(0, len(mine), RESUME_TOGETHER_MAX):
        yield from _together(mine[start : start + RESUME_TOGETHER_MAX], undecided, owner.locale)


def _told_to_the_audit(foreign: Sequence[Stored]) -> Steps:
    ledger_ids = tuple(dict.fromkeys(row.ledger_id for row in foreign if row.ledger_id))
    if ledger_ids:
        yield Replay(ledger_ids)


def _together(part: Sequence[tuple[Stored, bool]], undecided: Undecided, locale: str) -> Steps:
    rows = [row for row, _ in part]
    results = yield from _asked(rows, undecided, locale)
    for at, (row, before) in enumerate(part):
        if results[at].expired():
            results[at:] = yield from _asked(rows[at:], undecided, locale)
        was_text, was_undecided = bool(row.ledger_id), row.segment_id in undecided.held
        piece = _piece(row, results[at].now(), undecided, locale, before=before)
        differs = (was_text and not piece.allowed) or (not was_text and was_undecided)
        if not before or (differs and not piece.undecided):
            yield piece


def _asked(
    rows: Sequence[Stored], undecided: Undecided, locale: str
) -> Generator[Replay | Repeat | Piece, Answer | None, list[Result]]:
    """A fresh result for each row, in their order."""
    results = {at: _nothing_stored(row, locale) for at, row in enumerate(rows)}
    ledger_ids = tuple(dict.fromkeys(row.ledger_id for row in rows if row.ledger_id))
    if ledger_ids:
        answer = yield Replay(ledger_ids)
        fresh = {result.segment_id: result for result in answer or ()}
        for at, row in enumerate(rows):
            if row.ledger_id:
                results[at] = replace(fresh[row.ledger_id], segment_id=row.segment_id, ledger_id=row.ledger_id)
    # One at a time: a call is refused whole for one faulty segment in it.
    for at, segment in _held(rows, undecided):
        answer = yield Repeat((segment,))
        results[at] = next(iter(answer or ()), results[at])
    return [results[at] for at in range(len(rows))]


def _held(rows: Sequence[Stored], undecided: Undecided) -> list[tuple[int, Segment]]:
    """The segments without a ledger id whose text the guard still has, with their places."""
    return [
        (at, undecided.held[row.segment_id][0])
        for at, row in enumerate(rows)
        if not row.ledger_id and row.segment_id in undecided.held
    ]


def _piece(row: Stored, result: Result, undecided: Undecided, locale: str, *, before: bool) -> Piece:
    text = row.text
    if not row.ledger_id and row.segment_id in undecided.held:
        text = undecided.held[row.segment_id][1]
        if not result.undecided:
            undecided.forget(row.segment_id)
    if not text and result.allowed:
        result = _nothing_stored(row, locale)
    return piece_of(row.segment_id, text, result, replaces=before)


def _nothing_stored(row: Stored, locale: str) -> Result:
    """What is said of a row that has no text: the fixed text that it was shown with."""
    return Result(
        row.segment_id,
        verdict=Verdict.WITHHOLD,
        reason=Reason.NOT_AVAILABLE,
        gate=Gate.AVAILABILITY,
        moment=Moment.REPLAY,
        disclosure=row.disclosure,
        ledger_id=row.ledger_id,
        locale=locale,
    )
