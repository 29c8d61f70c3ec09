"""What an expression makes, texts, lists and maps, is paid for before it exists; data that is read costs nothing."""

from __future__ import annotations

import tracemalloc
from typing import Final

import pytest

from discreet.policy.cel import Budget, CostExceeded, Limits, Schema, compile_condition, list_of
from discreet.policy.cel.limits import DEFAULT_MEMORY_BYTES
from discreet.policy.cel.schema import BYTES, DYN, INT, LIST_DYN, MAP_DYN, STRING

MIB: Final = 1 << 20
#: Steps without end, so that memory alone stops an evaluation.
ENDLESS: Final = 10**12
SCHEMA: Final = Schema(
    {
        "text": STRING, "raw": BYTES, "many": list_of(INT), "texts": list_of(STRING), "lists": LIST_DYN, "any": DYN,
        "data": MAP_DYN,
    }
)  # fmt: skip
DEEPER: Final = Limits(macro_depth_max=4)

#: Each makes far more than the budget out of 64 KiB of text or bytes, or of a thousand numbers, were it let.
ATTACKS: Final = {
    "joined text": "[text].map(t, t + t + t + t).map(t, t + t + t + t).map(t, t + t + t + t).map(t, t + t).size() == 1",
    "joined in a loop": "many.map(m, text + text).size() == 0",
    "joined for a test": "many.all(m, (text + text).size() > 0)",
    "joined and compared": "many.exists(m, text + text == text)",
    "joined under a conditional": "many.exists(m, (text != '' ? text + text : text) == '')",
    "wide text": "many.all(m, (text + '\U0001f600').size() > 0)",
    "joined bytes": "many.map(m, raw + raw).size() == 0",
    "bytes of text": "many.map(m, bytes(text)).size() == 0",
    "text of bytes": "many.map(m, string(raw)).size() == 0",
    "joined lists": "many.map(m, many + many).size() == 0",
    "joined dynamic lists": "many.map(m, lists + lists).size() == 0",
    "nested map": "many.map(a, many.map(b, a)).size() == 0",
    "map with a test": "many.map(a, many.map(b, true, a)).size() == 0",
    "nested filter": "many.map(a, many.filter(b, true)).size() == 0",
    "lists of lists": "many.map(a, many.map(b, [[[[a]]]])).size() == 0",
    "wide lists": "many.map(a, many.map(b, [a, b, a, b, a, b, a, b])).size() == 0",
    "maps": "many.map(a, many.map(b, {'a': a})).size() == 0",
    "wide maps": "many.map(a, many.map(b, {'a': a, 'b': b, 'c': {'d': {}}})).size() == 0",
    "numbers as text": "many.map(a, many.map(b, string(b) + string(a))).size() == 0",
    "lists that grow": "[many].map(l, l + l + l + l).map(l, l + l + l + l).map(l, l + l + l + l + l + l + l) == []",
    "kept by a filter": "many.filter(a, many.filter(b, b >= a).size() > 0).size() == 0",
    "counted by exists_one": "many.exists_one(a, many.exists_one(b, b == a))",
}


def values() -> dict[str, object]:
    """Returns the data of the attacks."""
    return {
        "text": "x" * 65_536, "raw": b"x" * 65_536, "many": list(range(1000)), "texts": ["x"] * 1000,
        "lists": list(range(1000)), "any": "x" * 65_536, "data": {"text": "x" * 65_536},
    }  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_what_an_expression_makes_is_bounded(name: str) -> None:
    """F4: memory stops an evaluation that no step budget would, and nothing inside the expression absorbs that."""
    condition = compile_condition(f"{ATTACKS[name]} || true", SCHEMA, DEEPER)
    data = values()
    tracemalloc.start()
    try:
        with pytest.raises(CostExceeded, match="larger values"):
            condition.evaluate(data, Budget(ENDLESS, MIB))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MIB


@pytest.mark.parametrize("name", ATTACKS)
def test_the_ordinary_budget_bounds_memory_too(name: str) -> None:
    """F4: as a decision runs conditions, steps and memory together, no attack takes more than a few megabytes."""
    condition = compile_condition(ATTACKS[name], SCHEMA, DEEPER)
    data = values()
    tracemalloc.start()
    try:
        with pytest.raises(CostExceeded):
            condition.evaluate(data, Budget())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * DEFAULT_MEMORY_BYTES


@pytest.mark.parametrize(
    "text",
    [
        "text.contains('y') || text.startsWith('x')",
        "any == text && text <= text",
        "data.text.size() == text.size()",
        "many.all(m, m >= 0) && texts.exists(t, t == 'x')",
        "lists == many || 'x' in texts",
        "text.matches('x$')",
        "[1, 2, 3].all(n, n in [1, 2, 3])",
    ],
)
def test_reading_takes_no_memory(text: str) -> None:
    """What is only looked at is paid for in steps: with no memory at all, reading conditions have their values."""
    assert compile_condition(text, SCHEMA).evaluate(values(), Budget(ENDLESS, 0))


def test_memory_at_its_limit_and_one_byte_past_it() -> None:
    """B1: 64 bytes and one for each character of the joined text, to the byte."""
    condition = compile_condition("(text + text).size() == 200", SCHEMA)
    data = {**values(), "text": "x" * 100}
    assert condition.evaluate(data, Budget(1000, 264))
    with pytest.raises(CostExceeded):
        condition.evaluate(data, Budget(1000, 263))


def test_the_memory_of_a_decision_is_one_for_all_its_conditions() -> None:
    """One condition after the other draws on the same budget; it is never given back."""
    condition = compile_condition("(text + text).size() == 200", SCHEMA)
    data = {**values(), "text": "x" * 100}
    budget = Budget(1000, 600)
    assert condition.evaluate(data, budget)
    assert condition.evaluate(data, budget)
    with pytest.raises(CostExceeded):
        condition.evaluate(data, budget)


@pytest.mark.parametrize("size", [10_000, 1_000_000])
def test_a_set_is_paid_for_before_it_is_put_in_order(size: int) -> None:
    """Sets from data are sorted to be read in one order; a large one is refused before that work."""
    condition = compile_condition("lists.all(x, x >= 0)", SCHEMA)
    data = {**values(), "lists": frozenset(range(size))}
    tracemalloc.start()
    try:
        with pytest.raises(CostExceeded):
            condition.evaluate(data, Budget(5_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MIB // 4
