"""The shape of operator and function tables: by name, by the kinds of the arguments, what runs and what it returns.

One table serves the checker, which knows kinds at load, and the evaluation of dynamic values, which looks them up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from discreet.policy.cel.errors import EvaluationError, wrong_type
from discreet.policy.cel.limits import Budget
from discreet.policy.cel.schema import DYN, Type
from discreet.policy.cel.values import kind_of

Implementation = Callable[..., object]
Kinds = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Overload:
    """One meaning of a name: `run` takes the arguments and the budget."""

    run: Implementation
    result: Type


Table = dict[Kinds, Overload]


def candidates(table: Table, kinds: Kinds) -> list[Overload]:
    """Returns the overloads that may apply when some kinds are dyn."""
    exact = table.get(kinds)
    if exact is not None:
        return [exact]
    return [
        overload
        for wanted, overload in table.items()
        if len(wanted) == len(kinds) and all(a in (b, "any") or b == "dyn" for a, b in zip(wanted, kinds, strict=True))
    ]


def result_of(found: list[Overload]) -> Type:
    """Returns the type that all candidates give, dyn where they differ."""
    results = {overload.result for overload in found}
    return results.pop() if len(results) == 1 else DYN


def no_overload(name: str, kinds: Kinds) -> EvaluationError:
    """Returns the error of arguments that no overload takes."""
    return wrong_type(f"{name} does not take {', '.join(kinds) or 'no arguments'}")


def dispatch1(name: str, table: Table, value: object, budget: Budget) -> object:
    """Returns the value of a one-argument function on a dynamic value."""
    overload = table.get((kind_of(value),)) or table.get(("any",))
    if overload is None:
        raise no_overload(name, (kind_of(value),))
    return overload.run(value, budget)


def dispatch2(name: str, table: Table, left: object, right: object, budget: Budget) -> object:
    """Returns the value of a two-argument function or operator on dynamic values."""
    overload = table.get((kind_of(left), kind_of(right)))
    if overload is None:
        raise no_overload(name, (kind_of(left), kind_of(right)))
    return overload.run(left, right, budget)
