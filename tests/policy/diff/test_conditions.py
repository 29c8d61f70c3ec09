"""Conditions compared by their trees: what is said to be the same, wider or narrower is so, whatever is read."""

from __future__ import annotations

import random
import re
from functools import cache
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.cel import (
    MAP_DYN,
    Budget,
    CelError,
    Condition,
    ConditionFailure,
    Record,
    Schema,
    Timestamp,
    compile_condition,
)
from discreet.policy.cel.nodes import Node
from discreet.policy.cel.schema import BOOL, INT, STRING, TIMESTAMP, list_of
from discreet.policy.cel.tree import digest_of
from discreet.policy.diff.conditions import compare
from discreet.policy.diff.normal import normal
from discreet.policy.diff.order import Order
from discreet.policy.diff.text import condition_text
from tests.policy.cel.generator import Generator

SCHEMA: Final = Schema(
    {
        "d": Record({"a": BOOL, "b": BOOL, "c": BOOL, "s": STRING, "n": INT, "m": MAP_DYN, "l": list_of(STRING)}),
        "now": TIMESTAMP,
    }
)
DYNAMIC: Final = Schema({"d": MAP_DYN})
ATOMS: Final = (
    "d.a", "d.b", "d.c", "!d.a", "true", "false", "d.m.x", "d.m.flag", "has(d.m.x)",
    'd.s == "a"', '"b" == d.s', 'd.s in ["a"]', 'd.s in ["a", "b"]', 'd.s in ["b", "a", "c"]', 'd.m.x in ["a", "b"]',
    'd.m.x == "a"', "d.n < 1", "d.n < 2", "d.n <= 2", "1 < d.n", "2 < d.n", "d.n > 2", "d.n >= 3", "d.m.x < 2",
    "d.m.x < 3", "d.m.x < 2.5", "d.m.x == 1", 'now < timestamp("2026-01-01T00:00:00Z")',
    'now < timestamp("2027-01-01T00:00:00+02:00")', 'now > timestamp("2026-06-01T00:00:00Z")',
    'now - timestamp("2026-01-01T00:00:00Z") < duration("24h")',
    'now - timestamp("2026-01-01T00:00:00Z") < duration("48h")',
    'd.l.exists(x, x == "a")', 'd.l.exists(y, y in ["a", "b"])', 'd.l.all(x, x == "a")', 'd.l.all(x, x in ["a", "b"])',
    'd.l.exists_one(x, x == "a")', "1 / d.n == 1",
)  # fmt: skip


@cache
def condition(text: str) -> Condition:
    """A condition over the activation of this module."""
    return compile_condition(text, SCHEMA)


def form(text: str) -> Node:
    """The normal form of a condition's text."""
    return normal(condition(text))


@cache
def activations(seed: int, count: int = 40) -> list[dict[str, object]]:
    """Values to read: of the declared types, and maps in which things are missing or of other types."""
    chance = random.Random(seed)
    pick = chance.choice

    def one() -> dict[str, object]:
        found: dict[str, object] = {"x": pick(["a", "b", "z", 1, 2, 2.5, True, None]), "flag": pick([True, False, 1])}
        data = {key: value for key, value in found.items() if chance.random() < 0.8}
        texts = tuple(pick("abz") for _ in range(pick([0, 1, 2, 3])))
        record = {name: pick([True, False]) for name in "abc"}
        year = pick([1_735_689_600, 1_767_225_600, 1_767_300_000, 1_780_000_000, 1_798_761_599, 1_900_000_000])
        read = {**record, "s": pick(["a", "b", "c", ""]), "n": pick([0, 1, 2, 3, 4]), "m": data, "l": texts}
        return {"d": read, "now": Timestamp(year * 10**9)}

    return [one() for _ in range(count)]


def outcome(condition: Condition, activation: dict[str, object]) -> int:
    """False, an error, or true, in this order."""
    try:
        return 2 if condition.evaluate(activation, Budget()) else 0
    except ConditionFailure:
        return 1


@st.composite
def texts(draw: st.DrawFn, depth: int = 3) -> str:
    """A condition of atoms and what joins them."""
    word = draw(st.sampled_from(["atom", "atom", "&&", "||", "!", "?:"] if depth else ["atom"]))
    if word == "atom":
        return draw(st.sampled_from(ATOMS))
    below = [
        draw(texts(depth=depth - 1))
        for _ in range(1 if word == "!" else 3 if word == "?:" else draw(st.integers(2, 3)))
    ]
    if word == "!":
        return f"!({below[0]})"
    if word == "?:":
        return "({}) ? ({}) : ({})".format(*below)
    return f" {word} ".join(f"({part})" for part in below)


@st.composite
def edited(draw: st.DrawFn) -> tuple[str, str]:
    """A condition, and the same with one of its atoms put out for another, with a part less, or one more."""
    text = draw(texts())
    standing = [atom for atom in ATOMS if bracketed(atom).search(text)]
    atom, other = draw(st.sampled_from(standing or [text])), draw(st.sampled_from(ATOMS))
    put = draw(st.sampled_from([other, f"({atom}) && ({other})", f"({other}) || ({atom})", f"({other}) && ({atom})"]))
    return text, bracketed(atom).sub(lambda _: f"({put})", text, count=1) if standing else put


def bracketed(atom: str) -> re.Pattern[str]:
    """An atom as `texts` joins it, and not as the argument of a function."""
    return re.compile(rf"(?<![a-z])\({re.escape(atom)}\)")


def holds(old: str, new: str, seed: int) -> Order:
    """Compares two conditions, and holds what is found against their values."""
    one, other = condition(old), condition(new)
    found = compare(normal(one), normal(other))
    assert compare(normal(other), normal(one)) is found.turned
    for activation in activations(seed):
        before, after = outcome(one, activation), outcome(other, activation)
        if found is Order.SAME:
            assert before == after
        elif found is Order.WIDER:
            assert before <= after
        elif found is Order.NARROWER:
            assert before >= after
    return found


@given(texts(), texts(), st.integers(0, 2**32))
def test_how_conditions_are_said_to_stand_is_how_they_stand(old: str, new: str, seed: int) -> None:
    """F8, POL-01: over any two conditions: false, an error and true never fall where the new one is called wider."""
    holds(old, new, seed)


@given(edited(), st.integers(0, 2**32))
def test_how_edited_conditions_are_said_to_stand_is_how_they_stand(pair: tuple[str, str], seed: int) -> None:
    """F8: likewise over a condition and what an edit of one of its parts makes of it."""
    holds(*pair, seed)


def test_atoms_are_told_apart_pair_by_pair() -> None:
    """F8: over every two single comparisons, and many of them are told for certain."""
    found = [holds(old, new, 7) for old in ATOMS for new in ATOMS if old != new]
    assert found.count(Order.WIDER) == found.count(Order.NARROWER) > 60


SAME: Final = (
    ("d.a && d.b", "  (d.a)\n  && ((d.b)) // both"),
    ("d.a && d.b && d.c", "d.a && (d.b && d.c)"),
    ("d.a && d.b && d.c", "(d.a && d.b) && d.c"),
    ("d.a || (d.b || d.c)", "d.a || d.b || d.c"),
    ('d.l.exists(x, x == "a")', 'd.l.exists(name, name == "a")'),
    ("d.l.all(x, d.l.exists(y, x == y))", "d.l.all(x1, d.l.exists(x2, x1 == x2))"),
    ('now < timestamp("2026-01-01T00:00:00Z")', 'now < timestamp("2026-01-01T02:00:00+02:00")'),
    ('now - now < duration("1h30m")', 'now - now < duration("90m")'),
    ('d.s == "a"', "d.s == 'a'"),
)
DIFFERENT: Final = (
    ("d.a && d.b", "d.b && d.a"),
    ("d.n == 1", "1 == d.n"),
    ("d.m.x == 1", "d.m.x == 1.0"),
    ("d.m.x == 1", "d.m.x == 1u"),
    ("d.m.x == true", "d.m.x == 1"),
    ('d.m.x == "a"', 'd.m.x == b"a"'),
    ("d.l.all(x, d.l.exists(x, x == x))", "d.l.all(x, d.l.exists(y, x == y))"),
    ("d.a && d.b || d.c", "d.a && (d.b || d.c)"),
)


@pytest.mark.parametrize("old, new", SAME)
def test_what_is_written_otherwise_is_the_same(old: str, new: str) -> None:
    """F8: brackets, layout, comments, names of variables and spellings of one time are no difference."""
    assert digest_of(form(old)) == digest_of(form(new))
    assert holds(old, new, 3) is Order.SAME


@pytest.mark.parametrize("old, new", DIFFERENT)
def test_what_says_something_else_is_a_difference(old: str, new: str) -> None:
    """F8: so are values of another type, and the order of parts, which can decide which error is told."""
    assert digest_of(form(old)) != digest_of(form(new))


def test_a_variable_that_hides_another_is_not_taken_for_it() -> None:
    """F8: three loops deep, of which the second hides the first's variable, each name keeps its own place."""
    hiding = form("d.l.all(x, d.l.exists(x, x == d.s))")
    plain = form("d.l.all(x, d.l.exists(y, y == d.s))")
    other = form("d.l.all(x, d.l.exists(y, x == d.s))")
    assert digest_of(hiding) == digest_of(plain) != digest_of(other)


ORDERED: Final = (
    ("d.a && d.b", "d.a", Order.WIDER),
    ("d.a", "d.a || d.b", Order.WIDER),
    ("d.a", "true", Order.WIDER),
    ("!(d.a || d.b)", "!d.a", Order.WIDER),
    ('d.s == "a"', 'd.s in ["a", "b"]', Order.WIDER),
    ('d.a && d.s in ["a", "b"]', 'd.a && d.s in ["a", "b", "c"]', Order.WIDER),
    ('!(d.s in ["a", "b"])', '!(d.s in ["a"])', Order.WIDER),
    ("d.n < 1", "d.n < 2", Order.WIDER),
    ("d.n > 1", "d.n > 2", Order.NARROWER),
    ("1 < d.n", "0 < d.n", Order.WIDER),
    ("d.n < d.m.x", "d.n <= d.m.x", Order.WIDER),
    ("d.n >= 1", "d.n > 1", Order.NARROWER),
    ('now < timestamp("2026-01-01T00:00:00Z")', 'now < timestamp("2027-01-01T00:00:00Z")', Order.WIDER),
    ('d.l.exists(x, x in ["a"])', 'd.l.exists(x, x in ["a", "b"])', Order.WIDER),
    ("d.a ? d.b : d.c && d.b", "d.a ? d.b : d.c", Order.WIDER),
    ("d.a && d.b", "d.b && d.a", Order.SAME),
    ("d.a && d.n < 1", "d.b && d.n < 2", Order.OTHER),
    ("d.n < 1", "d.n < 1.5", Order.OTHER),
    ("d.n < 1", "d.n > 1", Order.OTHER),
    ('d.l.exists_one(x, x == "a")', 'd.l.exists_one(x, x in ["a", "b"])', Order.OTHER),
)


@pytest.mark.parametrize("old, new, order", ORDERED)
def test_what_can_be_told_is_told(old: str, new: str, order: Order) -> None:
    """F8: the edits that policies see most, each way."""
    assert holds(old, new, 5) is order
    assert holds(new, old, 5) is order.turned


def test_the_text_of_a_tree_is_read_as_that_tree() -> None:
    """F8: what a report shows of a condition means that condition, over random expressions of every form."""
    read = 0
    for seed in range(600):
        text = Generator(seed).draw("bool", 4)
        try:
            made = compile_condition(text, DYNAMIC)
        except CelError:
            continue
        again = compile_condition(condition_text(normal(made)), DYNAMIC)
        assert digest_of(normal(again)) == digest_of(normal(made)), text
        read += 1
    assert read > 200


@given(texts())
def test_the_text_of_a_condition_is_read_as_that_condition(text: str) -> None:
    """F8: likewise over deep conditions, brackets and all."""
    assert digest_of(form(condition_text(form(text)))) == digest_of(form(text))
