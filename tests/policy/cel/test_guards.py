"""Each limit at it and one past it, and each attack on parser and evaluation, answered fast."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from discreet.policy.cel import (
    Budget,
    CelError,
    CostExceeded,
    ErrorCode,
    EvaluationError,
    Limits,
    Schema,
    compile_condition,
    list_of,
)
from discreet.policy.cel.limits import DEFAULT
from discreet.policy.cel.schema import DYN, INT, LIST_DYN, MAP_DYN, STRING

#: CPU time far above what any of these takes, far below what the attacks take without a guard.
FAST_S = 2.0
EMPTY = Schema({})
DATA = Schema({"data": MAP_DYN, "text": STRING, "many": list_of(INT), "any": DYN, "lists": LIST_DYN})


def refusal(text: str, limits: Limits = DEFAULT) -> str:
    """Returns why a text is refused, having been so within the time that a guard may take."""
    began = time.process_time()
    with pytest.raises(CelError) as refused:
        compile_condition(text, EMPTY, limits)
    assert time.process_time() - began < FAST_S
    return refused.value.message


@pytest.mark.parametrize(
    "at_limit, past_it, words",
    [
        ("true" + " " * 8188, "true" + " " * 8189, "at most 8192"),
        ('"' + "é" * 4092 + '" == ""', '"' + "é" * 4093 + '" == ""', "at most 8192"),
        ("(" * 48 + "true" + ")" * 48, "(" * 49 + "true" + ")" * 49, "more than 48 brackets"),
        ("!" * 63 + "true", "!" * 64 + "true", "deeper than 64"),
        ("true ? true : " * 63 + "true", "true ? true : " * 64 + "true", "deeper than 64"),
        ("1 + " * 62 + "1 == 1", "1 + " * 63 + "1 == 1", "deeper than 64"),
        ("[" + "1," * 1996 + "1] == []", "[" + "1," * 1997 + "1] == []", "more than 2000 parts"),
        ("[1].all(a, [1].all(b, true))", "[1].all(a, [1].all(b, [1].all(c, true)))", "inside more than 1"),
    ],
    ids=["ascii", "utf8", "brackets", "unary", "ternary", "chain", "parts", "loops"],
)
def test_a_limit_holds_at_it_and_one_past_it(at_limit: str, past_it: str, words: str) -> None:
    """B1: what stands at a limit loads, what is one past it is refused and told which limit."""
    compile_condition(at_limit, EMPTY)
    assert words in refusal(past_it)


def test_long_flat_chains_are_no_deep_trees() -> None:
    """A list of five hundred alternatives is ordinary; it neither counts as depth nor recurses."""
    condition = compile_condition("||".join(["false"] * 500 + ["true"]), EMPTY)
    assert condition.evaluate({}, Budget())


@pytest.mark.parametrize(
    "text",
    [
        '"' + "\\n" * 24,
        '"' + "\\n" * 4000,
        "'" + "\\u1234" * 1000,
        '"""' + '\\"' * 3000,
        'r"' + "\\" * 8000,
        '"a\\',
        "(" * 8000,
        "[" * 8000,
        "{" * 8000,
        "!" * 8000 + "true",
        "-" * 8000 + "1",
        "a." * 4000 + "a",
        "a?" * 4000,
        "x[" * 4000,
        "0" * 8000 + "x",
        "1" * 8000,
        "1e" + "9" * 8000,
        "." * 8000,
        "//" * 4000,
        "\x00",
        "\ud800",
        "true\u2028",
        "[" + "," * 8000 + "]",
        "[1" + ", " * 3900 + "]",
        "[1," + " " * 8000 + "x]",
        "data.`" + "a" * 8000,
        "",
        " \n ",
    ],
    ids=range(28),
)
def test_hostile_text_is_refused_fast(text: str) -> None:
    """F4: no text makes the parser slow, recurse, or fail with anything but an error that has a place."""
    assert refusal(text)


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "a && " * n + "a",
        lambda n: "a == 'x' || " * n + "a == 'y'",
        lambda n: "[" + "'x'," * n + "'y']",
        lambda n: "f(" * 40 + "1" + ")" * 40 + " + 1" * n,
    ],
)
def test_any_text_within_the_limits_is_answered_fast(make: Callable[[int], str]) -> None:
    """A text of the full size takes no longer than its size needs, whether it loads or not."""
    n = 1
    while len(make(n + 1)) <= DEFAULT.text_bytes_max:
        n += 1
    assert refusal(make(n))


def test_a_text_that_was_met_before_is_judged_by_the_limits_and_names_of_this_time() -> None:
    """E1: trees are kept, and what they were first parsed for is no part of them."""
    text = "number == 1 || [number].exists(a, a == 2)"
    for _ in range(2):
        assert compile_condition(text, Schema({"number": INT})).evaluate({"number": 1}, Budget())
        assert "parts" in refusal(text, Limits(nodes_max=4))
        assert '"number"' in refusal(text)


@pytest.mark.parametrize("text", ['""\'\'""', "''\"\"", "\"\"''\"\" == 'x'", "'a'\"b\"", "b''\"\"''", "''r''"])
def test_strings_that_touch_are_no_string(text: str) -> None:
    """F12: none is taken for the quotes of another one, however many there are."""
    assert "string" in refusal(text)


def test_parsing_leaves_the_process_as_it_was() -> None:
    """The grammar's own package would raise the recursion limit; only its grammar file is read, and only to parse."""
    program = """
import sys
before = sys.getrecursionlimit()
import discreet.policy.cel as cel
assert not {"lark", "celpy"} & set(sys.modules), "importing must be cheap"
cel.compile_condition("1 + 1 == 2", cel.Schema({}))
assert "celpy" not in sys.modules
assert sys.getrecursionlimit() == before
"""
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], env=path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def evaluate(text: str, values: dict[str, object], budget: Budget, limits: Limits = DEFAULT) -> bool:
    """Returns the value of a condition over the data schema."""
    return compile_condition(text, DATA, limits).evaluate(values, budget)


DEEP = Limits(macro_depth_max=3)
NESTED = "many.all(a, many.all(b, many.all(c, a + b + c >= 0)))"


@pytest.mark.parametrize("size", [25, 60, 10_000])
def test_nested_loops_stop_on_the_budget(size: int) -> None:
    """POL-09: three loops inside each other are refused at load, and where allowed they stop well within a deadline."""
    with pytest.raises(CelError, match="inside more than 1"):
        compile_condition(NESTED, DATA)
    began = time.process_time()
    with pytest.raises(CostExceeded):
        evaluate(NESTED, {"many": list(range(size))}, Budget(), DEEP)
    assert time.process_time() - began < FAST_S


@pytest.mark.parametrize(
    "text",
    [
        "many.all(a, many.all(b, a + b >= 0))",
        "true || many.exists(a, many.all(b, a + b >= 0))",
        "many.all(a, many.all(b, a + b >= 0)) || true",
        "!many.all(a, many.all(b, a + b >= 0))",
        "many.exists(a, many.exists(b, a + b < 0) || false)",
        "many.exists_one(a, many.all(b, a + b >= 0))",
        "many.map(a, many.map(b, a + b)).size() > 0",
        "many.filter(a, many.exists(b, a + b < 0)).size() == 0",
        "many.map(a, many).map(b, b + b + b + b).size() > 0",
        "many.map(a, many) == many.map(a, many)",
        "many.map(a, many).all(m, m == many)",
    ],
)
def test_nothing_absorbs_running_out_of_steps(text: str) -> None:
    """F12: unlike an error, an exhausted budget ends the decision whatever stands around it."""
    if text.startswith("true ||"):
        assert evaluate(text, {"many": list(range(1000))}, Budget())
    else:
        with pytest.raises(CostExceeded):
            evaluate(text, {"many": list(range(1000))}, Budget())


@pytest.mark.parametrize(
    "text, size",
    [
        ("text.contains(text)", 4_000_000),
        ("text.contains('needle')", 4_000_000),
        ("text + text == text", 4_000_000),
        ("text == any", 4_000_000),
        ("text < any", 4_000_000),
        ("bytes(text) == b''", 4_000_000),
        ("text.matches('(x+x+)+y')", 2_000_000),
        ("text.matches(any)", 2_000_000),
        ("(text + text + text + text).size() == 0", 1_000_000),
        ("many.map(m, text + text).size() == 0", 20_000),
    ],
)
def test_long_text_costs_steps(text: str, size: int) -> None:
    """Text and pattern work is charged by length, before it is done."""
    values: dict[str, object] = {"text": "x" * size, "any": "x" * size, "many": list(range(100))}
    if "matches(any)" in text:
        values["any"] = "x?y"
    with pytest.raises(CostExceeded):
        evaluate(text, values, Budget(20_000))
    values["text"] = values["any"] = "x"
    evaluate(text, values, Budget(20_000))


def test_text_cannot_be_doubled_into_memory() -> None:
    """Repeated joining grows exponentially; the charge comes before the memory."""
    text = "[text]" + ".map(t, t + t + t + t + t + t + t + t)" * 12 + ".size() == 1"
    with pytest.raises(CostExceeded):
        evaluate(text, {"text": "x" * 1000}, Budget())


@pytest.mark.parametrize("pattern", [r"[\pL\pN]{1000}", r"(\pL{30}){30}", "(", "a" * 1025])
def test_patterns_from_data_are_bounded(pattern: str) -> None:
    """A pattern that would be large is an error, in milliseconds, each time anew."""
    began = time.process_time()
    for _ in range(20):
        with pytest.raises(EvaluationError) as failed:
            evaluate("text.matches(any)", {"text": "abc", "any": pattern}, Budget())
        assert failed.value.code is ErrorCode.ARGUMENT
    assert time.process_time() - began < FAST_S


def test_many_patterns_from_data_run_out_of_steps() -> None:
    """A list of patterns is not compiled without end."""
    patterns = [f"a{n}" for n in range(1000)]
    with pytest.raises(CostExceeded):
        evaluate("lists.exists(p, text.matches(p))", {"text": "abc", "lists": patterns}, Budget())


@pytest.mark.parametrize("text", ["1" + "h" * 60 + "!", "1" * 64, "1h" * 32, "." * 64, "1h" * 100_000, "9" * 1_000_000])
def test_durations_and_times_from_data_are_read_in_linear_time(text: str) -> None:
    """The grammar's own reader is exponential on some of these."""
    began = time.process_time()
    for function in ("duration", "timestamp", "int", "uint", "double", "bool"):
        with contextlib.suppress(EvaluationError):
            evaluate(f"type({function}(any)) == string", {"any": text}, Budget(10**9))
    assert time.process_time() - began < FAST_S


def test_data_nested_beyond_the_stack_is_an_error() -> None:
    """RecursionError becomes an error of the evaluation that nothing inside absorbs, and the next call is normal."""
    deep: object = "x"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EvaluationError) as failed:
        evaluate("any == lists || true", {"any": deep, "lists": deep}, Budget(10**9))
    assert failed.value.code is ErrorCode.RESOURCES
    assert evaluate("any == lists", {"any": [], "lists": []}, Budget())


def test_values_that_break_their_declaration_are_errors() -> None:
    """A caller's mistake withholds: it is neither a truth value nor an exception of Python."""
    for value in (object(), 3, {1, 2}, b"x", None):
        with pytest.raises(EvaluationError):
            evaluate("text.contains('a') || many.all(m, m + 1 == 2)", {"text": value, "many": value}, Budget())
