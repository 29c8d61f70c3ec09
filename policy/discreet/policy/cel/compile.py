"""From a checked tree to closures over native values.

A closure takes the activation and the budget. Straight-line cost is not counted while it runs: `cost_of` is charged
before, once, and loops charge for their bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from discreet.policy.cel.access import (
    Run,
    constant,
    declared,
    field_of_name,
    field_of_record,
    has_field,
    has_key_of_map,
    indexed,
    key_of_map,
    listed,
    variable,
)
from discreet.policy.cel.calls import apply, compile_call
from discreet.policy.cel.check import qualified_type
from discreet.policy.cel.compare import equal_runs, equal_to_constant, in_run, in_texts, ordered
from discreet.policy.cel.errors import CelError, bad_argument, wrong_type
from discreet.policy.cel.functions import TYPE_WORDS
from discreet.policy.cel.limits import COLLECTION_BYTES, ENTRY_BYTES, Budget
from discreet.policy.cel.logic import chosen, negated, settled
from discreet.policy.cel.macros import Loop, compile_macro
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
    bodies,
    walk,
)
from discreet.policy.cel.operators import ARITHMETIC, NEGATION, ORDER
from discreet.policy.cel.paths import path_of
from discreet.policy.cel.schema import AnyType, Record, Schema
from discreet.policy.cel.values import TypeValue, Uint, as_key, kind_of

LITERAL_KEY_TYPES: Final = frozenset({str, int, Uint, bool})
#: Paths of the variables of the macros around a node, for errors.
Scope = Mapping[str, str]


def cost_of(*nodes: Node) -> int:
    """Returns the steps of evaluating nodes once, without the rounds of the macros in them."""
    return sum(1 for node in nodes for _, _, macros in walk(node) if macros == 0)


class Compiler:
    """Makes closures of the nodes of one tree, whose types a checker has noted."""

    def __init__(self, schema: Schema, types: Mapping[int, AnyType]) -> None:
        self.names: Final = schema.names
        self.types: Final = types

    def kind(self, node: Node) -> str:
        """Returns the kind of a node's type."""
        return self.types[id(node)].kind

    def compile(self, node: Node, scope: Scope) -> Run:
        """Returns the closure of a node."""
        match node:
            case Const():
                return constant(node.value)
            case Ident():
                return self._ident(node, scope)
            case Select():
                return self._select(node, scope)
            case Has():
                return self._has(node, scope)
            case Index():
                owner, key = self.compile(node.operand, scope), self.compile(node.key, scope)
                return indexed(owner, key, path_of(node, scope))
            case Call():
                runs = [self.compile(arg, scope) for arg in node.args]
                return compile_call(node, runs, tuple(self.kind(arg) for arg in node.args))
            case Unary():
                return self._unary(node, scope)
            case Binary():
                return self._binary(node, scope)
            case Logic():
                return self._logic(node, scope)
            case Ternary():
                parts = (self.compile(part, scope) for part in (node.test, node.yes, node.no))
                return chosen(*parts)
            case ListLit():
                return self._list(node, scope)
            case MapLit():
                return self._map(node, scope)
            case Macro():
                return self._macro(node, scope)

    def _ident(self, node: Ident, scope: Scope) -> Run:
        if node.name in scope:
            return variable(node.name)
        if node.name in self.names:
            return declared(node.name)
        assert node.name in TYPE_WORDS
        return constant(TypeValue(node.name))

    def _select(self, node: Select, scope: Scope) -> Run:
        name = qualified_type(node)
        if name and not {"google"} & {*self.names, *scope}:
            return constant(TypeValue(name))
        path = path_of(node, scope)
        operand = node.operand
        if not isinstance(self.types[id(operand)], Record):
            return key_of_map(self.compile(operand, scope), node.field, path)
        if isinstance(operand, Ident) and operand.name not in scope:
            return field_of_name(operand.name, node.field, path)
        return field_of_record(self.compile(operand, scope), node.field, path)

    def _has(self, node: Has, scope: Scope) -> Run:
        owner = self.compile(node.operand, scope)
        if isinstance(self.types[id(node.operand)], Record):
            return has_field(owner, node.field)
        return has_key_of_map(owner, node.field, path_of(node, scope))

    def _unary(self, node: Unary, scope: Scope) -> Run:
        operand, kind = self.compile(node.operand, scope), self.kind(node.operand)
        if node.op == "!":
            return negated(operand, known=kind == "bool")
        return apply("-", NEGATION, [operand], (kind,))

    def _binary(self, node: Binary, scope: Scope) -> Run:
        left, right = self.compile(node.left, scope), self.compile(node.right, scope)
        kinds = self.kind(node.left), self.kind(node.right)
        if node.op == "==":
            return self._equal(node, left, right, kinds)
        if node.op == "!=":
            return negated(self._equal(node, left, right, kinds), known=True)
        if node.op == "in":
            texts = _texts(node.right)
            if texts is not None and kinds[0] in ("string", "dyn"):
                return in_texts(left, kinds[0], texts)
            return in_run(left, right, kinds[0], self.types[id(node.right)])
        if node.op in ORDER:
            bounded = isinstance(node.left, Const) or isinstance(node.right, Const)
            return ordered(node.op, left, right, kinds, bounded)
        return apply(node.op, ARITHMETIC[node.op], [left, right], kinds)

    def _equal(self, node: Binary, left: Run, right: Run, kinds: tuple[str, str]) -> Run:
        if isinstance(node.right, Const):
            return equal_to_constant(left, kinds[0], node.right.value)
        if isinstance(node.left, Const):
            return equal_to_constant(right, kinds[1], node.left.value)
        return equal_runs(left, right, kinds)

    def _logic(self, node: Logic, scope: Scope) -> Run:
        parts = tuple(self.compile(part, scope) for part in node.parts)
        return settled(parts, node.op, decisive=node.op == "||")

    def _list(self, node: ListLit, scope: Scope) -> Run:
        runs = [self.compile(item, scope) for item in node.items]
        if all(isinstance(item, Const) for item in node.items):
            return constant([run({}, Budget()) for run in runs])
        return listed(runs)

    def _map(self, node: MapLit, scope: Scope) -> Run:
        runs = [self.compile(entry, scope) for entry in node.entries]
        pairs = list(zip(runs[::2], runs[1::2], strict=True))
        _refuse_repeated(node)

        def run(activation: dict[str, object], budget: Budget) -> dict[object, object]:
            made: dict[object, object] = {}
            budget.reserve(COLLECTION_BYTES + ENTRY_BYTES * len(pairs))
            for key_of, value_of in pairs:
                key = key_of(activation, budget)
                if type(key) not in LITERAL_KEY_TYPES:
                    raise wrong_type(f"{kind_of(key)} cannot be a key")
                if as_key(key) in made:
                    raise bad_argument("the same key twice in a map")
                made[as_key(key)] = value_of(activation, budget)
            return made

        return run

    def _macro(self, node: Macro, scope: Scope) -> Run:
        inner = {**scope, node.variable: path_of(node.range, scope) + "[]"}
        loop = Loop(
            kind=node.kind,
            range=self.compile(node.range, scope),
            variable=node.variable,
            test=None if node.test is None else self.compile(node.test, inner),
            transform=None if node.transform is None else self.compile(node.transform, inner),
            round_cost=1 + cost_of(*bodies(node)),
            keyed=self.kind(node.range) == "map",
        )
        return compile_macro(loop)


def _texts(node: Node) -> frozenset[str] | None:
    """Returns the items of a literal list of constant texts, or None for anything else."""
    if not isinstance(node, ListLit):
        return None
    found = [item.value for item in node.items if isinstance(item, Const) and isinstance(item.value, str)]
    return frozenset(found) if len(found) == len(node.items) else None


def _refuse_repeated(node: MapLit) -> None:
    """Raises CelError for a constant key that stands twice in a map."""
    seen: set[object] = set()
    for key in node.entries[::2]:
        if isinstance(key, Const):
            if as_key(key.value) in seen:
                raise CelError("the same key twice in a map", key.start)
            seen.add(as_key(key.value))
