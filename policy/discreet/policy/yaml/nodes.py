"""What a policy file holds: a tree whose every value can tell its file, line and column.

Knows nothing of what the values mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.policy.problems import Place
from discreet.policy.yaml.source import SourceText

Value = None | bool | int | float | str
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. `start` and `end` are code point offsets of its source; `style` is one of "", ', ", | and >."""

    place: Place
    value: Value
    start: int
    end: int
    style: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list."""

    place: Place
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key: Scalar
    value: Node


@dataclass(frozen=True, slots=True)
class Entries:
    """A mapping; its keys are text and differ."""

    place: Place
    entries: Mapping[str, Entry] = field(default_factory=dict)


Node = Scalar | Items | Entries


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a file."""

    source: SourceText
    root: Node

    @property
    def file(self) -> str:
        """The file's path."""
        return self.source.file

    def node(self, path: Path) -> Node:
        """Returns the node at a path, or the deepest one there is on the way to it."""
        node = self.root
        for step in path:
            below = _below(node, step)
            if below is None:
                break
            node = below
        return node

    def place(self, *path: str | int) -> Place:
        """Returns where the value at a path stands, or the deepest value on the way to it."""
        return self.node(path).place

    def key_place(self, *path: str | int) -> Place:
        """Returns where the last key of a path stands, or the deepest value on the way to it."""
        parent = self.node(path[:-1])
        if path and isinstance(parent, Entries) and path[-1] in parent.entries:
            return parent.entries[str(path[-1])].key.place
        return self.place(*path)


def _below(node: Node, step: str | int) -> Node | None:
    if isinstance(node, Entries) and isinstance(step, str) and step in node.entries:
        return node.entries[step].value
    if isinstance(node, Items) and isinstance(step, int) and 0 <= step < len(node.items):
        return node.items[step]
    return None


def plain(node: Node) -> object:
    """Returns the tree as dicts, tuples and native values. Its depth is bounded by the reader."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Items):
        return tuple(plain(item) for item in node.items)
    return {key: plain(entry.value) for key, entry in node.entries.items()}
