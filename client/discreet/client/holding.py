"""What a guard holds back: finished segments in order, each until its verdict; and what it keeps for a resume.

**Invariant:** text comes out of here only with an ALLOW of a commit that counts at that instant. The text of a refused
segment is forgotten with its verdict. The state that both guards share; it asks nobody itself.
"""

from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from discreet.client.cutting import Cut
from discreet.client.draft import ASKED_AGAIN_MAX, Piece, piece_of
from discreet.client.model import Segment, digest
from discreet.client.result import REFUSED_FOR_GOOD, Answer, Result

# What a guard reads ahead of its consumer, open segment and the bit at hand apart.
AHEAD_SEGMENTS_MAX = 16
AHEAD_BYTES_MAX = 64 * 1024
# What a guard keeps of segments whose outcome is unknown, for a resume; of more, the oldest are forgotten.
UNDECIDED_SEGMENTS_MAX = 64
UNDECIDED_BYTES_MAX = 256 * 1024
# Commits to ask for, one after another; answered with what the commit gave.
Asks: TypeAlias = Generator[tuple[Segment, ...], Answer, None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a guard reads ahead; the open segment and the bit at hand come on top."""

    segments_max: int = AHEAD_SEGMENTS_MAX
    bytes_max: int = AHEAD_BYTES_MAX

    def __post_init__(self) -> None:
        for name in ("segments_max", "bytes_max"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is below 1; a guard must hold at least one segment")


@dataclass(slots=True)
class _Held:
    """A segment with its text, and the verdict once there is one."""

    segment: Segment
    text: str = field(repr=False)
    size: int
    result: Result | None = None
    asked_again: int = 0


@dataclass(slots=True)
class Undecided:
    """Segments that were shown as fixed texts since nothing could be decided, with their texts. One a guard."""

    held: dict[str, tuple[Segment, str]] = field(default_factory=dict, repr=False)
    size: int = 0

    def keep(self, segment: Segment, text: str) -> None:
        """Keeps a segment within the limits."""
        self.forget(segment.id)
        self.held[segment.id] = (segment, text)
        self.size += len(text.encode())
        while len(self.held) > UNDECIDED_SEGMENTS_MAX or self.size > UNDECIDED_BYTES_MAX:
            self.forget(next(iter(self.held)))

    def forget(self, segment_id: str) -> None:
        """Forgets a segment, if it is kept."""
        found = self.held.pop(segment_id, None)
        if found is not None:
            self.size -= len(found[1].encode())


class Holding:
    """Finished segments of one stream, first in first out."""

    def __init__(self, limits: Limits, undecided: Undecided) -> None:
        self._limits = limits
        self._undecided = undecided
        self._held: deque[_Held] = deque()
        self._size = 0

    @property
    def has_room(self) -> bool:
        """Whether more may be read before something leaves."""
        return len(self._held) < self._limits.segments_max and self._size < self._limits.bytes_max

    @property
    def ready(self) -> bool:
        """Whether the next segment has a verdict."""
        return bool(self._held) and self._held[0].result is not None

    def hold(self, segment_id: str, cut: Cut) -> None:
        """Takes a segment in."""
        segment = Segment(segment_id, cut.kind, digest(cut.text), cut.grounding, cut.bindings, cut.claim, cut.parents)
        size = len(cut.text.encode())
        self._held.append(_Held(segment, cut.text, size))
        self._size += size

    def uncommitted(self) -> tuple[Segment, ...]:
        """What to ask about next: all that has no verdict."""
        return tuple(held.segment for held in self._held if held.result is None)

    def expired(self) -> tuple[Segment, ...]:
        """What to ask about again before the next piece, if its verdict ran out: all whose verdicts did.

        Each piece asks at most ASKED_AGAIN_MAX times; a server whose verdicts run out on the way withholds.
        """
        if not self._held or self._held[0].asked_again >= ASKED_AGAIN_MAX or not _ran_out(self._held[0]):
            return ()
        self._held[0].asked_again += 1
        return tuple(held.segment for held in self._held if _ran_out(held))

    def asks(self, segments: tuple[Segment, ...]) -> Asks:
        """The commits to ask for, so that a segment that makes a whole call fail falls alone."""
        answer = yield segments
        alone = [result.segment_id for result in answer if _refused_with_the_call(result)]
        if len(segments) == 1 or not alone:
            self._accept(answer)
            return
        self._accept(answer, but=frozenset(alone))
        for segment in segments:
            if segment.id in alone:
                self._accept((yield (segment,)))

    def take(self) -> Piece:
        """The next piece, which leaves with this; its verdict is counted at this instant."""
        held = self._held[0]
        if held.result is None:
            raise RuntimeError("the next segment has no verdict; commit first")
        self._held.popleft()
        self._size -= held.size
        piece = piece_of(held.segment.id, held.text, held.result.now())
        if piece.undecided:
            self._undecided.keep(held.segment, held.text)
        return piece

    def clear(self) -> None:
        """Forgets everything that has not left: it never does."""
        self._held.clear()
        self._size = 0

    def _accept(self, answer: Answer, but: frozenset[str] = frozenset()) -> None:
        found = {result.segment_id: result for result in answer if result.segment_id not in but}
        for held in self._held:
            held.result = found.get(held.segment.id, held.result)
            if held.result is not None and not held.result.permits and not held.result.undecided:
                held.text = ""


def _ran_out(held: _Held) -> bool:
    return held.result is not None and held.result.expired()


def _refused_with_the_call(result: Result) -> bool:
    """A call is refused whole for one faulty segment in it; the others are asked about alone then."""
    return result.error is not None and result.error.code in REFUSED_FOR_GOOD
