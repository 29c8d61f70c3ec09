"""Cuts a stream of generated text into segments, each with what the agent declared for the text in it.

A splitter that the caller chooses says where a segment ends; the agent may end one itself at any time. No cut falls
inside a character as readers see it. This module knows no verdict and asks nobody.
"""

import codecs
import re
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from discreet.client.graphemes import may_cut
from discreet.client.model import Binding, Claim, members, text_field, texts
from discreet.client.words import Grounding

# Past this many characters a segment is cut, or refused where the agent alone may end one.
SEGMENT_CHARS_MAX = 4_000

# Gives how many characters of the text the first segment in it has; 0: the text at hand has no end of one yet. What
# follows the end must be in the text, too: the next bit may belong to the last character.
Splitter: TypeAlias = Callable[[str], int]

# Each begins where a run of its characters does, and nowhere inside one: a long run is looked at once.
_EMPTY_LINE = r"(?<!\s)(?=\s*?\n[ \t]*\n)\s++(?=\S)"
_PARAGRAPH = re.compile(_EMPTY_LINE)
# An end of a sentence is followed by a space; a full stop after a digit or a single letter (1. 3.5 e.g.) is none.
_STOP = r"(?<!\d)(?<!\b\w)\."
_SENTENCE = re.compile(
    rf"(?<![!?…])(?<!{_STOP})(?:[!?…]|{_STOP})++[\"'”’»)\]]*+\s++(?=\S)"
    rf"|(?<![。！？…])[。！？…]++[”’」』）】\"']*+\s*+(?=\S)|{_EMPTY_LINE}"
)
_LAST_SPACE = re.compile(r".*\S\s+(?=\S)", re.DOTALL)


def by_agent(text: str) -> int:
    """No end anywhere: segments end where the agent says so, with `End`, and nowhere else."""
    del text
    return 0


def by_paragraph(text: str) -> int:
    """The end of the first paragraph: after an empty line.

    >>> by_paragraph("One.{0}{0}Two".format(chr(10)))
    6
    """
    found = _PARAGRAPH.search(text)
    return 0 if found is None else found.end()


def by_sentence(text: str) -> int:
    """The end of the first sentence, with the spaces after it; Chinese and Japanese full stops need no space.

    It may take two sentences for one, never a part for less than a whole: what a segment is matters to nobody else.

    >>> by_sentence("It rose by 3.5 % in 2024. Then it fell. So"), by_sentence("利率上升。然后")
    (40, 5)
    """
    found = _SENTENCE.search(text)
    return 0 if found is None else found.end()


@dataclass(frozen=True, slots=True)
class Delta:
    """A bit of generated text, with the bindings that it rests on.

    A segment rests on the bindings and parents (ledger ids of what it was made from) of every bit that it has text of.
    Bits of another kind, grounding or claim than the one before begin a segment of their own. Bytes are UTF-8 and may
    be cut anywhere. Plain text stands for a bit without bindings.
    """

    text: str | bytes
    bindings: tuple[Binding, ...] = ()
    kind: str = "answer"
    grounding: Grounding = Grounding.BOUND
    claim: Claim | None = None
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.text, str | bytes):
            raise TypeError(f"Delta.text is {type(self.text).__name__}; give str or bytes")
        text_field("Delta", "kind", self.kind, required=True)
        object.__setattr__(self, "bindings", members("Delta.bindings", self.bindings, Binding))
        object.__setattr__(self, "parents", texts("Delta.parents", self.parents))
        if self.grounding is Grounding.UNBOUND and (self.bindings or self.parents):
            raise ValueError("Delta.bindings and parents of UNBOUND text must be empty; text with some is BOUND")


@dataclass(frozen=True, slots=True)
class End:
    """The end of a segment, said by the agent: more that it rests on, and an id where it has one."""

    bindings: tuple[Binding, ...] = ()
    segment_id: str = ""
    parents: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        text_field("End", "segment_id", self.segment_id)
        object.__setattr__(self, "bindings", members("End.bindings", self.bindings, Binding))
        object.__setattr__(self, "parents", texts("End.parents", self.parents))


# What a stream of generated text consists of.
Item: TypeAlias = str | bytes | Delta | End


@dataclass(frozen=True, slots=True)
class Cut:
    """One segment's text, with what it rests on."""

    text: str
    bindings: tuple[Binding, ...]
    kind: str
    grounding: Grounding
    claim: Claim | None
    segment_id: str = ""
    parents: tuple[str, ...] = ()


class Cutter:
    """Takes bits of text and gives segments; what has no end yet is kept here.

    Segments of nothing but white space are left out. Raises ValueError for text that is no UTF-8, and for a segment
    over the limit that cannot be cut.
    """

    def __init__(
        self, splitter: Splitter = by_sentence, *, bindings: Iterable[Binding] = (), chars_max: int = SEGMENT_CHARS_MAX
    ) -> None:
        self._splitter = splitter
        self._always = members("bindings", bindings, Binding)
        self._chars_max = chars_max
        # Text without an end begins at `_at`; what stands before it has gone.
        self._open = ""
        self._at = 0
        # How many characters of the open text came with which bit, in order.
        self._bits: deque[tuple[int, Delta]] = deque()
        self._bytes = codecs.getincrementaldecoder("utf-8")()

    def feed(self, item: Item) -> list[Cut]:
        """The segments that the item ends."""
        if isinstance(item, End):
            self._whole()
            return self._rest(item)
        bit = item if isinstance(item, Delta) else Delta(item)
        ended = [] if self._continues(bit) else self._rest(End())
        text = self._text(bit)
        if text:
            self._open, self._at = self._open[self._at :] + text, 0
            self._bits.append((len(text), bit))
        return [*ended, *self._finished()]

    def finish(self) -> list[Cut]:
        """The last segment, when there is no more text."""
        self._whole()
        return self._rest(End())

    def clear(self) -> None:
        """Forgets the text that has no end yet."""
        self._open, self._at = "", 0
        self._bits.clear()
        self._bytes.reset()

    def _text(self, bit: Delta) -> str:
        if isinstance(bit.text, bytes):
            return self._bytes.decode(bit.text)
        self._whole()
        try:
            bit.text.encode()
        except UnicodeEncodeError:
            raise ValueError("text holds half a character (a lone surrogate); join the halves before") from None
        return bit.text

    def _whole(self) -> None:
        """Refuses an end in the middle of a character's bytes."""
        if self._bytes.getstate()[0]:
            raise ValueError("text ends in the middle of a character's bytes; send the rest of them first")

    def _continues(self, bit: Delta) -> bool:
        if not self._bits:
            return True
        last = self._bits[-1][1]
        return (bit.kind, bit.grounding, bit.claim) == (last.kind, last.grounding, last.claim)

    def _finished(self) -> list[Cut]:
        found = []
        while at := self._end():
            found.append(self._cut(at, End()))
        return [cut for cut in found if not cut.text.isspace()]

    def _end(self) -> int:
        """Where the first segment of the open text ends; 0: not yet."""
        window = self._open[self._at : self._at + self._chars_max + 1]
        at = self._splitter(window)
        if not 0 <= at <= len(window):
            raise ValueError("the splitter gave a place outside the text; it gives 0 where there is no end yet")
        if at < len(window) and (at := _before(window, at)):
            return at
        if len(window) <= self._chars_max:
            return 0
        if self._splitter is by_agent:
            raise ValueError(f"a segment is longer than {self._chars_max} characters; end it earlier with End()")
        space = _LAST_SPACE.match(window)
        at = _before(window, space.end() if space else self._chars_max) or _before(window, self._chars_max)
        if not at:
            raise ValueError(f"a single character is longer than {self._chars_max} code points")
        return at

    def _rest(self, end: End) -> list[Cut]:
        if self._at == len(self._open):
            return []
        cut = self._cut(len(self._open) - self._at, end)
        return [] if cut.text.isspace() else [cut]

    def _cut(self, at: int, end: End) -> Cut:
        """Takes the first characters off the open text."""
        text = self._open[self._at : self._at + at]
        self._at += at
        first = self._bits[0][1]
        bound = first.grounding is Grounding.BOUND
        rests_on = [*self._always, *end.bindings] if bound else []
        parents = [*end.parents] if bound else []
        while at:
            length, bit = self._bits.popleft()
            rests_on.extend(bit.bindings)
            parents.extend(bit.parents)
            if length > at:
                self._bits.appendleft((length - at, bit))
            at -= min(at, length)
        once = tuple(dict.fromkeys(parents))
        return Cut(text, _each_once(rests_on), first.kind, first.grounding, first.claim, end.segment_id, once)


def _before(text: str, at: int) -> int:
    """The last place up to `at`, inside the text, where it may be cut; 0: there is none."""
    at = min(at, len(text) - 1)
    while at > 0 and not may_cut(text, at):
        at -= 1
    return max(at, 0)


def _each_once(bindings: Iterable[Binding]) -> tuple[Binding, ...]:
    """The bindings in order; of those that differ in the retrieval alone, the last.

    Two that say different things of one record are both kept: which is right is not known here, and the server refuses.
    """
    return tuple({replace(binding, granted_under="", receipt=""): binding for binding in bindings}.values())
