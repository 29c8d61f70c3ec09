"""Random texts and random surroundings: loading and evaluating end in a value or in the package's own errors."""

from __future__ import annotations

import random
import time
from typing import Final

from discreet.policy.cel import (
    DYN,
    STRING,
    Budget,
    CelError,
    Condition,
    ConditionFailure,
    ErrorCode,
    EvaluationError,
    Schema,
    compile_condition,
    condition_from_tree,
    map_of,
)
from tests.policy.cel.generator import Generator
from tests.policy.cel.oracle import DATA, LIMITS
from tests.policy.cel.world import SCHEMA, activation, lines

SLOWEST_S: Final = 2.0
PIECES: Final = (
    *"()[]{}\"'\\.,:?!-+*/%<x\n\x00é\ud800",
    *('"""', "'''", 'r"', "b'", "&&", "||", "==", " in ", "//", "0x", "1u", "1.5", "e9", "true", "null", "doc", "kind"),
    *(
        "data",
        "has(",
        ".all(x,",
        ".map(",
        ".exists(doc,",
        "size(",
        "now",
        "timestamp(",
        'duration("1s")',
        "int(",
        "dyn(",
    ),
)


def soup(chance: random.Random) -> str:
    """Returns pieces of the language in no order."""
    return "".join(chance.choice(PIECES) + chance.choice(["", " "]) for _ in range(chance.randrange(1, 25)))


def damaged(chance: random.Random, text: str) -> str:
    """Returns a text with up to three small edits."""
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice((*PIECES, "")) + text[at + chance.randrange(3) :]
    return text


def load(text: str) -> Condition | CelError:
    """Returns the condition of a text, or why there is none."""
    try:
        return compile_condition(text, SCHEMA)
    except CelError as error:
        return error


def use(condition: Condition) -> None:
    """Does everything that a condition can do; its errors must be those of an evaluation, none of them internal."""
    again = condition_from_tree(condition.to_tree(), SCHEMA)
    assert again.digest == condition.digest
    condition.explain(activation(), Budget())
    assert code_of(condition) not in (ErrorCode.INTERNAL, ErrorCode.RESOURCES), condition.text


def code_of(condition: Condition) -> ErrorCode | None:
    """Returns why a condition has no value; None where it has one, or no steps left."""
    try:
        condition.evaluate(activation(), Budget())
    except EvaluationError as error:
        return error.code
    except ConditionFailure:
        return None
    return None


def test_random_text_is_a_condition_or_a_refusal() -> None:
    """F4: whatever stands in a policy, loading it ends fast and in one of two ways."""
    chance = random.Random(20261130)
    texts = [text for _, text, _ in lines()]
    loaded = 0
    for number in range(8000):
        text = soup(chance) if number % 3 == 0 else damaged(chance, chance.choice(texts))
        began = time.process_time()
        found = load(text if number % 2 else f"dyn({text})")
        if isinstance(found, CelError):
            assert found.line >= 1
            assert found.column >= 1
        else:
            use(found)
            loaded += 1
        assert time.process_time() - began < SLOWEST_S, text
    assert loaded > 100


def test_an_equality_that_does_not_hold_makes_any_conjunction_false() -> None:
    """What the index of rules skips by: beside any other parts, erring ones included, in any place."""
    generator, chance = Generator(7), random.Random(7)
    schema = Schema({"d": map_of(STRING, DYN)})
    checked = 0
    for _ in range(500):
        parts = [f"({generator.draw('bool', 3)})" for _ in range(chance.randrange(1, 4))]
        parts.insert(chance.randrange(len(parts) + 1), 'd.s == "something else"')
        try:
            condition = compile_condition(" && ".join(parts), schema, LIMITS)
        except CelError:
            continue
        assert ("d.s", "something else") in condition.equalities
        assert condition.evaluate({"d": DATA}, Budget(10**7)) is False
        checked += 1
    assert checked > 300
