"""A loaded condition: immutable, shared by threads, evaluated on one activation with one budget at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from discreet.policy.cel.access import Run
from discreet.policy.cel.check import Checker
from discreet.policy.cel.compile import Compiler, cost_of
from discreet.policy.cel.errors import CelError, ConditionFailure, CostExceeded, ErrorCode, EvaluationError
from discreet.policy.cel.limits import DEFAULT, Budget, Limits
from discreet.policy.cel.logic import not_bool
from discreet.policy.cel.nodes import Logic, Node, Ternary, Unary
from discreet.policy.cel.parse import parse
from discreet.policy.cel.paths import Equality, equalities_of, reads_of
from discreet.policy.cel.schema import AnyType, Schema
from discreet.policy.cel.tree import Tree, digest_of, from_tree, to_tree

#: What a value of the wrong shape in the activation makes Python raise; each becomes an error that withholds.
UNFIT: Final = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, AssertionError)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a condition's boolean structure with its value, or the error that it has instead."""

    text: str
    offset: int
    depth: int
    outcome: bool | ConditionFailure


class Condition:
    """A condition that has been parsed, checked and compiled. Made by `compile_condition` or `condition_from_tree`.

    `reads` are the paths it may read. `equalities` are pairs of path and constant that it cannot be true without:
    where the path holds another value (as CEL compares), it is false; where the path is absent, evaluate it.
    """

    __slots__ = ("_compiler", "_cost", "_root", "_run", "equalities", "reads", "text")

    def __init__(self, text: str, root: Node, schema: Schema) -> None:
        checker = Checker(schema)
        found = checker.check(root, {})
        if found.kind not in ("bool", "dyn"):
            raise CelError(f"a condition is true or false, this is {found}", root.start, hint="compare it")
        self._compiler: Final = Compiler(schema, checker.types)
        self._root: Final = root
        self._run: Final = self._compiler.compile(root, {})
        self._cost: Final = cost_of(root)
        self.text: Final = text
        self.reads: Final[frozenset[str]] = frozenset(
            path for path in reads_of(root) if path.split(".")[0].split("[")[0] in schema.names
        )
        self.equalities: Final[tuple[Equality, ...]] = tuple(equalities_of(root))

    def evaluate(self, activation: Mapping[str, object], budget: Budget) -> bool:
        """Returns the value of the condition.

        Raises EvaluationError when it has none, its message safe to log, and CostExceeded when the budget ran out;
        the caller withholds on both.
        """
        return _evaluate(self._run, self._cost, activation, budget)

    def explain(self, activation: Mapping[str, object], budget: Budget) -> list[Part]:
        """Returns the value or error of each part of the boolean structure, from the whole to its leaves.

        Every part is evaluated, those that a real evaluation skips too; when the budget runs out, the parts that are
        left say so.
        """
        return [self._explained(node, depth, activation, budget) for node, depth in _structure(self._root, 0)]

    def _explained(self, node: Node, depth: int, activation: Mapping[str, object], budget: Budget) -> Part:
        text = self.text[node.start : node.end]
        try:
            run = self._compiler.compile(node, {})
            return Part(text, node.start, depth, _evaluate(run, cost_of(node), activation, budget))
        except (EvaluationError, CostExceeded) as failure:
            return Part(text, node.start, depth, failure)

    @property
    def digest(self) -> str:
        """The SHA-256 of the tree, in hex: layout and brackets change nothing. Made when it is asked for."""
        return digest_of(self._root)

    @property
    def root(self) -> Node:
        """The tree of the condition; immutable."""
        return self._root

    def type_of(self, node: Node) -> AnyType:
        """Returns the type of a node of `root`; dyn where only its value will tell."""
        return self._compiler.types[id(node)]

    def to_tree(self) -> Tree:
        """Returns the parsed tree as JSON-able data, from which `condition_from_tree` makes the same condition."""
        return to_tree(self.text, self._root)

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"


def _evaluate(run: Run, cost: int, activation: Mapping[str, object], budget: Budget) -> bool:
    """Returns the value of a closure. The one place that turns what Python raises into an error of the evaluation."""
    budget.charge(cost)
    try:
        value = run(activation if type(activation) is dict else dict(activation), budget)
    except ConditionFailure:
        raise
    except (RecursionError, MemoryError):
        raise EvaluationError(ErrorCode.RESOURCES, "the condition needs more depth or memory than there is") from None
    except UNFIT as error:
        cause = type(error).__name__
        raise EvaluationError(ErrorCode.INTERNAL, f"a value does not fit its declaration ({cause})") from None
    if value is True or value is False:
        return value is True
    raise not_bool("a condition", value)


def _structure(node: Node, depth: int) -> Iterator[tuple[Node, int]]:
    """Yields a node and, below it, what `&&`, `||`, `!` and the ternary join."""
    yield node, depth
    match node:
        case Logic():
            below: tuple[Node, ...] = node.parts
        case Unary() if node.op == "!":
            below = (node.operand,)
        case Ternary():
            below = node.test, node.yes, node.no
        case _:
            below = ()
    for each in below:
        yield from _structure(each, depth + 1)


def compile_condition(text: str, schema: Schema, limits: Limits = DEFAULT) -> Condition:
    """Returns the condition of a text. Raises CelError with line and column inside the text."""
    return _located(text, parse(text, limits), schema)


def condition_from_tree(tree: object, schema: Schema, limits: Limits = DEFAULT) -> Condition:
    """Returns the condition of a tree made by `to_tree`; no parser runs. Raises CelError."""
    return _located(*from_tree(tree, limits), schema)


def _located(text: str, root: Node, schema: Schema) -> Condition:
    try:
        return Condition(text, root, schema)
    except CelError as error:
        raise error.located(text) from None
