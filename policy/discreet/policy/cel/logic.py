"""Closures of `&&`, `||`, `!` and the ternary: what has a value although a part of it has none.

An error of one part is absorbed by another that settles the whole, wherever it stands; running out of steps never is.
"""

from __future__ import annotations

from discreet.policy.cel.access import Activation, Run
from discreet.policy.cel.errors import EvaluationError, first, wrong_type
from discreet.policy.cel.limits import Budget
from discreet.policy.cel.values import kind_of


def settled(parts: tuple[Run, ...], op: str, decisive: bool) -> Run:
    """Returns the closure of a chain that one decisive part settles: false for `&&`, true for `||`."""
    if len(parts) == 2:
        return _settled2(parts[0], parts[1], op, decisive)
    neutral = not decisive

    def run(activation: Activation, budget: Budget) -> bool:
        errors: list[EvaluationError] | None = None
        for part in parts:
            try:
                value: object = part(activation, budget)
                if value is decisive:
                    return decisive
                if value is neutral:
                    continue
                raise not_bool(op, value)
            except EvaluationError as error:
                errors = [*(errors or ()), error]
        if errors:
            raise first(errors)
        return neutral

    return run


def _settled2(left: Run, right: Run, op: str, decisive: bool) -> Run:
    """Returns the same closure for two parts, the commonest chain, without a loop. Each part runs once at most."""
    neutral = not decisive

    def run(activation: Activation, budget: Budget) -> bool:
        failed: EvaluationError | None = None
        try:
            value: object = left(activation, budget)
            if value is decisive:
                return decisive
            if value is not neutral:
                failed = not_bool(op, value)
        except EvaluationError as error:
            failed = error
        try:
            value = right(activation, budget)
            if value is decisive:
                return decisive
            if value is not neutral:
                raise not_bool(op, value)
        except EvaluationError as error:
            raise first([failed, error] if failed else [error]) from None
        if failed:
            raise failed
        return neutral

    return run


def negated(operand: Run, known: bool) -> Run:
    """Returns the closure of `!`; `known` says that the operand is a bool by its type."""
    if known:
        return lambda activation, budget: not operand(activation, budget)

    def run(activation: Activation, budget: Budget) -> bool:
        value = operand(activation, budget)
        if value is True or value is False:
            return value is False
        raise not_bool("!", value)

    return run


def chosen(test: Run, yes: Run, no: Run) -> Run:
    """Returns the closure of `test ? yes : no`, which evaluates one branch."""

    def run(activation: Activation, budget: Budget) -> object:
        value = test(activation, budget)
        if value is True:
            return yes(activation, budget)
        if value is False:
            return no(activation, budget)
        raise not_bool("?", value)

    return run


def not_bool(what: str, value: object) -> EvaluationError:
    """Returns the error of a value that is no truth value."""
    return wrong_type(f"{what} needs a bool, not {kind_of(value)}")
