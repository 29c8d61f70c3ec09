"""What evaluations share, caches of patterns and zones and the parser, gives no thread another's answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from discreet.policy.cel import Budget, ConditionFailure, CostExceeded, Schema, compile_condition
from discreet.policy.cel.regex import PATTERNS_CACHED_MAX
from discreet.policy.cel.schema import INT, STRING, TIMESTAMP
from discreet.policy.cel.values import Timestamp

THREADS: Final = 8
SCHEMA: Final = Schema({"text": STRING, "pattern": STRING, "zone": STRING, "at": TIMESTAMP, "hour": INT})
PLENTY: Final = 10**6
ZONES: Final = {"UTC": 12, "+05:00": 17, "-03:30": 8, "Asia/Tokyo": 21}


def together(ask: Callable[[int, int], str], rounds: int) -> list[str]:
    """Returns what went wrong when every thread asked so many times, all starting at once."""
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> list[str]:
        barrier.wait()
        return [fault for each in range(rounds) if (fault := ask(number, each))]

    with ThreadPoolExecutor(THREADS) as pool:
        return [fault for faults in pool.map(run, range(THREADS)) for fault in faults]


def test_patterns_from_data_do_not_cross() -> None:
    """POL-11: more patterns than the cache holds, each thread its own, bad ones among them."""
    condition = compile_condition("text.matches(pattern)", SCHEMA)

    def ask(number: int, each: int) -> str:
        name = f"{number}x{each % (PATTERNS_CACHED_MAX // 2)}y"
        values: dict[str, object] = {"text": name, "pattern": f"^{name}$" if each % 3 else f"^{number}x.*z$"}
        if condition.evaluate(values, Budget(PLENTY)) is not bool(each % 3):
            return f"{values}"
        try:
            condition.evaluate({"text": name, "pattern": f"({name}"}, Budget(PLENTY))
        except ConditionFailure:
            return ""
        return "a bad pattern had a value"

    assert together(ask, 300) == []


def test_zones_do_not_cross() -> None:
    """POL-11: each thread reads the hour in zones of its own turn."""
    condition = compile_condition("at.getHours(zone) == hour", SCHEMA)
    noon, zones = Timestamp.from_text("2026-06-01T12:00:00Z"), list(ZONES.items())

    def ask(number: int, each: int) -> str:
        zone, hour = zones[(number + each) % len(zones)]
        right = condition.evaluate({"at": noon, "zone": zone, "hour": hour}, Budget(PLENTY))
        wrong = condition.evaluate({"at": noon, "zone": zone, "hour": hour + 1}, Budget(PLENTY))
        return "" if right and not wrong else zone

    assert together(ask, 500) == []


def test_budgets_do_not_cross() -> None:
    """POL-11: one thread that runs out of memory takes none from its neighbours, who share the condition."""
    condition = compile_condition("[1, 2, 3].map(n, text + text).map(t, t + t).size() == 3", SCHEMA)

    def ask(number: int, each: int) -> str:
        if number % 2:
            return "" if condition.evaluate({"text": "x" * number}, Budget(1000)) else "false"
        try:
            condition.evaluate({"text": "x" * 1000}, Budget(1000, 2000))
        except CostExceeded:
            return ""
        return "the memory never ran out"

    assert together(ask, 500) == []


def test_loading_does_not_cross() -> None:
    """POL-11: one parser serves all threads, and the literals of one text never stand in another's."""

    def ask(number: int, each: int) -> str:
        word = f"t{number}-{each}"
        condition = compile_condition(f'text == "{word}" && "{number}" != "x" && pattern == r"{word}"', SCHEMA)
        mine = condition.evaluate({"text": word, "pattern": word}, Budget())
        theirs = condition.evaluate({"text": f"t{number + 1}-{each}", "pattern": word}, Budget())
        return "" if mine and not theirs and word in condition.text else word

    assert together(ask, 60) == []
