"""Conditions in the one form in which they are compared: what means the same whatever is read has the same form.

Brackets, layout, names of the set (already put in their places), names of macro variables, and ways to write one
duration or time make no difference. The order of parts does: it can decide which error is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final, get_args

from discreet.policy.cel import Condition, Duration, EvaluationError, Timestamp
from discreet.policy.cel.nodes import Call, Const, Ident, Logic, Macro, Node, walk
from discreet.policy.cel.tree import digest_of
from discreet.policy.lint.truth import conjuncts

TRUE: Final = Const(0, 0, True)
"""What a rule without a condition has for one."""
_NODES: Final = get_args(Node)

Scope = Mapping[str, str]


def normal(condition: Condition | None) -> Node:
    """The normal form of a rule's condition."""
    return TRUE if condition is None else normal_node(condition.root, {})


def same(one: Node, other: Node) -> bool:
    """Whether two nodes of normal forms are the same; values of two types never are."""
    return one is other or digest_of(one) == digest_of(other)


def steps(condition: Condition | None) -> int:
    """How many parts a condition has: what its straight-line evaluation is charged, a round of its loops included."""
    return 0 if condition is None else sum(1 for _ in walk(condition.root))


def normal_node(node: Node, scope: Scope) -> Node:
    """The normal form of a node; `scope` gives variables of the macros around it their new names."""
    match node:
        case Ident():
            return Ident(0, 0, scope.get(node.name, node.name))
        case Logic():
            return Logic(0, 0, node.op, tuple(normal_node(part, scope) for part in conjuncts(node, node.op)))
        case Call(name="duration" | "timestamp", method=False, args=(Const(value=str() as text),)):
            return Call(0, 0, node.name, False, (Const(0, 0, _time(node.name, text)),))
        case Macro():
            # No text has such a name for a variable, so it cannot be taken for another.
            inner = {**scope, node.variable: _fresh(scope)}
            return Macro(
                0, 0, node.kind, normal_node(node.range, scope), inner[node.variable],
                _or_none(node.test, inner), _or_none(node.transform, inner),
            )  # fmt: skip
        case _:
            return _parts(node, scope)


def _fresh(scope: Scope) -> str:
    """The name of the next variable; one that hides another of its name takes no other's place."""
    return f"#{max((int(name[1:]) + 1 for name in scope.values()), default=0)}"


def _parts(node: Node, scope: Scope) -> Node:
    changed: dict[str, Any] = {"start": 0, "end": 0}
    for each in fields(node):
        value = getattr(node, each.name)
        if isinstance(value, _NODES):
            changed[each.name] = normal_node(value, scope)
        elif isinstance(value, tuple) and value and isinstance(value[0], _NODES):
            changed[each.name] = tuple(normal_node(item, scope) for item in value)
    return replace(node, **changed)


def _or_none(node: Node | None, scope: Scope) -> Node | None:
    return None if node is None else normal_node(node, scope)


def _time(name: str, text: str) -> str:
    try:
        return str(Duration.from_text(text) if name == "duration" else Timestamp.from_text(text))
    except EvaluationError:
        return text
