"""Paths of what a condition reads, `document.attributes.desk`, and the equalities that it cannot be true without."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, TypeGuard

from discreet.policy.cel.nodes import (
    Binary,
    Const,
    Constant,
    Has,
    Ident,
    Index,
    Logic,
    Macro,
    Node,
    Select,
    bodies,
    children,
)
from discreet.policy.cel.operators import EXACT_MAX
from discreet.policy.cel.schema import FIELD_NAME

UNNAMED: Final = "(expression)"
Equality = tuple[str, bool | int | float | str | bytes]


def path_of(node: Node, scope: Mapping[str, str]) -> str:
    """Returns how errors name what a node reads; `scope` has the paths that the variables of macros run over."""
    match node:
        case Ident():
            return scope.get(node.name, node.name)
        case Select() | Has():
            return f"{path_of(node.operand, scope)}.{node.field}"
        case Index():
            return path_of(node.operand, scope) + _key_text(node.key)
        case _:
            return UNNAMED


def _key_text(key: Node) -> str:
    """Returns the step of a key that stands in the policy; one from data is not shown."""
    if not isinstance(key, Const) or isinstance(key.value, bytes):
        return "[]"
    if isinstance(key.value, str) and FIELD_NAME.fullmatch(key.value):
        return f".{key.value}"
    return f"[{json.dumps(key.value)}]"


def _fixed(node: Node) -> bool:
    """Says whether a node is a name followed by fields and constant keys alone."""
    while isinstance(node, Select | Has | Index):
        if isinstance(node, Index) and not isinstance(node.key, Const):
            return False
        node = node.operand
    return isinstance(node, Ident)


def fixed_path(node: Node) -> str | None:
    """Returns the path of a name followed by fields and constant keys alone, None for any other node."""
    return path_of(node, {}) if not isinstance(node, Has) and _fixed(node) else None


def _root(node: Node) -> str:
    while isinstance(node, Select | Has | Index):
        node = node.operand
    assert isinstance(node, Ident)
    return node.name


def reads_of(node: Node, variables: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yields the path of everything that a condition may read, the longest that is known at load."""
    if _fixed(node):
        if _root(node) not in variables:
            yield path_of(node, {})
    elif isinstance(node, Macro):
        yield from reads_of(node.range, variables)
        for body in bodies(node):
            yield from reads_of(body, variables | {node.variable})
    else:
        for child in children(node):
            yield from reads_of(child, variables)


def equalities_of(root: Node) -> Iterator[Equality]:
    """Yields (path, constant) for each `path == constant` that every true value of the condition needs.

    Where the path has another value, the condition is false whatever else it holds, since false absorbs errors; where
    the path is absent, it may be an error and must be evaluated. Large numbers are left out: two that differ may be
    equal once one of them counts as a double.
    """
    parts = root.parts if isinstance(root, Logic) and root.op == "&&" else (root,)
    for part in parts:
        if isinstance(part, Logic):
            yield from equalities_of(part) if part.op == "&&" else ()
        elif isinstance(part, Binary) and part.op == "==":
            for path, constant in ((part.left, part.right), (part.right, part.left)):
                if _fixed(path) and isinstance(constant, Const) and _sharp(constant.value):
                    yield path_of(path, {}), constant.value


def _sharp(value: Constant) -> TypeGuard[bool | int | float | str | bytes]:
    """Says whether only what Python finds equal to a constant equals it."""
    return value is not None and not (isinstance(value, int | float) and abs(value) >= EXACT_MAX)
