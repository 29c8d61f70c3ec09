"""The text of a condition's tree, with every name of the set in its place: what a report shows of a condition.

What is parsed again from the text has the same normal form.
"""

from __future__ import annotations

import json
from typing import Final

from discreet.policy.cel.nodes import (
    Binary,
    Call,
    Const,
    Constant,
    Has,
    Ident,
    Index,
    ListLit,
    Logic,
    Macro,
    MapLit,
    Node,
    Select,
    Ternary,
    Unary,
)
from discreet.policy.cel.operators import ORDER
from discreet.policy.cel.values import Uint

_TERNARY, _OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _MEMBER = range(8)
_SUMS: Final = frozenset({"+", "-"})
_VARIABLES: Final = {"#0": "x", "#1": "y", "#2": "z"}
"""How the variables of normal forms are shown; loops nest no deeper."""


def condition_text(node: Node) -> str:
    """The text of a whole condition."""
    return _text(node, _TERNARY)


def _text(node: Node, least: int) -> str:
    """The text of a node, in brackets where it binds less than `least`."""
    level, text = _written(node)
    return text if level >= least else f"({text})"


def _written(node: Node) -> tuple[int, str]:
    """How tightly a node binds, and its text."""
    match node:
        case Const():
            negative = isinstance(node.value, int | float) and str(node.value).startswith("-")
            return _UNARY if negative else _MEMBER, _constant(node.value)
        case Ident():
            return _MEMBER, _VARIABLES.get(node.name, node.name)
        case Unary():
            # A number behind a minus would be read as one literal.
            bracketed = isinstance(node.operand, Const)
            operand = f"({_text(node.operand, _TERNARY)})" if bracketed else _text(node.operand, _MEMBER)
            return _UNARY, node.op + operand
        case Binary():
            level = _level(node.op)
            return level, f"{_text(node.left, level)} {node.op} {_text(node.right, level + 1)}"
        case Logic():
            level = _AND if node.op == "&&" else _OR
            return level, f" {node.op} ".join(_text(part, level + 1) for part in node.parts)
        case Ternary():
            parts = (_text(node.test, _OR), _text(node.yes, _OR), _text(node.no, _TERNARY))
            return _TERNARY, "{} ? {} : {}".format(*parts)
        case _:
            return _MEMBER, _member(node)


def _member(node: Node) -> str:
    match node:
        case Select():
            return f"{_text(node.operand, _MEMBER)}.{node.field}"
        case Has():
            return f"has({_text(node.operand, _MEMBER)}.{node.field})"
        case Index():
            return f"{_text(node.operand, _MEMBER)}[{condition_text(node.key)}]"
        case Call(method=True):
            owner, *arguments = node.args
            return f"{_text(owner, _MEMBER)}.{node.name}({_listed(arguments)})"
        case Call():
            return f"{node.name}({_listed(node.args)})"
        case ListLit():
            return f"[{_listed(node.items)}]"
        case MapLit():
            pairs = zip(node.entries[::2], node.entries[1::2], strict=True)
            return "{" + ", ".join(f"{condition_text(key)}: {condition_text(value)}" for key, value in pairs) + "}"
        case Macro():
            variable = Ident(0, 0, node.variable)
            bodies = [part for part in (node.test, node.transform) if part is not None]
            return f"{_text(node.range, _MEMBER)}.{node.kind}({_listed([variable, *bodies])})"
        case _:
            raise AssertionError(f"{type(node).__name__} is written elsewhere")


def _listed(nodes: list[Node] | tuple[Node, ...]) -> str:
    return ", ".join(map(condition_text, nodes))


def _level(op: str) -> int:
    if op in ORDER or op in {"==", "!=", "in"}:
        return _RELATION
    return _SUM if op in _SUMS else _PRODUCT


def _constant(value: Constant) -> str:
    if isinstance(value, bytes):
        return 'b"' + "".join(f"\\x{byte:02x}" for byte in value) + '"'
    return f"{int(value)}u" if isinstance(value, Uint) else json.dumps(value, ensure_ascii=False)
