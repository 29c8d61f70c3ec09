"""Every operator, macro, conversion and error of the language, as lines of tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from discreet.policy.cel.build import MACROS
from discreet.policy.cel.check import Checker
from discreet.policy.cel.errors import ErrorCode
from discreet.policy.cel.functions import FUNCTIONS, METHODS
from discreet.policy.cel.limits import DEFAULT
from discreet.policy.cel.nodes import Binary, Call, Has, Logic, Macro, Ternary, Unary, walk
from discreet.policy.cel.operators import ARITHMETIC, NEGATION, ORDER
from discreet.policy.cel.parse import parse
from tests.policy.cel.world import SCHEMA, TABLES, agrees, expected_of, lines, outcome_of

CASES = list(lines())


@pytest.mark.parametrize("table", sorted(path.stem for path in TABLES.glob("*.txt")))
def test_every_line_of_a_table_holds(table: str) -> None:
    """F12: each expression has the value, error or refusal that its line states; POL-05 and POL-07 are among them."""
    wrong = []
    for place, expression, expected in CASES:
        if place.startswith(f"{table}:"):
            found = outcome_of(expression)
            if not agrees(found, expected_of(expected)):
                wrong.append(f"{place}: {expression} is {found}, should be {expected}")
    assert not wrong, "\n".join(wrong)


def test_the_tables_are_large_and_say_nothing_twice() -> None:
    """A lost file or a copied line would make the suite weaker without a failure."""
    expressions = [expression for _, expression, _ in CASES]
    assert len(CASES) >= 2_150
    assert len(set(expressions)) == len(expressions)


def test_refusals_say_where() -> None:
    """E1: line and column count from 1 inside the expression, across lines, at the word that is wrong."""
    places = {
        'doc.kind == "memo" &&\n  doc.knd == "x"': "2:7",
        "doc.kind ==": "1:12",
        'doc.kind = "x"': "1:10",
        "true && (false": "1:9",
        'doc.kind == "x': "1:13",
        "nope == 1": "1:1",
        'doc.kind == "a" && frobnicate(1) == 2': "1:20",
        "doc.scopes.al(x, true)": "1:12",
        "[1].all(x, x + 'a' == 1)": "1:13",
        "\n\n  1": "3:3",
        "doc.kind": "1:1",
    }
    found = {}
    for text in places:
        kind, message = condition_outcome(text)
        assert kind == "load", text
        found[text] = message[: len(places[text])]
    assert found == places


def condition_outcome(text: str) -> tuple[str, str]:
    """Returns how loading a text as a condition goes."""
    from discreet.policy.cel import CelError, compile_condition

    try:
        compile_condition(text, SCHEMA)
    except CelError as error:
        return "load", str(error)
    return "fine", ""


def test_the_tables_are_text_files_beside_the_suite() -> None:
    """Each is found by its name, so that a new one is picked up."""
    assert {path.name for path in Path(TABLES).iterdir()} >= {"functions.txt", "macros.txt", "operators.txt"}


def overloads() -> set[tuple[str, tuple[str, ...]]]:
    """Returns each function, method and operator with the kinds of each of its meanings."""
    tables = [*FUNCTIONS.items(), *METHODS.items(), *ARITHMETIC.items(), *ORDER.items(), ("-", NEGATION)]
    return {(name, kinds) for name, table in tables for kinds in table}


def used(text: str) -> set[tuple[str, tuple[str, ...]]]:
    """Returns the same of an expression that has a value, as far as the types of its parts are known at load."""
    root, checker = parse(text, DEFAULT), Checker(SCHEMA)
    checker.check(root, {})
    found: set[tuple[str, tuple[str, ...]]] = set()
    for node, _, _ in walk(root):
        match node:
            case Call():
                kinds = tuple(checker.types[id(arg)].kind for arg in node.args)
                found |= {(node.name, kinds), (node.name, ("any",) * len(kinds))}
            case Unary():
                found.add((node.op, (checker.types[id(node.operand)].kind,)))
            case Binary():
                found.add((node.op, (checker.types[id(node.left)].kind, checker.types[id(node.right)].kind)))
            case Macro():
                found.add((node.kind, ()))
            case Logic() | Has() | Ternary():
                found.add((type(node).__name__, ()))
            case _:
                pass
    return found


def test_every_meaning_of_every_name_has_a_case_with_a_value() -> None:
    """F12: no function, conversion, operator or macro is without a line, for any types that it takes."""
    found = set().union(*(used(text) for _, text, expected in CASES if expected.split()[0] not in ("error", "load")))
    others = {(name, ()) for name in (*MACROS, "Logic", "Has", "Ternary")}
    assert overloads() | others <= found, sorted((overloads() | others) - found)


def test_every_class_of_error_has_cases() -> None:
    """F12: errors are stated as values are; those of the surroundings alone have tests of their own."""
    codes = Counter(expected.split()[1] for _, _, expected in CASES if expected.startswith("error "))
    surroundings = {ErrorCode.RESOURCES, ErrorCode.INTERNAL}
    assert set(codes) == {code.value for code in ErrorCode if code not in surroundings}
    assert min(codes.values()) >= 25
    assert sum(codes.values()) >= 400
