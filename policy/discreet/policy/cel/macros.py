"""Closures of the macros. Each charges for all its rounds when it begins and runs its body on its own activation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from discreet.policy.cel.access import Activation, Run
from discreet.policy.cel.errors import EvaluationError, first, wrong_type
from discreet.policy.cel.limits import Budget
from discreet.policy.cel.logic import not_bool
from discreet.policy.cel.operators import items, keys
from discreet.policy.cel.values import kind_of

#: How each native type gives what a macro iterates.
READERS: Final[dict[type, Callable[..., Sequence[object]]]] = {list: items, tuple: items, frozenset: items, dict: keys}


@dataclass(frozen=True, slots=True)
class Loop:
    """A macro whose parts are compiled; `keyed` says that its range is a map by its type."""

    kind: str
    range: Run
    variable: str
    test: Run | None
    transform: Run | None
    round_cost: int
    keyed: bool

    def begin(self, activation: Activation, budget: Budget) -> tuple[Sequence[object], Activation]:
        """Returns what to iterate and the activation of the body, after charging for every round.

        A dynamic range must be a list: a map in its place is more often a mistake in the data than meant, and `all`
        over an empty map would be true.
        """
        value = self.range(activation, budget)
        read = READERS.get(type(value))
        if read is None or (read is keys and not self.keyed):
            raise wrong_type(f"{self.kind}() needs a list, not {kind_of(value)}")
        budget.charge(len(value) * self.round_cost)
        return read(value), dict(activation)


def quantified(loop: Loop, test: Run, decisive: bool) -> Run:
    """Returns the closure of `all` (settled by false) or `exists` (settled by true); errors are absorbed."""
    neutral, name, kind = not decisive, loop.variable, loop.kind

    def run(activation: Activation, budget: Budget) -> bool:
        value: object
        elements, inner = loop.begin(activation, budget)
        failed: EvaluationError | None = None
        for inner[name] in elements:
            try:
                value = test(inner, budget)
                if value is decisive:
                    return decisive
                if value is not neutral:
                    raise not_bool(f"{kind}()", value)
            except EvaluationError as error:
                failed = error if failed is None else first([failed, error])
        if failed:
            raise failed
        return neutral

    return run


def exactly_one(loop: Loop, test: Run) -> Run:
    """Returns the closure of `exists_one`, which absorbs no error and looks at every element."""

    def run(activation: Activation, budget: Budget) -> bool:
        elements, inner = loop.begin(activation, budget)
        budget.reserve_items(len(elements))
        return len(_passing(loop, test, elements, inner, budget)) == 1

    return run


def filtered(loop: Loop, test: Run) -> Run:
    """Returns the closure of `filter`."""

    def run(activation: Activation, budget: Budget) -> list[object]:
        elements, inner = loop.begin(activation, budget)
        budget.reserve_items(len(elements))
        return _passing(loop, test, elements, inner, budget)

    return run


def mapped(loop: Loop, transform: Run) -> Run:
    """Returns the closure of `map`, with or without a test; each element is tested and transformed before the next."""
    test, name, kind = loop.test, loop.variable, loop.kind

    def run(activation: Activation, budget: Budget) -> list[object]:
        elements, inner = loop.begin(activation, budget)
        budget.reserve_items(len(elements))
        made: list[object] = []
        for inner[name] in elements:
            if test is None or truth(kind, test(inner, budget)):
                made.append(transform(inner, budget))
        return made

    return run


def truth(kind: str, value: object) -> bool:
    """Returns what a macro's test gave, or raises for a value that is no bool."""
    if value is True or value is False:
        return value is True
    raise not_bool(f"{kind}()", value)


def _passing(
    loop: Loop, test: Callable[..., object], elements: Sequence[object], inner: Activation, budget: Budget
) -> list[object]:
    """Returns the elements whose test is true; the first error ends it."""
    found: list[object] = []
    for element in elements:
        inner[loop.variable] = element
        if truth(loop.kind, test(inner, budget)):
            found.append(element)
    return found


def compile_macro(loop: Loop) -> Run:
    """Returns the closure of a macro."""
    if loop.transform is not None:
        return mapped(loop, loop.transform)
    assert loop.test is not None
    match loop.kind:
        case "all":
            return quantified(loop, loop.test, decisive=False)
        case "exists":
            return quantified(loop, loop.test, decisive=True)
        case "exists_one":
            return exactly_one(loop, loop.test)
        case _:
            return filtered(loop, loop.test)
