"""How a file lies on the page: boxes and leaves with their spans and styles, to be laid out again.

Knows nothing of what they mean. The text has been read without problems before: no anchors, tags or aliases.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml


@dataclass(slots=True)
class Leaf:
    """A single value; `style` is one of "", ', ", | and >."""

    start: int
    end: int
    style: str
    value: str


@dataclass(slots=True)
class Element:
    """An item of a list, or an entry of a mapping. `before`: comment lines above it, "" for an empty one."""

    key: Leaf | None
    value: Leaf | Box
    before: list[str] = field(default_factory=list)
    trailing: str = ""

    @property
    def start(self) -> int:
        """Where it begins; for an item, behind its dash."""
        return self.value.start if self.key is None else self.key.start


@dataclass(slots=True)
class Box:
    """A list or a mapping; `flow`: written in brackets. `foot`: comment lines below its last element."""

    start: int
    end: int
    mapping: bool
    flow: bool
    elements: list[Element] = field(default_factory=list)
    foot: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Page:
    """One document: the comments above its first element, and its root. `start`: where its `---` stands."""

    start: int
    root: Box
    head: list[str] = field(default_factory=list)


def documents_of(text: str) -> list[Page]:
    """Returns the documents of a text that has been read without problems."""
    pages: list[Page] = []
    open_boxes: list[Box] = []
    keys: list[Leaf | None] = []
    start = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        begin, end = _span(event)
        if isinstance(event, yaml.DocumentStartEvent):
            start = begin if pages else 0
        elif isinstance(event, yaml.ScalarEvent):
            _add(open_boxes, keys, Leaf(begin, end, event.style or "", str(event.value)))
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            mapping = isinstance(event, yaml.MappingStartEvent)
            box = Box(begin, end, mapping, bool(event.flow_style))
            if open_boxes:
                _add(open_boxes, keys, box)
            else:
                pages.append(Page(start, box))
            open_boxes.append(box)
            keys.append(None)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            open_boxes.pop().end = end
            keys.pop()
    return pages


def _add(open_boxes: list[Box], keys: list[Leaf | None], value: Leaf | Box) -> None:
    """Adds a value to the innermost open box; in a mapping every other leaf is a key."""
    box, key = open_boxes[-1], keys[-1]
    if box.mapping and key is None:
        assert isinstance(value, Leaf)
        keys[-1] = value
        return
    box.elements.append(Element(key, value))
    keys[-1] = None


def _span(event: yaml.Event) -> tuple[int, int]:
    start, end = event.start_mark, event.end_mark
    return (start.index, end.index) if start is not None and end is not None else (0, 0)


def leaves(box: Box) -> Iterator[Leaf]:
    """Yields the keys and values of a box in the order of the text."""
    for element in box.elements:
        if element.key is not None:
            yield element.key
        if isinstance(element.value, Leaf):
            yield element.value
        else:
            yield from leaves(element.value)


@dataclass(frozen=True, slots=True)
class Way:
    """An element with the boxes around it, outermost first."""

    element: Element
    boxes: tuple[Box, ...]
    holders: tuple[Element, ...]
    """The elements whose values the boxes are, but the root."""


def ways(box: Box, boxes: tuple[Box, ...] = (), holders: tuple[Element, ...] = ()) -> Iterator[Way]:
    """Yields every element below a box in the order of the text, each before what is in it."""
    for element in box.elements:
        yield Way(element, (*boxes, box), holders)
        if isinstance(element.value, Box):
            yield from ways(element.value, (*boxes, box), (*holders, element))
