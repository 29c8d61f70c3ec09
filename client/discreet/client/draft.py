"""An answer on its way out: text is held here until its commit, and then leaves whole, segment by segment.

The state that both publishing contexts share; it asks nobody itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from discreet.client.model import Binding, Claim, Segment, digest, texts
from discreet.client.result import Answer, Result
from discreet.client.words import Grounding, Reason, Verdict

# A verdict that ran out before its text was taken is asked for again so often.
ASKED_AGAIN_MAX = 1


@dataclass(frozen=True, slots=True)
class Piece:
    """One segment as it may be shown: its text, or the fixed text in its place."""

    segment_id: str
    text: str
    allowed: bool
    result: Result
    # It stands in the place of what was shown before a connection dropped and may no longer be shown.
    replaces: bool = False

    @property
    def verdict(self) -> Verdict:
        """What was decided; past its time an ALLOW is WITHHOLD here, too."""
        return self.result.verdict

    @property
    def reason(self) -> Reason:
        """Why it is not shown; NONE where it is."""
        return self.result.reason

    @property
    def purge(self) -> bool:
        """Whether the stored copy must be deleted: from an explicit retention revoke and from nothing else."""
        return self.result.purge

    @property
    def purge_order_id(self) -> str:
        """The order to delete the copy under, where there is one."""
        return self.result.purge_order_id

    @property
    def undecided(self) -> bool:
        """Whether it is held back since nothing could be decided: the sidecar failed, or the outcome is unknown."""
        return self.result.undecided

    @property
    def store_by(self) -> datetime | None:
        """When the time to store it ends; None where nothing was committed now."""
        return self.result.store_by

    @property
    def use_within_ms(self) -> int:
        """For how long after the question it may be shown; 0 unless it may."""
        return self.result.use_within_ms if self.allowed else 0

    def may_store(self, now: datetime | None = None) -> bool:
        """Whether its text may be stored at this instant, or then; never after `store_by`."""
        return self.allowed and self.result.may_store(now)

    @property
    def ledger_id(self) -> str:
        """What to ask for at REPLAY; empty where nothing was committed."""
        return self.result.ledger_id


@dataclass(slots=True)
class _Held:
    """A segment with its text, and the verdict once there is one."""

    segment: Segment
    text: str
    result: Result | None = None
    asked_again: int = 0


class Draft:
    """Segments in the order they were added; text comes out only as a Piece, after its verdict."""

    def __init__(self) -> None:
        self._held: list[_Held] = []
        self._left = 0
        self._closed = False
        self._failed = False

    def add(
        self,
        text: str,
        bindings: Iterable[Binding] = (),
        *,
        kind: str = "answer",
        grounding: Grounding = Grounding.BOUND,
        claim: Claim | None = None,
        segment_id: str = "",
        parents: Iterable[str] = (),
    ) -> str:
        """Holds a segment until the commit; returns its id (s1, s2, ... unless given).

        Talk that rests on no record is added with `grounding=Grounding.UNBOUND` and a kind that a rule of the policy
        allows so. `parents` are ledger ids of segments that this one was made from.
        """
        if self._closed:
            raise RuntimeError("this answer is closed; open another with publishing()")
        if not isinstance(text, str):
            raise TypeError(f"text is {type(text).__name__}; give str")
        chosen = segment_id or f"s{len(self._held) + 1}"
        if any(held.segment.id == chosen for held in self._held):
            raise ValueError("segment_id was used before in this answer; ids are unique within an answer")
        segment = Segment(chosen, kind, digest(text), grounding, tuple(bindings), claim, texts("parents", parents))
        self._held.append(_Held(segment, text))
        return chosen

    @property
    def results(self) -> tuple[Result, ...]:
        """The verdicts so far."""
        return tuple(held.result for held in self._held if held.result is not None)

    def close(self, *, failed: bool) -> None:
        """Takes no more segments; where it failed, nothing that has not left yet ever leaves."""
        self._closed = True
        self._failed = failed
        if failed:
            self._held.clear()
            self._left = 0

    def uncommitted(self) -> tuple[Segment, ...]:
        """What a commit must ask about next; refuses a failed answer, nothing of which leaves."""
        if self._failed:
            raise RuntimeError("this answer ended with an error; nothing more of it is published")
        return tuple(held.segment for held in self._held if held.result is None)

    def expired(self) -> tuple[Segment, ...]:
        """What to ask about again before the next piece: all that has not left, if the next one's verdict ran out.

        Each piece asks at most ASKED_AGAIN_MAX times; a server whose verdicts run out on the way withholds.
        """
        waiting = self._held[self._left :]
        if not waiting or waiting[0].asked_again >= ASKED_AGAIN_MAX:
            return ()
        result = waiting[0].result
        if result is None or not result.expired():
            return ()
        waiting[0].asked_again += 1
        return tuple(held.segment for held in waiting)

    def accept(self, answer: Answer) -> None:
        """Keeps the verdicts of a commit."""
        found = {result.segment_id: result for result in answer}
        for held in self._held:
            held.result = found.get(held.segment.id, held.result)

    @property
    def waiting(self) -> bool:
        """Whether a segment with a verdict has not left yet."""
        return self._left < len(self._held) and self._held[self._left].result is not None

    def take(self) -> Piece:
        """The next piece, which leaves with this; its verdict is counted at this instant."""
        held = self._held[self._left]
        if held.result is None:
            raise RuntimeError("the next segment has no verdict; commit first")
        self._left += 1
        return piece_of(held.segment.id, held.text, held.result.now())


def piece_of(segment_id: str, text: str, result: Result, *, replaces: bool = False) -> Piece:
    """The text where it may be shown at this instant, else the fixed text."""
    allowed = result.allowed
    return Piece(segment_id, text if allowed else result.text, allowed, result, replaces)
