"""Comments and empty lines: found in a text, and tied to the element that they stand at."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from discreet.policy.fmt.layout import Box, Element, Leaf, Page, Way, leaves, ways

_COMMENT: Final = re.compile(r"(?:(?<=\s)|\A)#[^\n]*")
_BLOCK_HEADER: Final = re.compile(r"[|>][-+0-9]*")


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment from its # to the end of its line. `own`: nothing but space stands before it on its line."""

    offset: int
    column: int
    text: str
    own: bool


def comments_of(text: str, pages: Sequence[Page]) -> list[Comment]:
    """Returns every comment of a text, in its order. What lies inside a scalar is none."""
    found: list[Comment] = []
    position = 0
    for leaf in [leaf for page in pages for leaf in leaves(page.root)]:
        found += _between(text, position, leaf.start)
        position = leaf.end
        if leaf.style in ("|", ">"):
            header = _BLOCK_HEADER.match(text, leaf.start)
            line_end = _line_end(text, leaf.start)
            found += _between(text, header.end() if header else leaf.start, line_end)
            position = max(position, line_end)
    return [*found, *_between(text, position, len(text))]


def _between(text: str, start: int, end: int) -> list[Comment]:
    found = []
    for match in _COMMENT.finditer(text, start, end):
        line = text.rfind("\n", 0, match.start()) + 1
        before = text[line : match.start()]
        found.append(Comment(match.start(), len(before), match.group().rstrip(), not before.strip()))
    return found


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def placed(text: str, pages: list[Page], comments: list[Comment]) -> None:
    """Ties every comment, and an empty line above a comment or an element, to its element, box or page."""
    starts = [page.start for page in pages]
    at = [bisect_right(starts, comment.offset) - 1 for comment in comments]
    for number, page in enumerate(pages):
        mine = [comment for comment, where in zip(comments, at, strict=True) if max(where, 0) == number]
        _Placing(text, page).run(mine)


class _Placing:
    """The elements of one page in the order of the text, and what is tied to them."""

    def __init__(self, text: str, page: Page) -> None:
        self.text = text
        self.page = page
        self.ways = list(ways(page.root))
        self.starts = [way.element.start for way in self.ways]

    def run(self, comments: list[Comment]) -> None:
        """Ties the comments of the page, then the empty lines above elements."""
        for comment in comments:
            before = bisect_right(self.starts, comment.offset)
            if comment.own or not self._trails(comment, before):
                self._above_or_below(comment, before)
        seen: set[int] = set()
        for way in self.ways:
            line = self._line(way.element.start)
            if line not in seen and self._empty_above(line):
                first = way is self.ways[0]
                (self.page.head if first else way.element.before).append("")
            seen.add(line)

    def _trails(self, comment: Comment, before: int) -> bool:
        """Ties a comment to the element that ends on its line, if there is one."""
        if not before:
            return False
        way = self.ways[before - 1]
        element, boxes, holders = way.element, list(way.boxes), list(way.holders)
        while holders and boxes[-1].flow and boxes[-1].end <= comment.offset:
            element = holders.pop()
            boxes.pop()
        lines = {self._line(offset) for offset in _ends(element, comment.offset)}
        if element.trailing or self._line(comment.offset) not in lines:
            return False
        element.trailing = comment.text
        return True

    def _above_or_below(self, comment: Comment, before: int) -> None:
        lines = ["", comment.text] if self._empty_above(self._line(comment.offset)) else [comment.text]
        last = self.ways[before - 1] if before else None
        following = self.ways[before] if before < len(self.ways) else None
        if last is None:
            self.page.head += lines
        elif isinstance(last.element.value, Leaf) and last.element.value.end > comment.offset:
            last.element.before += lines
        else:
            box = self._ending(last, following, comment)
            if box is None and following is not None:
                following.element.before += lines
            else:
                (box or self.page.root).foot += lines

    def _ending(self, last: Way, following: Way | None, comment: Comment) -> Box | None:
        """Returns the box at whose end a comment stands: one in brackets that is open, or else one that is further in.

        The innermost that ends before what follows, and whose elements are no further in than the comment.
        """
        value = last.element.value
        around = (*last.boxes, value) if isinstance(value, Box) else last.boxes
        opened = [box for box in around if box.flow and box.end > comment.offset]
        if opened:
            return None if following is not None and opened[-1] in following.boxes else opened[-1]
        kept = len(following.boxes) if following is not None else 1
        if following is not None and comment.column <= self._column(following.boxes[-1].start):
            return None
        ending = [box for box in last.boxes[kept:] if not box.flow and self._column(box.start) <= comment.column]
        return ending[-1] if ending else None

    def _line(self, offset: int) -> int:
        """Returns where the line of an offset begins."""
        return self.text.rfind("\n", 0, offset) + 1

    def _column(self, offset: int) -> int:
        return offset - self._line(offset)

    def _empty_above(self, line: int) -> bool:
        return line > 0 and not self.text[self._line(line - 1) : line - 1].strip()


def _ends(element: Element, before: int) -> Iterator[int]:
    """Yields the offsets at which an element, or the part of it that stands before a comment, may end a line."""
    if element.key is not None:
        yield element.key.end - 1
    value = element.value
    if isinstance(value, Leaf) and value.style in ("|", ">"):
        yield value.start
    elif value.end <= before and (isinstance(value, Leaf) or value.flow):
        yield value.end - 1
    elif isinstance(value, Box) and value.flow:
        yield value.start
