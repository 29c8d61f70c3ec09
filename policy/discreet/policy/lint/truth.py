"""What a condition's value is whatever it reads: true, false, or open. Sound and far from complete.

`True` and `False` mean: wherever it has a value at all. What is not told by words, constants and bounds stays open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from discreet.policy.cel.errors import ConditionFailure
from discreet.policy.cel.nodes import (
    Binary,
    Call,
    Const,
    Has,
    ListLit,
    Logic,
    Macro,
    Node,
    Select,
    Ternary,
    Unary,
    children,
)
from discreet.policy.cel.paths import fixed_path
from discreet.policy.cel.values import Duration, Timestamp
from discreet.policy.lint.known import Facts, Key, key_of

_SWAPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: Final = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def truth(node: Node, facts: Facts) -> bool | None:
    """Returns the value of a node that is a bool, or None where it depends on what is read."""
    match node:
        case Const():
            return node.value if isinstance(node.value, bool) else None
        case Logic():
            return _joined(node, facts)
        case Unary() if node.op == "!":
            return _not(truth(node.operand, facts))
        case Ternary():
            return _chosen(node, facts)
        case Binary():
            return _compared(node, facts)
        case Macro():
            return _looped(node)
        case Select():
            return _only(facts.get(fixed_path(node) or ""))
        case _:
            return None


def conjuncts(node: Node, op: str = "&&") -> tuple[Node, ...]:
    """Returns the parts that `&&` (or `||`) joins, however they are bracketed; of anything else, the node itself."""
    if isinstance(node, Logic) and node.op == op:
        return tuple(found for part in node.parts for found in conjuncts(part, op))
    return (node,)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _only(values: frozenset[Key] | None) -> bool | None:
    found = next(iter(values))[1] if values is not None and len(values) == 1 else None
    return found if isinstance(found, bool) else None


def _joined(node: Logic, facts: Facts) -> bool | None:
    """`||` is judged as the negation of the `&&` of its negated parts, so that both are judged alike."""
    decisive = node.op == "||"
    parts = conjuncts(node, node.op)
    bounds = Bounds(facts)
    for part in parts:
        bounds.take(part, negated=decisive)
    if bounds.impossible:
        return decisive
    narrowed = bounds.facts()
    values = [truth(part, narrowed if isinstance(part, Logic | Ternary) else facts) for part in parts]
    if any(value is decisive for value in values):
        return decisive
    return None if None in values else not decisive


def _chosen(node: Ternary, facts: Facts) -> bool | None:
    test, yes, no = (truth(part, facts) for part in (node.test, node.yes, node.no))
    if test is None:
        return yes if yes is no else None
    return yes if test else no


def _looped(node: Macro) -> bool | None:
    if not isinstance(node.range, ListLit) or node.range.items or node.kind not in ("all", "exists", "exists_one"):
        return None
    return node.kind == "all"


def _compared(node: Binary, facts: Facts) -> bool | None:
    if node.op in ("==", "!="):
        same = _equal(node.left, node.right, facts)
        return same if node.op == "==" else _not(same)
    if node.op == "in":
        return _member(node, facts)
    left, right = _measure(node.left), _measure(node.right)
    if node.op not in _SWAPPED or left is None or right is None or left[0] != right[0]:
        return None
    return _ordered(node.op, left[1], right[1])


def _equal(left: Node, right: Node, facts: Facts) -> bool | None:
    if isinstance(left, Const) and isinstance(right, Const):
        return key_of(left.value) == key_of(right.value)
    if fixed_path(left) is not None and fixed_path(left) == fixed_path(right):
        return True
    for path, constant in ((left, right), (right, left)):
        known = facts.get(fixed_path(path) or "")
        if known is not None and isinstance(constant, Const):
            return False if key_of(constant.value) not in known else True if len(known) == 1 else None
    return None


def _member(node: Binary, facts: Facts) -> bool | None:
    listed = constants(node.right)
    if listed is None:
        return None
    if not listed:
        return False
    known = frozenset([key_of(node.left.value)]) if isinstance(node.left, Const) else None
    known = facts.get(fixed_path(node.left) or "") if known is None else known
    if known is None:
        return None
    return True if known <= listed else False if known.isdisjoint(listed) else None


def constants(node: Node) -> frozenset[Key] | None:
    """Returns the items of a list of constants, or None for anything else."""
    if not isinstance(node, ListLit):
        return None
    found = [key_of(item.value) for item in node.items if isinstance(item, Const)]
    return frozenset(found) if len(found) == len(node.items) else None


def _measure(node: Node) -> tuple[str, float | int] | None:
    """Returns a constant that has an order, with what it is: a number, a moment or a duration."""
    if isinstance(node, Unary) and node.op == "-":
        below = _measure(node.operand)
        return None if below is None else (below[0], -below[1])
    if isinstance(node, Const) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return None if math.isnan(node.value) else ("number", node.value)
    if isinstance(node, Call) and len(node.args) == 1 and isinstance(node.args[0], Const):
        text = node.args[0].value
        return _moment(node.name, text) if isinstance(text, str) else None
    return None


def _moment(function: str, text: str) -> tuple[str, int] | None:
    try:
        if function == "timestamp":
            return function, Timestamp.from_text(text).ns
        return (function, Duration.from_text(text).ns) if function == "duration" else None
    except ConditionFailure:
        return None


def _ordered(op: str, left: float, right: float) -> bool:
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


@dataclass(slots=True)
class Bounds:
    """What parts that must all be true leave of each path: values it may have, values it may not, and bounds."""

    known: Facts
    impossible: bool = False
    _allowed: dict[str, frozenset[Key]] = field(default_factory=dict)
    _refused: dict[str, set[Key]] = field(default_factory=dict)
    _limits: dict[tuple[str, str], list[tuple[str, float | int]]] = field(default_factory=dict)
    _seen: set[tuple[bool, str]] = field(default_factory=set)

    def take(self, part: Node, *, negated: bool) -> None:
        """Takes one more part that must be true, or false."""
        while isinstance(part, Unary) and part.op == "!":
            part, negated = part.operand, not negated
        if not isinstance(part, Binary | Logic):  # what those say shows in the values and bounds of paths
            name = name_of(part)
            self.impossible = self.impossible or (not negated, name) in self._seen
            self._seen.add((negated, name))
        if isinstance(part, Logic) and part.op == ("||" if negated else "&&"):
            for below in part.parts:
                self.take(below, negated=negated)
        elif isinstance(part, Binary):
            self._comparison(part, negated)
        elif isinstance(part, Select) and (path := fixed_path(part)) is not None:
            self._allow(path, frozenset([key_of(not negated)]))

    def facts(self) -> Facts:
        """Returns what was known with what the parts add."""
        return {**self.known, **{path: self._left(path) for path in self._allowed}}

    def _comparison(self, node: Binary, negated: bool) -> None:
        """Takes what a comparison with constants says. What is no number's `<` may be no `>=` either: it may be NaN."""
        op = _NEGATED.get(node.op, node.op) if negated else node.op
        if node.op == "in":
            path, listed = fixed_path(node.left), constants(node.right)
            if path is not None and listed is not None:
                self._refuse(path, listed) if negated else self._allow(path, listed)
            return
        for left, right, as_written in ((node.left, node.right, op), (node.right, node.left, _SWAPPED.get(op, op))):
            path = fixed_path(left)
            if path is None:
                continue
            measure = _measure(right)
            if isinstance(right, Const) and op in ("==", "!="):
                one = frozenset([key_of(right.value)])
                self._allow(path, one) if op == "==" else self._refuse(path, one)
            if measure is not None and as_written in (*_SWAPPED, "==") and not (negated and measure[0] == "number"):
                self._limit(path, as_written, measure)

    def _allow(self, path: str, values: frozenset[Key]) -> None:
        before = self._allowed.get(path, self.known.get(path))
        self._allowed[path] = values if before is None else before & values
        self._settle(path)

    def _refuse(self, path: str, values: frozenset[Key]) -> None:
        self._refused.setdefault(path, set()).update(values)
        if path in self._allowed or path in self.known:
            self._allowed.setdefault(path, self.known.get(path, frozenset()))
            self._settle(path)

    def _left(self, path: str) -> frozenset[Key]:
        return self._allowed[path] - self._refused.get(path, set())

    def _settle(self, path: str) -> None:
        self.impossible = self.impossible or not self._left(path)

    def _limit(self, path: str, op: str, measure: tuple[str, float | int]) -> None:
        kind, value = measure
        limits = self._limits.setdefault((path, kind), [])
        limits.append((op, value))
        self.impossible = self.impossible or not _satisfiable(limits)


def _satisfiable(limits: list[tuple[str, float | int]]) -> bool:
    """Says whether some number meets every bound; there is always another one between two that differ."""
    low, low_open, high, high_open = -math.inf, False, math.inf, False
    for op, value in limits:
        if op in (">", ">=", "==") and (value > low or (value == low and op == ">")):
            low, low_open = value, op == ">"
        if op in ("<", "<=", "==") and (value < high or (value == high and op == "<")):
            high, high_open = value, op == "<"
    return low < high or (low == high and not low_open and not high_open)


def name_of(node: Node) -> str:
    """Returns a text that is the same for two nodes that say the same in the same words, whatever their layout."""
    constant_first = isinstance(node, Binary) and isinstance(node.left, Const) and not isinstance(node.right, Const)
    if isinstance(node, Binary) and constant_first and node.op in _NEGATED:
        return name_of(Binary(0, 0, _SWAPPED.get(node.op, node.op), node.right, node.left))
    path = fixed_path(node)
    if path is not None:
        return path
    match node:
        case Const():
            return repr(key_of(node.value))
        case Has():
            return f"has({name_of(node.operand)}.{node.field})"
        case Select():
            return f"({name_of(node.operand)}).{node.field}"
        case Unary():
            return f"{node.op}({name_of(node.operand)})"
        case Binary() | Logic():
            return f"({f' {node.op} '.join(map(name_of, children(node)))})"
        case Call():
            return f"{node.name}({', '.join(map(name_of, node.args))})"
        case Macro():
            return f"{node.kind}({node.variable}, {node.test is not None}, {', '.join(map(name_of, children(node)))})"
        case _:
            return f"{type(node).__name__}({', '.join(map(name_of, children(node)))})"
