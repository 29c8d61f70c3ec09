"""A second evaluator of the language: it walks the parsed nodes and looks at every value when it meets it.

It is simple and slow on purpose, and written from the definition, so that a mistake in the compiled closures shows as a
difference. Of the package it uses the parsed nodes, their checked types and the classes of values, none of what
evaluates. It has no budget: it must only be given what is small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

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
from discreet.policy.cel.schema import AnyType, Record
from discreet.policy.cel.values import TypeValue
from tests.policy.cel.naive_functions import call
from tests.policy.cel.naive_values import (
    KEYS,
    Failure,
    Pairs,
    arithmetic,
    equal,
    kind,
    negated,
    ordered,
    same_key,
    sequence,
)

Scope = Mapping[str, object]
DOTTED: Final = ("google.protobuf.Timestamp", "google.protobuf.Duration")


class Naive:
    """Evaluates the nodes of one checked tree on one activation."""

    def __init__(self, types: Mapping[int, AnyType], activation: Mapping[str, object]) -> None:
        self._types: Final = types
        self._activation: Final = activation

    def value(self, node: Node, scope: Scope) -> Any:
        """Returns the value of a node. Raises Failure with the class of its error."""
        match node:
            case Const():
                return node.value
            case Ident():
                return self._name(node, scope)
            case Select():
                return self._select(node, scope)
            case Has():
                return self._has(node, scope)
            case Index():
                return _item(self.value(node.operand, scope), self.value(node.key, scope))
            case Call():
                return call(node.name, node.method, [self.value(arg, scope) for arg in node.args])
            case Unary():
                return self._unary(node, scope)
            case Binary():
                return self._binary(node, scope)
            case Logic():
                return self._logic(node, scope)
            case Ternary():
                test = truth(self.value(node.test, scope))
                return self.value(node.yes if test else node.no, scope)
            case ListLit():
                return [self.value(item, scope) for item in node.items]
            case MapLit():
                return self._map(node, scope)
            case Macro():
                return self._macro(node, scope)

    def _name(self, node: Ident, scope: Scope) -> Any:
        if node.name in scope:
            return scope[node.name]
        if self._types[id(node)].kind == "type" and node.name not in self._activation:
            return TypeValue(node.name)
        return present(self._activation.get(node.name))

    def _select(self, node: Select, scope: Scope) -> Any:
        if id(node.operand) not in self._types:
            return TypeValue(next(name for name in DOTTED if name.endswith("." + node.field)))
        owner = self.value(node.operand, scope)
        if isinstance(self._types[id(node.operand)], Record):
            return present(field(owner, node.field))
        return _under(pairs_of(owner), node.field)

    def _has(self, node: Has, scope: Scope) -> bool:
        owner = self.value(node.operand, scope)
        if isinstance(self._types[id(node.operand)], Record):
            return field(owner, node.field) is not None
        return any(same_key(key, node.field) for key, _ in pairs_of(owner))

    def _unary(self, node: Unary, scope: Scope) -> Any:
        operand = self.value(node.operand, scope)
        return not truth(operand) if node.op == "!" else negated(operand)

    def _binary(self, node: Binary, scope: Scope) -> Any:
        left, right = self.value(node.left, scope), self.value(node.right, scope)
        match node.op:
            case "==":
                return equal(left, right)
            case "!=":
                return not equal(left, right)
            case "<" | "<=" | ">" | ">=":
                return ordered(node.op, left, right)
            case "in":
                return _member(left, right)
            case _:
                return arithmetic(node.op, left, right)

    def _logic(self, node: Logic, scope: Scope) -> bool:
        """Evaluates every part; one that settles the whole outweighs any error, wherever the two stand."""
        return self._settle([(part, scope) for part in node.parts], decisive=node.op == "||")

    def _settle(self, parts: list[tuple[Node, Scope]], decisive: bool) -> bool:
        failures, values = [], []
        for part, scope in parts:
            try:
                values.append(truth(self.value(part, scope)))
            except Failure as failure:
                failures.append(failure.code)
        if decisive in values:
            return decisive
        if failures:
            raise Failure(min(failures))
        return not decisive

    def _map(self, node: MapLit, scope: Scope) -> Pairs:
        made = Pairs()
        for key_node, value_node in zip(node.entries[::2], node.entries[1::2], strict=True):
            key = self.value(key_node, scope)
            if kind(key) not in ("string", "int", "uint", "bool"):
                raise Failure("type")
            if any(same_key(key, other) for other, _ in made):
                raise Failure("argument")
            made.append((key, self.value(value_node, scope)))
        return made

    def _macro(self, node: Macro, scope: Scope) -> Any:
        elements = self._elements(node, scope)
        inner: list[Scope] = [{**scope, node.variable: element} for element in elements]
        if node.kind in ("all", "exists"):
            assert node.test is not None
            return self._settle([(node.test, each) for each in inner], decisive=node.kind == "exists")
        kept = []
        for element, each in zip(elements, inner, strict=True):
            if node.test is None or truth(self.value(node.test, each)):
                kept.append(element if node.transform is None else self.value(node.transform, each))
        return len(kept) == 1 if node.kind == "exists_one" else kept

    def _elements(self, node: Macro, scope: Scope) -> list[object]:
        """Returns the items of a list or the keys of what is known to be a map; a map from data is no range."""
        found = self.value(node.range, scope)
        if self._types[id(node.range)].kind == "map":
            return [key for key, _ in pairs_of(found)]
        return sequence(found)


def truth(value: object) -> bool:
    """Returns a bool, or fails for what is none."""
    if type(value) is bool:
        return value
    raise Failure("type")


def present(value: object) -> object:
    """Returns what is there; a declared name or field that is None is not."""
    if value is None:
        raise Failure("missing_attribute")
    return value


def field(owner: Any, name: str) -> object:
    """Returns a field of a record, None where it is absent."""
    return owner.get(name) if isinstance(owner, dict) else getattr(owner, name, None)


def pairs_of(value: object) -> list[tuple[object, object]]:
    """Returns the entries of a map, from the expression or from data."""
    if isinstance(value, Pairs):
        return value
    if isinstance(value, dict):
        return list(value.items())
    raise Failure("type")


def _under(entries: list[tuple[object, object]], key: object) -> object:
    for other, value in entries:
        if same_key(other, key):
            return value
    raise Failure("missing_attribute")


def _item(owner: object, key: object) -> object:
    if kind(owner) == "map":
        if kind(key) not in KEYS:
            raise Failure("type")
        return _under(pairs_of(owner), key)
    if not isinstance(owner, list | tuple):
        raise Failure("type")
    if isinstance(key, float) and math.isfinite(key) and key == int(key):
        key = int(key)
    if kind(key) not in ("int", "uint"):
        raise Failure("type")
    assert isinstance(key, int)
    if not 0 <= key < len(owner):
        raise Failure("argument")
    return owner[key]


def _member(needle: object, haystack: object) -> bool:
    if kind(haystack) == "map":
        if kind(needle) not in KEYS:
            raise Failure("type")
        return any(same_key(needle, key) for key, _ in pairs_of(haystack))
    return any(equal(needle, item) for item in sequence(haystack))
