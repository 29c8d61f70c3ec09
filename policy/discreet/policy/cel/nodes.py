"""The tree of a parsed condition: immutable nodes with their span in the text, and what bounds them.

A span is a pair of code point offsets, start inclusive and end exclusive; brackets around a node belong to its span.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.policy.cel.errors import CelError
from discreet.policy.cel.limits import Limits

Constant = None | bool | int | float | str | bytes


@dataclass(frozen=True, slots=True)
class Const:
    """A literal."""

    start: int
    end: int
    value: Constant


@dataclass(frozen=True, slots=True)
class Ident:
    """A name: a variable of a macro, a declared name or a type."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`."""

    start: int
    end: int
    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Has:
    """`has(operand.field)`."""

    start: int
    end: int
    operand: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`."""

    start: int
    end: int
    operand: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Call:
    """A function or a method; the receiver of a method is its first argument."""

    start: int
    end: int
    name: str
    method: bool
    args: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Unary:
    """`!x` or `-x`."""

    start: int
    end: int
    op: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    """An operator other than `&&` and `||`."""

    start: int
    end: int
    op: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Logic:
    """`&&` or `||` over two parts or more."""

    start: int
    end: int
    op: str
    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Ternary:
    """`test ? yes : no`."""

    start: int
    end: int
    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class ListLit:
    """`[a, b]`."""

    start: int
    end: int
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapLit:
    """`{k: v}`, keys and values in turn."""

    start: int
    end: int
    entries: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Macro:
    """`range.kind(variable, test)`; `map` has a transformation besides, and its test may be absent."""

    start: int
    end: int
    kind: str
    range: Node
    variable: str
    test: Node | None
    transform: Node | None


Node = Const | Ident | Select | Has | Index | Call | Unary | Binary | Logic | Ternary | ListLit | MapLit | Macro


def children(node: Node) -> tuple[Node, ...]:
    """Returns the nodes right below one, in the order of the text."""
    match node:
        case Const() | Ident():
            return ()
        case Select() | Has() | Unary():
            return (node.operand,)
        case Index():
            return node.operand, node.key
        case Call():
            return node.args
        case Binary():
            return node.left, node.right
        case Logic():
            return node.parts
        case Ternary():
            return node.test, node.yes, node.no
        case ListLit():
            return node.items
        case MapLit():
            return node.entries
        case Macro():
            return node.range, *bodies(node)


def bodies(node: Macro) -> tuple[Node, ...]:
    """Returns what a macro evaluates once an element."""
    return tuple(part for part in (node.test, node.transform) if part is not None)


def walk(root: Node) -> Iterator[tuple[Node, int, int]]:
    """Yields every node with its depth and the number of macros it is in the body of. Never recurses."""
    stack: list[tuple[Node, int, int]] = [(root, 1, 0)]
    while stack:
        node, depth, macros = stack.pop()
        yield node, depth, macros
        if isinstance(node, Macro):
            stack.append((node.range, depth + 1, macros))
            stack.extend((body, depth + 1, macros + 1) for body in bodies(node))
        else:
            stack.extend((child, depth + 1, macros) for child in children(node))


def bound(root: Node, limits: Limits) -> None:
    """Raises CelError where a tree is too big, too deep or loops inside loops; run before anything recursive."""
    for count, (node, depth, macros) in enumerate(walk(root), start=1):
        if count > limits.nodes_max:
            raise CelError(f"the condition has more than {limits.nodes_max} parts", root.start, hint="split the rule")
        if depth > limits.depth_max:
            raise CelError(f"nested deeper than {limits.depth_max}", node.start, hint="split the rule")
        if isinstance(node, Macro) and macros >= limits.macro_depth_max:
            raise CelError(
                f"{node.kind}() inside more than {limits.macro_depth_max - 1} other macro",
                node.start,
                hint="nested loops multiply; test one list against another with `in`",
            )
