"""Closures of `==`, `!=`, `<` and its like, and `in`, the shortest that the types allow.

Types from the schema are trusted: a field declared as a string holds one. Dynamic values are looked at each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from discreet.policy.cel.access import Activation, Run
from discreet.policy.cel.limits import Budget
from discreet.policy.cel.operators import EXACT_MAX, NUMBER_TYPES, ORDER, contained, equal, mixes_double
from discreet.policy.cel.overloads import dispatch2
from discreet.policy.cel.schema import NUMERIC, AnyType

MOMENTS: Final = frozenset({"timestamp", "duration"})
#: Kinds whose values of one kind are equal as Python has it, at a cost that does not depend on their size.
PLAIN: Final = frozenset({"bool", "null", *NUMERIC})

ORDERED: Final[dict[str, Callable[[Run, Run], Run]]] = {
    "<": lambda x, y: lambda a, b: x(a, b) < y(a, b),
    "<=": lambda x, y: lambda a, b: x(a, b) <= y(a, b),
    ">": lambda x, y: lambda a, b: x(a, b) > y(a, b),
    ">=": lambda x, y: lambda a, b: x(a, b) >= y(a, b),
}
MOMENTS_ORDERED: Final[dict[str, Callable[[Run, Run], Run]]] = {
    "<": lambda x, y: lambda a, b: x(a, b).ns < y(a, b).ns,
    "<=": lambda x, y: lambda a, b: x(a, b).ns <= y(a, b).ns,
    ">": lambda x, y: lambda a, b: x(a, b).ns > y(a, b).ns,
    ">=": lambda x, y: lambda a, b: x(a, b).ns >= y(a, b).ns,
}


def ordered(op: str, left: Run, right: Run, kinds: tuple[str, str], bounded: bool) -> Run:
    """Returns the closure of an order; `bounded` says that one side is a constant, so that a text costs little."""
    if kinds[0] == kinds[1] and kinds[0] in MOMENTS:
        return MOMENTS_ORDERED[op](left, right)
    numbers = set(kinds) <= NUMERIC and not mixes_double(*kinds)
    if numbers or (kinds[0] == kinds[1] and (kinds[0] == "bool" or (bounded and "dyn" not in kinds))):
        return ORDERED[op](left, right)
    table = ORDER[op]
    return lambda a, b: dispatch2(op, table, left(a, b), right(a, b), b)


def equal_to_constant(run: Run, kind: str, value: object) -> Run:
    """Returns the closure of `x == constant`."""
    if value is None or value is True or value is False:
        return lambda a, b: run(a, b) is value
    if isinstance(value, float) and kind != "double":
        return lambda a, b: type(found := run(a, b)) in NUMBER_TYPES and float(found) == value
    if isinstance(value, int) and (kind == "double" or abs(value) > EXACT_MAX):
        return lambda a, b: equal(run(a, b), value, b)
    if kind == "dyn" and isinstance(value, int):
        return lambda a, b: type(found := run(a, b)) in NUMBER_TYPES and found == value
    return lambda a, b: run(a, b) == value


def equal_runs(left: Run, right: Run, kinds: tuple[str, str]) -> Run:
    """Returns the closure of `x == y`."""
    if (set(kinds) <= NUMERIC and not mixes_double(*kinds)) or (kinds[0] == kinds[1] and kinds[0] in PLAIN):
        return lambda a, b: left(a, b) == right(a, b)
    if kinds[0] == kinds[1] and kinds[0] in MOMENTS:
        return lambda a, b: left(a, b).ns == right(a, b).ns
    return lambda a, b: equal(left(a, b), right(a, b), b)


def in_texts(run: Run, kind: str, texts: frozenset[str]) -> Run:
    """Returns the closure of `x in ["a", "b"]`."""
    if kind == "string":
        return lambda a, b: run(a, b) in texts
    return lambda a, b: isinstance(found := run(a, b), str) and found in texts


def in_run(left: Run, right: Run, kind: str, container: AnyType) -> Run:
    """Returns the closure of `x in y`."""
    if kind != "string" or container.kind != "list" or str(container) != "list(string)":
        return lambda a, b: contained(left(a, b), right(a, b), b)

    def run(activation: Activation, budget: Budget) -> Any:
        needle, texts = left(activation, budget), right(activation, budget)
        if type(texts) is not frozenset:
            budget.charge(len(texts))
        return needle in texts

    return run
