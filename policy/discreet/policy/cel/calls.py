"""Closures of function calls and arithmetic; what is constant is worked out at load, where it can still be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from discreet.policy.cel.access import Run, checked, constant
from discreet.policy.cel.errors import CelError, EvaluationError
from discreet.policy.cel.functions import FUNCTIONS, METHODS
from discreet.policy.cel.limits import CHARS_PER_STEP, Budget
from discreet.policy.cel.nodes import Call, Const
from discreet.policy.cel.overloads import Implementation, Table, dispatch1, dispatch2
from discreet.policy.cel.regex import searcher
from discreet.policy.cel.times import zone

#: Functions of one constant that are worked out at load.
FOLDED: Final = frozenset({"timestamp", "duration"})
ANCHORED: Final[dict[str, Callable[[str, str], bool]]] = {"startsWith": str.startswith, "endsWith": str.endswith}


def apply(name: str, table: Table, runs: list[Run], kinds: tuple[str, ...]) -> Run:
    """Returns the closure of a function or operator, direct where the kinds are known."""
    exact = table.get(kinds) or (table.get(("any",)) if len(kinds) == 1 else None)
    if exact is not None and "dyn" not in kinds:
        return _direct(exact.run, runs)
    if len(runs) == 1:
        (only,) = runs
        return lambda a, b: dispatch1(name, table, only(a, b), b)
    left, right = runs
    return lambda a, b: dispatch2(name, table, left(a, b), right(a, b), b)


def _direct(function: Implementation, runs: list[Run]) -> Run:
    if len(runs) == 1:
        (only,) = runs
        return lambda a, b: function(only(a, b), b)
    left, right = runs
    return lambda a, b: function(left(a, b), right(a, b), b)


def compile_call(node: Call, runs: list[Run], kinds: tuple[str, ...]) -> Run:
    """Returns the closure of a call whose arguments are compiled. Raises CelError for a constant that cannot be."""
    table = (METHODS if node.method else FUNCTIONS)[node.name]
    last = node.args[-1]
    if isinstance(last, Const) and isinstance(last.value, str):
        try:
            special = _with_constant(node, runs, kinds, last.value, table)
        except EvaluationError as error:
            raise CelError(f"{node.name}(): {error.message}", last.start) from None
        if special is not None:
            return special
    return apply(f"{node.name}()", table, runs, kinds)


def _with_constant(node: Call, runs: list[Run], kinds: tuple[str, ...], text: str, table: Table) -> Run | None:
    """Returns the closure of a call whose last argument is a constant text, if there is a better one."""
    if len(runs) == 1:
        return constant(table["string",].run(text, Budget())) if node.name in FOLDED else None
    subject = runs[0] if kinds[0] == "string" else checked(runs[0], str, f"{node.name}()")
    if node.name == "matches":
        search = searcher(text)
        return lambda a, b: search(subject(a, b), b)
    if node.name in ANCHORED:
        test = ANCHORED[node.name]
        return lambda a, b: test(subject(a, b), text)
    if node.name == "contains":
        return _containing(subject, text)
    if node.name.startswith("get"):
        zone(text)
    return None


def _containing(subject: Run, part: str) -> Run:
    def run(activation: dict[str, object], budget: Budget) -> bool:
        text = subject(activation, budget)
        if len(text) > CHARS_PER_STEP:
            budget.charge(len(text) // CHARS_PER_STEP)
        return part in text

    return run
