"""Equality, order and arithmetic of the naive evaluator, on exact numbers: integers, fractions, whole nanoseconds."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from typing import Any, Final

from discreet.policy.cel.values import Duration, Timestamp, TypeValue, Uint

SECOND: Final = 10**9
#: The first and the last nanosecond of the years 1 and 9999.
FIRST: Final = (date(1, 1, 1) - date(1970, 1, 1)).days * 86_400 * SECOND
LAST: Final = ((date(9999, 12, 31) - date(1970, 1, 1)).days + 1) * 86_400 * SECOND - 1
NUMBERS: Final = ("int", "uint", "double")
KEYS: Final = ("string", "bool", *NUMBERS)


class Failure(Exception):
    """An error of the evaluation; `code` is its class, by the word that the package uses."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code: Final = code


class Pairs(list[tuple[object, object]]):
    """A map of the expression: its entries in order, found by looking at each."""


def kind(value: object) -> str:
    """Returns the word for the type of a value."""
    if value is None:
        return "null"
    if isinstance(value, Pairs | dict):
        return "map"
    if isinstance(value, list | tuple | frozenset):
        return "list"
    words = {
        bool: "bool", int: "int", Uint: "uint", float: "double", str: "string", bytes: "bytes", Timestamp: "timestamp",
        Duration: "duration", TypeValue: "type",
    }  # fmt: skip
    return words.get(type(value), "record")


def sequence(value: object) -> list[object]:
    """Returns the items of a list; those of a set in one order."""
    if isinstance(value, frozenset):
        return sorted(value, key=lambda item: (str(type(item)), item))
    if kind(value) == "list":
        assert isinstance(value, list | tuple)
        return list(value)
    raise Failure("type")


def equal(left: object, right: object) -> bool:
    """Says whether two values are equal; numbers are by what they stand for, other kinds only within one kind."""
    a, b = kind(left), kind(right)
    if a in NUMBERS and b in NUMBERS:
        return _compared(left, right) == 0
    if a != b or a == "record":
        return False
    if a == "list":
        ours, theirs = sequence(left), sequence(right)
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    if a == "map":
        ours_, theirs_ = _entries(left), _entries(right)
        return len(ours_) == len(theirs_) and all(
            any(same_key(key, other) and equal(value, held) for other, held in theirs_) for key, value in ours_
        )
    return left == right


def same_key(left: Any, right: Any) -> bool:
    """Says whether a map finds a key by another: numbers must be the same to the last digit."""
    if kind(left) in NUMBERS and kind(right) in NUMBERS:
        unlike_any = any(isinstance(key, float) and not math.isfinite(key) for key in (left, right))
        return not unlike_any and Fraction(left) == Fraction(right)
    return equal(left, right)


def _entries(value: Any) -> list[tuple[object, object]]:
    return value if isinstance(value, Pairs) else list(value.items())


def _compared(left: Any, right: Any) -> int | None:
    """Returns -1, 0 or 1 as a number is less, equal or greater; None where one is no number at all.

    A whole number beside a double counts as the nearest double, as in the conformance suite.
    """
    if left != left or right != right:
        return None
    infinite = (math.inf, -math.inf)
    if left in infinite or right in infinite:
        return (float(left) > float(right)) - (float(left) < float(right))
    if isinstance(left, float) != isinstance(right, float):
        left, right = float(left), float(right)
    a, b = Fraction(left), Fraction(right)
    return (a > b) - (a < b)


def ordered(op: str, left: Any, right: Any) -> bool:
    """Returns the value of an order; text is ordered by code points, times by their nanoseconds."""
    a, b = kind(left), kind(right)
    if a in NUMBERS and b in NUMBERS:
        found = _compared(left, right)
    elif a == b and a in ("bool", "string", "bytes"):
        keys = [list(map(ord, text)) if a == "string" else text for text in (left, right)]
        found = (keys[0] > keys[1]) - (keys[0] < keys[1])
    elif a == b and a in ("timestamp", "duration"):
        found = (left.ns > right.ns) - (left.ns < right.ns)
    else:
        raise Failure("type")
    return found is not None and {"<": found < 0, "<=": found <= 0, ">": found > 0, ">=": found >= 0}[op]


def whole(value: int, of: str) -> int:
    """Returns an integer of 64 bits, or fails for one that is none."""
    low, high = (0, 2**64) if of == "uint" else (-(2**63), 2**63)
    if not low <= value < high:
        raise Failure("overflow")
    return Uint(value) if of == "uint" else value


def moment(ns: int) -> Timestamp:
    """Returns a timestamp within the years 1 to 9999."""
    if FIRST <= ns <= LAST:
        return Timestamp(ns)
    raise Failure("overflow")


def span(ns: int) -> Duration:
    """Returns a duration whose nanoseconds fit in 64 bits, with the same range on both sides of zero."""
    if abs(ns) < 2**63:
        return Duration(ns)
    raise Failure("overflow")


def negated(value: Any) -> Any:
    """Returns the value of `-x`."""
    if kind(value) == "int":
        return whole(0 - value, "int")
    if kind(value) == "double":
        return -value
    raise Failure("type")


def arithmetic(op: str, left: Any, right: Any) -> Any:
    """Returns the value of `+`, `-`, `*`, `/` or `%`."""
    a, b = kind(left), kind(right)
    if a == b and a in ("int", "uint"):
        return _integers(op, left, right, a)
    if a == b == "double" and op != "%":
        return _doubles(op, left, right)
    if op == "+" and a == b and a in ("string", "bytes"):
        return left + right
    if op == "+" and a == b == "list":
        return sequence(left) + sequence(right)
    return _times(op, a, b, left, right)


def _integers(op: str, left: int, right: int, of: str) -> int:
    a, b = int(left), int(right)
    if op in "/%" and b == 0:
        raise Failure("division")
    if op in "/%" and b == -1:
        whole(-a, of)  # the quotient of the least number does not fit, and the remainder is that of the same division
    values = {"+": a + b, "-": a - b, "*": a * b}
    if op in values:
        return whole(values[op], of)
    quotient = math.trunc(Fraction(a, b))
    return whole(quotient if op == "/" else a - b * quotient, of)


def _doubles(op: str, left: float, right: float) -> float:
    if op == "+":
        return left + right
    if op == "-":
        return left - right
    if op == "*":
        return left * right
    if right != 0:
        return left / right
    if left == 0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, math.copysign(1, left) * math.copysign(1, right))


def _times(op: str, a: str, b: str, left: Any, right: Any) -> Timestamp | Duration:
    if op in ("+", "-") and (a, b) == ("timestamp", "duration"):
        return moment(left.ns + right.ns if op == "+" else left.ns - right.ns)
    if op == "+" and (a, b) == ("duration", "timestamp"):
        return moment(left.ns + right.ns)
    if op == "-" and (a, b) == ("timestamp", "timestamp"):
        return span(left.ns - right.ns)
    if op in ("+", "-") and (a, b) == ("duration", "duration"):
        return span(left.ns + right.ns if op == "+" else left.ns - right.ns)
    raise Failure("type")
