"""How one condition stands to another, by their trees: is it true of all that the other is true of, or of less.

Sound and far from complete. A condition is false, an error or true, in this order; `&&` is the least of its parts, `||`
the greatest, `!` turns the order round. WIDER means: never lower in that order, whatever is read. So a wider condition
of an ALLOW rule allows more, and one of a WITHHOLD rule, which withholds where it errs, withholds more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from discreet.policy.cel import Duration, EvaluationError, Timestamp
from discreet.policy.cel.nodes import Binary, Call, Const, ListLit, Logic, Macro, Node, Ternary, Unary
from discreet.policy.cel.tree import digest_of
from discreet.policy.diff.normal import same
from discreet.policy.diff.order import Order, of_sets, together

_UP: Final = frozenset({"<", "<="})
"""Orders that a larger right side makes true of more; `>` and `>=` are their opposites."""
_ORDERS: Final = frozenset({"<", "<=", ">", ">="})
_LOOSER: Final = frozenset({("<", "<="), (">", ">=")})
_TIMES: Final[Mapping[str, Callable[[str], Timestamp | Duration]]] = {
    "timestamp": Timestamp.from_text,
    "duration": Duration.from_text,
}


def compare(old: Node, new: Node) -> Order:
    """How the new condition stands to the old one; both in their normal forms."""
    if same(old, new):
        return Order.SAME
    for one, other, order in ((old, new, Order.WIDER), (new, old, Order.NARROWER)):
        if _is(one, False) or _is(other, True):
            return order
    found = _structure(old, new)
    if found is not Order.OTHER:
        return found
    for op, fewer in (("&&", Order.WIDER), ("||", Order.NARROWER)):
        found = _joined(old, new, op, fewer)
        if found is not Order.OTHER:
            return found
    return Order.OTHER


def _is(node: Node, value: bool) -> bool:
    return isinstance(node, Const) and node.value is value


def _structure(old: Node, new: Node) -> Order:
    """What is told by two nodes of one kind, or two tests of one path."""
    match old, new:
        case Unary(op="!"), Unary(op="!"):
            return compare(old.operand, new.operand).turned
        case Ternary(), Ternary() if same(old.test, new.test):
            return together((compare(old.yes, new.yes), compare(old.no, new.no)))
        case Macro(), Macro() if old.test is not None and new.test is not None and _same_loop(old, new):
            return compare(old.test, new.test)
        case Binary(), Binary():
            return _tests(old, new)
        case _:
            return Order.OTHER


def _same_loop(old: Macro, new: Macro) -> bool:
    both = old.kind == new.kind and old.kind in {"all", "exists"}
    return both and old.variable == new.variable and same(old.range, new.range)


def _joined(old: Node, new: Node, op: str, fewer: Order) -> Order:
    """What is told by the parts that an operator joins; `fewer`: how what has fewer of them stands."""
    if not any(isinstance(node, Logic) and node.op == op for node in (old, new)):
        return Order.OTHER
    before, after = _by_digest(old, op), _by_digest(new, op)
    gone = [before[key] for key in before if key not in after]
    come = [after[key] for key in after if key not in before]
    if not come:
        return fewer if gone else Order.SAME
    if not gone:
        return fewer.turned
    if len(gone) == len(come) and isinstance(old, Logic) and isinstance(new, Logic):
        return together(compare(one, other) for one, other in zip(gone, come, strict=True))
    return Order.OTHER


def _by_digest(node: Node, op: str) -> dict[str, Node]:
    parts = node.parts if isinstance(node, Logic) and node.op == op else (node,)
    return {digest_of(part): part for part in parts}


def _tests(old: Binary, new: Binary) -> Order:
    """Two comparisons of one value with constants."""
    mine, theirs = _texts(old), _texts(new)
    if mine is not None and theirs is not None and same(mine[0], theirs[0]):
        return of_sets(mine[1], theirs[1])
    if (old.op, new.op) in _LOOSER and same(old.left, new.left) and same(old.right, new.right):
        return Order.WIDER
    if (new.op, old.op) in _LOOSER and same(old.left, new.left) and same(old.right, new.right):
        return Order.NARROWER
    if old.op != new.op or old.op not in _ORDERS:
        return Order.OTHER
    if same(old.left, new.left):
        return _bounds(old.right, new.right, up=old.op in _UP)
    if same(old.right, new.right):
        return _bounds(old.left, new.left, up=old.op not in _UP)
    return Order.OTHER


def _texts(node: Binary) -> tuple[Node, frozenset[object]] | None:
    """The value and the texts of `value == "a"`, `"a" == value` and `value in ["a", "b"]`."""
    if node.op == "==":
        for value, text in ((node.left, node.right), (node.right, node.left)):
            if isinstance(text, Const) and isinstance(text.value, str) and not isinstance(value, Const):
                return value, frozenset({text.value})
    if node.op == "in" and isinstance(node.right, ListLit) and node.right.items:
        found = [item.value for item in node.right.items if isinstance(item, Const) and isinstance(item.value, str)]
        return (node.left, frozenset(found)) if len(found) == len(node.right.items) else None
    return None


def _bounds(old: Node, new: Node, *, up: bool) -> Order:
    """Two constants of one type that the same value is compared with."""
    before, after = _bound(old), _bound(new)
    if before is None or after is None or before[0] != after[0] or before[1] == after[1]:
        return Order.OTHER
    return Order.WIDER if (before[1] < after[1]) is up else Order.NARROWER


def _bound(node: Node) -> tuple[str, float] | None:
    """The type and the place in its order of a number, a time or a duration that stands in the policy."""
    match node:
        case Const(value=int() | float() as number) if not isinstance(number, bool):
            return type(number).__name__, number
        case Call(name="timestamp" | "duration", method=False, args=(Const(value=str() as text),)):
            try:
                return node.name, _TIMES[node.name](text).ns
            except EvaluationError:
                return None
        case _:
            return None
