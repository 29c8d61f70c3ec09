"""The grammar's reductions as nodes, macros recognised.

One method a rule of the grammar, under the rule's name, called by the parser with the rule's children; rules that only
pass their child on are served by `_pass`. A child is a token, a node, or one of the pairs that operator rules make.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from discreet.policy.cel.errors import CelError
from discreet.policy.cel.nodes import (
    Binary,
    Call,
    Const,
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
from discreet.policy.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

if TYPE_CHECKING:
    from lark import Token

RESERVED: Final = frozenset(
    "as break const continue else false for function if import in let loop namespace null package return true "
    "var void while".split()
)
KEYWORDS: Final = frozenset({"false", "in", "null", "true"})
MACROS: Final = {"all": (2, 2), "exists": (2, 2), "exists_one": (2, 2), "filter": (2, 2), "map": (2, 3)}
NUMBER_TEXT_MAX: Final = 64
INTEGER: Final = re.compile(r"-?(?:0x[0-9a-fA-F]+|[0-9]+)")
FLOATING: Final = re.compile(r"-?(?:[0-9]*\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)")


def _binary(children: list[object]) -> Node:
    """Returns the operation of `[pair] operand`, or the operand alone."""
    if len(children) == 1:
        return _node(children[0])
    op, left = _pair(children[0])
    right = _node(children[1])
    return Binary(left.start, right.end, op, left, right)


def _operand(children: list[object]) -> tuple[str, Node]:
    """Returns the operator with what stands to its left."""
    return str(children[1]), _node(children[0])


def _pass(children: list[object]) -> object:
    return children[0]


def _node(child: object) -> Node:
    assert isinstance(child, Node)
    return child


def _pair(child: object) -> tuple[str, Node]:
    assert isinstance(child, tuple)
    return child


def _token(child: object) -> Token:
    from lark import Token

    assert isinstance(child, Token)
    return child


def _start(token: Token) -> int:
    return token.start_pos or 0


def _end(token: Token) -> int:
    return token.end_pos or 0


def _nodes(child: object) -> tuple[Node, ...]:
    """Returns the nodes of an optional list, which is absent when its place holds the closing bracket."""
    return child if isinstance(child, tuple) else ()


def _name(token: Token, forbidden: frozenset[str] = RESERVED) -> str:
    name = str(token)
    if name in forbidden:
        raise CelError(f'"{name}" is a reserved word', _start(token), hint="choose another name")
    return name


def _logic(children: list[object], op: str) -> Node:
    """Returns the parts of `a && b && c` side by side, so that a long chain is not a deep tree."""
    if len(children) == 1:
        return _node(children[0])
    left, right = _node(children[0]), _node(children[2])
    parts = left.parts if isinstance(left, Logic) and left.op == op else (left,)
    return Logic(left.start, right.end, op, (*parts, right))


class Builder:
    """The callbacks of the parser; `literals` holds values and ends of the strings of the text being parsed."""

    def __init__(self) -> None:
        self.literals: dict[int, tuple[str | bytes, int]] = {}

    relation = addition = multiplication = staticmethod(_binary)
    relation_lt = relation_le = relation_gt = relation_ge = staticmethod(_operand)
    relation_eq = relation_ne = relation_in = staticmethod(_operand)
    addition_add = addition_sub = staticmethod(_operand)
    multiplication_mul = multiplication_div = multiplication_mod = staticmethod(_operand)
    unary_not = unary_neg = member = primary = staticmethod(_pass)

    def expr(self, children: list[object]) -> Node:
        if len(children) == 1:
            return _node(children[0])
        test, yes, no = _node(children[0]), _node(children[2]), _node(children[4])
        return Ternary(test.start, no.end, test, yes, no)

    def conditionalor(self, children: list[object]) -> Node:
        return _logic(children, "||")

    def conditionaland(self, children: list[object]) -> Node:
        return _logic(children, "&&")

    def unary(self, children: list[object]) -> Node:
        if len(children) == 1:
            return _node(children[0])
        token, operand = _token(children[0]), _node(children[1])
        return Unary(_start(token), operand.end, str(token), operand)

    def member_dot(self, children: list[object]) -> Node:
        operand, token = _node(children[0]), _token(children[2])
        return Select(operand.start, _end(token), operand, _name(token, KEYWORDS))

    def member_dot_arg(self, children: list[object]) -> Node:
        operand, token = _node(children[0]), _token(children[2])
        args, end = _nodes(children[4]), _end(_token(children[-1]))
        name = _name(token, KEYWORDS)
        if name in MACROS:
            return _macro(operand, name, args, _start(token), end)
        return Call(operand.start, end, name, True, (operand, *args))

    def member_index(self, children: list[object]) -> Node:
        operand, key = _node(children[0]), _node(children[2])
        return Index(operand.start, _end(_token(children[3])), operand, key)

    def member_object(self, children: list[object]) -> Node:
        raise CelError("messages cannot be made here", _node(children[0]).start, hint='write a map: {"key": value}')

    def dot_ident(self, children: list[object]) -> Node:
        raise CelError("a name does not begin with a dot", _start(_token(children[0])), hint="leave the dot out")

    dot_ident_arg = dot_ident

    def ident(self, children: list[object]) -> Node:
        token = _token(children[0])
        return Ident(_start(token), _end(token), _name(token))

    def ident_arg(self, children: list[object]) -> Node:
        token, args, end = _token(children[0]), _nodes(children[2]), _end(_token(children[-1]))
        name = _name(token)
        if name != "has":
            return Call(_start(token), end, name, False, args)
        if len(args) != 1 or not isinstance(args[0], Select):
            raise CelError("has() takes one field", _start(token), hint="write has(record.field)")
        return Has(_start(token), end, args[0].operand, args[0].field)

    def paren_expr(self, children: list[object]) -> Node:
        return replace(_node(children[1]), start=_start(_token(children[0])), end=_end(_token(children[2])))

    def list_lit(self, children: list[object]) -> Node:
        return ListLit(_start(_token(children[0])), _end(_token(children[-1])), _nodes(children[1]))

    def map_lit(self, children: list[object]) -> Node:
        return MapLit(_start(_token(children[0])), _end(_token(children[-1])), _nodes(children[1]))

    def exprlist(self, children: list[object]) -> tuple[Node, ...]:
        return tuple(_node(child) for child in children[::2])

    mapinits = exprlist

    def fieldinits(self, children: list[object]) -> tuple[Node, ...]:
        return ()

    def literal(self, children: list[object]) -> Node:
        token = _token(children[0])
        start, text = _start(token), str(token)
        if token.type in ("STRING_LIT", "MLSTRING_LIT", "BYTES_LIT"):
            value, end = self.literals[start]
            return Const(start, end, value)
        if token.type == "BOOL_LIT":
            return Const(start, _end(token), text == "true")
        return Const(start, _end(token), None if token.type == "NULL_LIT" else _number(text, start))


def _macro(operand: Node, kind: str, args: tuple[Node, ...], at: int, end: int) -> Node:
    """Returns the loop of `operand.kind(variable, ...)`."""
    low, high = MACROS[kind]
    if not low <= len(args) <= high:
        raise CelError(f"{kind}() takes a variable and an expression", at, hint=f"write list.{kind}(x, ...)")
    variable = args[0]
    if not isinstance(variable, Ident):
        raise CelError(f"{kind}() begins with the name of a variable", variable.start, hint=f"list.{kind}(x, ...)")
    test: Node | None = args[1]
    transform = args[2] if len(args) == 3 else None
    if kind == "map" and transform is None:
        test, transform = None, args[1]
    return Macro(operand.start, end, kind, operand, variable.name, test, transform)


def _number(text: str, at: int) -> int | float:
    """Returns the value of a number. Raises CelError for one that does not exist or does not fit."""
    if len(text) > NUMBER_TEXT_MAX:
        raise CelError(f"a number has at most {NUMBER_TEXT_MAX} characters", at)
    unsigned = text[-1] in "uU"
    digits = text[:-1] if unsigned else text
    if INTEGER.fullmatch(digits):
        value = int(digits, 16 if "x" in digits else 10)
        low, high = (0, UINT_MAX) if unsigned else (INT_MIN, INT_MAX)
        if not low <= value <= high or (unsigned and text[0] == "-"):
            raise CelError("this number does not fit in 64 bits", at, hint=f"from {low} to {high}")
        return Uint(value) if unsigned else value
    if unsigned or not FLOATING.fullmatch(digits):
        raise CelError("this is no number", at, hint="write 1, 1u, 0x1F, 1.5 or 1e3")
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise CelError("this number is too large", at)
    return number
