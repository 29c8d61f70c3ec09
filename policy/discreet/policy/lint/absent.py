"""Reads of what may be absent that no `has` stands before, in either of the ways that a condition can say so.

`has(x.y) && x.y == 1`, `!has(x.y) || x.y == 1`, `has(x.y) ? x.y == 1 : z`, and the same with `"y" in x`. The parts of
`&&` and `||` guard each other in any order, since an error in one is absorbed where another settles the value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.policy.cel import Condition, Optional, Record
from discreet.policy.cel.nodes import (
    Binary,
    Const,
    Has,
    Ident,
    Index,
    Logic,
    Macro,
    Node,
    Select,
    Ternary,
    Unary,
    bodies,
    children,
)
from discreet.policy.cel.paths import path_of


@dataclass(frozen=True, slots=True)
class Read:
    """A read without a guard. `macro`: the kind of the loop over whose items it reads; empty outside of loops."""

    path: str
    offset: int
    macro: str


def absent_reads(condition: Condition) -> Iterator[Read]:
    """Yields the unguarded reads of attributes, fields and optional fields, in the order of the text."""
    yield from _Search(condition).reads(condition.root, frozenset(), {})


@dataclass(frozen=True, slots=True)
class _Search:
    condition: Condition

    def reads(self, node: Node, guarded: frozenset[str], loops: dict[str, str]) -> Iterator[Read]:
        """Yields the reads below a node; `guarded` are paths that are there, `loops` the variables with their macro."""
        match node:
            case Logic():
                wanted = node.op == "&&"
                guarded |= {path for part in node.parts for path in _assured(part, wanted)}
                for part in node.parts:
                    yield from self.reads(part, guarded, loops)
            case Ternary():
                yield from self.reads(node.test, guarded, loops)
                yield from self.reads(node.yes, guarded | set(_assured(node.test, True)), loops)
                yield from self.reads(node.no, guarded | set(_assured(node.test, False)), loops)
            case Macro():
                yield from self.reads(node.range, guarded, loops)
                inner = {**loops, node.variable: node.kind}
                tested = frozenset(_assured(node.test, True)) if node.test is not None else frozenset()
                for body in bodies(node):
                    there = guarded if body is node.test else guarded | tested
                    yield from self.reads(body, there, inner)
            case Has():
                yield from self.reads(node.operand, guarded, loops)
            case Select() | Index():
                yield from self._read(node, guarded, loops)
            case _:
                for child in children(node):
                    yield from self.reads(child, guarded, loops)

    def _read(self, node: Select | Index, guarded: frozenset[str], loops: dict[str, str]) -> Iterator[Read]:
        path, root = path_of(node, {}), _root(node)
        macro = loops.get(root, "")
        outside = bool(loops) and not macro
        if self._may_be_absent(node) and path not in guarded and not outside:
            yield Read(path, node.start, macro)
            return  # what lies below it is absent with it
        yield from self.reads(node.operand, guarded, loops)
        if isinstance(node, Index):
            yield from self.reads(node.key, guarded, loops)

    def _may_be_absent(self, node: Select | Index) -> bool:
        owner = self.condition.type_of(node.operand)
        if isinstance(owner, Record):
            return isinstance(node, Select) and isinstance(owner.fields.get(node.field), Optional)
        constant = isinstance(node, Select) or (isinstance(node.key, Const) and isinstance(node.key.value, str))
        return constant and owner.kind in ("map", "dyn") and bool(_root(node))


def _assured(node: Node, value: bool) -> Iterator[str]:
    """Yields the paths that are there wherever a part has the value."""
    match node:
        case Unary(op="!"):
            yield from _assured(node.operand, not value)
        case Logic() if node.op == ("&&" if value else "||"):
            for part in node.parts:
                yield from _assured(part, value)
        case Has() if value:
            yield path_of(node, {})
            yield from _above(node.operand)
        case Binary(op="in") if value and isinstance(node.left, Const):
            yield path_of(Index(node.start, node.end, node.right, node.left), {})


def _above(node: Node) -> Iterator[str]:
    """Yields the paths that a longer one goes through."""
    while isinstance(node, Select | Index):
        yield path_of(node, {})
        node = node.operand


def _root(node: Node) -> str:
    while isinstance(node, Select | Index):
        node = node.operand
    return node.name if isinstance(node, Ident) else ""
