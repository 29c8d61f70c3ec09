"""Two evaluators that share no code give the same values and the same classes of error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from discreet.policy.cel import Budget, CelError, EvaluationError, Limits, Schema
from discreet.policy.cel.check import Checker
from discreet.policy.cel.compile import Compiler
from discreet.policy.cel.limits import DEFAULT
from discreet.policy.cel.parse import parse
from discreet.policy.cel.values import from_key
from tests.policy.cel.naive import Naive, pairs_of
from tests.policy.cel.naive_values import Failure, kind
from tests.policy.cel.world import SCHEMA, activation, lines

PLENTY: Final = 10**7


def canonical(value: object) -> Any:
    """Returns a form in which the same values of both evaluators are equal, and only they."""
    match kind(value):
        case "list":
            assert isinstance(value, list | tuple | frozenset)
            return "list", [canonical(item) for item in value]
        case "map":
            return "map", sorted((repr(canonical(from_key(key))), canonical(held)) for key, held in pairs_of(value))
        case found:
            return found, repr(value)


def both(text: str, schema: Schema, values: Mapping[str, object], limits: Limits = DEFAULT) -> tuple[Any, Any] | None:
    """Returns what the compiled and the naive evaluator give, or None for a text that does not load."""
    try:
        root = parse(text, limits)
        checker = Checker(schema)
        checker.check(root, {})
        run = Compiler(schema, checker.types).compile(root, {})
    except CelError:
        return None
    try:
        compiled = canonical(run(dict(values), Budget(PLENTY)))
    except EvaluationError as error:
        compiled = "error", error.code.value
    try:
        return compiled, canonical(Naive(checker.types, values).value(root, {}))
    except Failure as failure:
        return compiled, ("error", failure.code)


def test_the_tables_have_one_meaning() -> None:
    """F12: a second evaluator, written from the definition, gives each line the same value or class of error.

    Each line is tried dynamically too, where nothing is known about its value at load.
    """
    wrong, tried = [], 0
    for place, expression, _ in lines():
        for text in (expression, f"dyn({expression})", f"[{expression}]"):
            found = both(text, SCHEMA, activation())
            if found is not None:
                tried += 1
                if found[0] != found[1]:
                    wrong.append(f"{place}: {text}: compiled {found[0]}, naive {found[1]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 2_000
