"""Boxes and leaves as text: two spaces a level, keys in their order, brackets where they were and fit on a line."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final

from discreet.policy.fmt.layout import Box, Element, Leaf, Page
from discreet.policy.fmt.order import Order, Path

WIDTH: Final = 120
_STEP: Final = "  "
#: An empty line between elements, which is told from one in a text until all is joined.
_GAP: Final = "\f"


def emitted(text: str, pages: Sequence[Page], orders: Sequence[Order]) -> str:
    """Returns the documents laid out. `text` is what their spans count in."""
    parts = []
    for page, order in zip(pages, orders, strict=True):
        writer = _Writer(text, order)
        lines = [*_spaced("", page.head), *writer.block(page.root, "", ())]
        parts.append("".join(f"{line.removeprefix(_GAP)}\n" for line in _tidy(lines)))
    return "---\n".join(parts)


def _tidy(lines: Sequence[str]) -> list[str]:
    """Returns lines without gaps at either end."""
    start = next((number for number, line in enumerate(lines) if line != _GAP), 0)
    end = next((number for number in range(len(lines), 0, -1) if lines[number - 1] != _GAP), 0)
    return list(lines[start:end])


class _Writer:
    """Writes the boxes of one document."""

    def __init__(self, text: str, order: Order) -> None:
        self.text = text
        self.order = order

    def block(self, box: Box, pad: str, path: Path) -> list[str]:
        """Returns the lines of a box, an element under the other."""
        lines: list[str] = []
        for element in self._ordered(box, path):
            own = self._entry(element, pad, path) if box.mapping else self._item(element, pad, path)
            _extend(lines, [*_spaced(pad, element.before), *own])
        _extend(lines, _spaced(pad, box.foot))
        return lines

    def _ordered(self, box: Box, path: Path) -> list[Element]:
        if not box.mapping:
            return box.elements
        return sorted(box.elements, key=lambda element: self.order(path, _name(element)))

    def _entry(self, element: Element, pad: str, path: Path) -> list[str]:
        assert element.key is not None
        start = f"{pad}{self._leaf(element.key, pad, 0)}:"
        return self._value(element, start, pad, (*path, _name(element)))

    def _item(self, element: Element, pad: str, path: Path) -> list[str]:
        value = element.value
        if isinstance(value, Leaf) or self._line(element, f"{pad}-", path) is not None or not value.elements:
            return self._value(element, f"{pad}-", pad, path)
        trailing = [f"{pad}{element.trailing}"] if element.trailing else []
        below = self.block(value, pad + _STEP, path)
        first = next(number for number, line in enumerate(below) if line != _GAP and not line.lstrip().startswith("#"))
        below[first] = f"{pad}- {below[first][len(pad) + 2 :]}"
        above = [line if line == _GAP else line[len(_STEP) :] for line in below[:first]]
        return [*trailing, *above, *below[first:]]

    def _value(self, element: Element, start: str, pad: str, path: Path) -> list[str]:
        """Returns the lines of a value behind its key or dash."""
        value, tail = element.value, f" {element.trailing}" if element.trailing else ""
        if isinstance(value, Box):
            line = self._line(element, start, path)
            return [f"{start}{tail}", *self.block(value, pad + _STEP, path)] if line is None else [line]
        shown = self._leaf(value, pad, len(start) + 1)
        if "\n" not in shown:
            return [f"{start} {shown}{tail}".rstrip() if shown else f"{start}{tail}"]
        first, *rest = shown.split("\n")
        if value.style in ("|", ">"):
            return [f"{start} {first}{tail}", *rest]
        return [f"{start} {first}", *rest[:-1], f"{rest[-1]}{tail}"]

    def _line(self, element: Element, start: str, path: Path) -> str | None:
        """Returns a box in brackets on one line, or None where it was written, or has to be, in lines of its own."""
        box = element.value
        assert isinstance(box, Box)
        shown = self._flow(box, path) if box.flow or not box.elements else None
        tail = f" {element.trailing}" if element.trailing else ""
        if shown is None or (len(start) + 1 + len(shown) > WIDTH and box.elements):
            return None
        return f"{start} {shown}{tail}"

    def _flow(self, box: Box, path: Path) -> str | None:
        if box.foot:
            return None
        parts: list[str] = []
        for element in self._ordered(box, path):
            below = (*path, _name(element)) if box.mapping else path
            value = element.value
            shown = self._flow(value, below) if isinstance(value, Box) else self._leaf(value, "", 0)
            if shown is None or "\n" in shown or element.trailing or any(element.before):
                return None
            key = f"{self._leaf(element.key, '', 0)}:" if element.key is not None else ""
            parts.append(" ".join(filter(None, (key, shown))))
        joined = ", ".join(parts)
        return f"{{ {joined} }}" if box.mapping and parts else f"{{{joined}}}" if box.mapping else f"[{joined}]"

    def _leaf(self, leaf: Leaf, pad: str, column: int) -> str:
        """Returns a scalar as it is written, in lines of its own where it was; the first stands behind its key."""
        raw = self.text[leaf.start : leaf.end]
        if leaf.style in ("|", ">"):
            return _block_scalar(raw, leaf, pad + _STEP)
        if "\n" in raw:
            lines = [line.strip() for line in raw.split("\n")]
            return "\n".join([lines[0], *(f"{pad}{_STEP}{line}" if line else "" for line in lines[1:])])
        if leaf.style == "'" and not re.search(r"[\"\\]", leaf.value):
            return f'"{leaf.value}"'
        return raw


def _block_scalar(raw: str, leaf: Leaf, pad: str) -> str:
    """Returns a block scalar with its lines moved to their level; one that ends in empty lines, in quotes."""
    body = raw.split("\n")[1:]
    filled = [line for line in body if line.strip()]
    if not filled or leaf.value.endswith("\n\n"):
        return json.dumps(leaf.value, ensure_ascii=False)
    explicit = re.match(r"[|>][-+]*([0-9])", raw)
    width = min(len(line) - len(line.lstrip(" ")) for line in filled)
    if explicit or filled[0].startswith(" " * (width + 1)):
        return json.dumps(leaf.value, ensure_ascii=False)
    while body and not body[-1].strip():
        body.pop()
    shown = [f"{pad}{line[width:]}" if line.strip() else "" for line in body]
    return "\n".join([leaf.style + ("" if leaf.value.endswith("\n") else "-"), *shown])


def _name(element: Element) -> str:
    return element.key.value if element.key is not None else ""


def _extend(lines: list[str], more: Sequence[str]) -> None:
    """Adds lines, without a gap at the beginning or after another."""
    for line in more:
        if line != _GAP or (lines and lines[-1] != _GAP):
            lines.append(line)


def _spaced(pad: str, lines: Sequence[str]) -> list[str]:
    """Returns comment lines at their level, with a gap for each empty one."""
    return [f"{pad}{line}" if line else _GAP for line in lines]
