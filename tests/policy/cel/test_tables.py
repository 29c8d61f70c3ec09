"""Every operator, macro, conversion and error of the language, as lines of tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.policy.cel.world import TABLES, agrees, expected_of, lines, outcome_of

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
    from tests.policy.cel.world import SCHEMA

    try:
        compile_condition(text, SCHEMA)
    except CelError as error:
        return "load", str(error)
    return "fine", ""


def test_the_tables_are_text_files_beside_the_suite() -> None:
    """Each is found by its name, so that a new one is picked up."""
    assert {path.name for path in Path(TABLES).iterdir()} >= {"functions.txt", "macros.txt", "operators.txt"}
