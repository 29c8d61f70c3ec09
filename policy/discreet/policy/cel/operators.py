"""Arithmetic, order and equality of CEL on native values.

What Python does otherwise by itself: bool is an int there, ints are unbounded, `/` and `%` floor, int and float mix.
Numbers of all types are compared. A whole number beside a double counts as the nearest double, as the conformance suite
of the language has it; Python by itself would compare the two exactly.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from discreet.policy.cel import times
from discreet.policy.cel.errors import ErrorCode, EvaluationError, overflow, wrong_type
from discreet.policy.cel.limits import CHARS_PER_STEP, COLLECTION_BYTES, WIDE_CHAR_BYTES, Budget
from discreet.policy.cel.overloads import Overload, Table
from discreet.policy.cel.schema import BOOL, BYTES, DOUBLE, DURATION, INT, LIST_DYN, NUMERIC, STRING, TIMESTAMP, UINT
from discreet.policy.cel.values import INT_MAX, INT_MIN, KINDS, UINT_MAX, Uint, as_key, from_key, kind_of

Sequence = list[object] | tuple[object, ...] | frozenset[object]

LIST_TYPES: Final = frozenset({list, tuple, frozenset})
NUMBER_TYPES: Final = frozenset({int, float, Uint})
#: Whole numbers up to here are doubles without loss, so that Python's own comparison is that of the language.
EXACT_MAX: Final = 2**53


def as_int(value: int) -> int:
    """Returns an int64, or raises the overflow."""
    if INT_MIN <= value <= INT_MAX:
        return value
    raise overflow("int")


def as_uint(value: int) -> Uint:
    """Returns a uint64, or raises the overflow."""
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise overflow("uint")


def _whole(wrap: Callable[[int], int], op: Callable[[int, int], int]) -> Callable[[int, int, Budget], int]:
    return lambda left, right, budget: wrap(op(left, right))


def _quotient(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError(ErrorCode.DIVISION, "division by zero")
    size = abs(left) // abs(right)
    return size if (left < 0) == (right < 0) else -size


def _remainder(left: int, right: int) -> int:
    if right == 0:
        raise EvaluationError(ErrorCode.DIVISION, "modulus by zero")
    if left == INT_MIN and right == -1:
        raise overflow("int")
    size = abs(left) % abs(right)
    return -size if left < 0 else size


def _divide_doubles(left: float, right: float, budget: Budget) -> float:
    """Returns the IEEE quotient, infinite or NaN for a zero divisor."""
    if right != 0.0:
        return left / right
    if left == 0.0 or left != left:
        return float("nan")
    negative = (str(float(left))[0] == "-") != (str(float(right))[0] == "-")
    return float("-inf") if negative else float("inf")


def _joined(left: Any, right: Any, budget: Budget) -> object:
    size = len(left) + len(right)
    budget.charge(size // CHARS_PER_STEP)
    wide = isinstance(left, str) and not (left.isascii() and right.isascii())
    budget.reserve(COLLECTION_BYTES + size * (WIDE_CHAR_BYTES if wide else 1))
    return left + right


def _joined_lists(left: Sequence, right: Sequence, budget: Budget) -> object:
    size = len(left) + len(right)
    budget.charge(size)
    budget.reserve_items(size)
    return [*items(left), *items(right)]


def items(value: object) -> list[object] | tuple[object, ...]:
    """Returns the items of a list value in a fixed order."""
    if isinstance(value, frozenset):
        return sorted(value, key=lambda item: (str(type(item)), item))
    assert isinstance(value, list | tuple)
    return value


def _pairs(op: Callable[[int, int], int]) -> Table:
    return {
        ("int", "int"): Overload(_whole(as_int, op), INT),
        ("uint", "uint"): Overload(_whole(as_uint, op), UINT),
    }


def _double(op: Callable[[float, float], float]) -> Overload:
    return Overload(lambda left, right, budget: op(left, right), DOUBLE)


ARITHMETIC: Final[dict[str, Table]] = {
    "+": {
        **_pairs(operator.add),
        ("double", "double"): _double(operator.add),
        ("string", "string"): Overload(_joined, STRING),
        ("bytes", "bytes"): Overload(_joined, BYTES),
        ("list", "list"): Overload(_joined_lists, LIST_DYN),
        ("timestamp", "duration"): Overload(times.later, TIMESTAMP),
        ("duration", "timestamp"): Overload(times.after, TIMESTAMP),
        ("duration", "duration"): Overload(times.longer, DURATION),
    },
    "-": {
        **_pairs(operator.sub),
        ("double", "double"): _double(operator.sub),
        ("timestamp", "timestamp"): Overload(times.between, DURATION),
        ("timestamp", "duration"): Overload(times.earlier, TIMESTAMP),
        ("duration", "duration"): Overload(times.shorter, DURATION),
    },
    "*": {**_pairs(operator.mul), ("double", "double"): _double(operator.mul)},
    "/": {**_pairs(_quotient), ("double", "double"): Overload(_divide_doubles, DOUBLE)},
    "%": _pairs(_remainder),
}

NEGATION: Final[Table] = {
    ("int",): Overload(lambda value, budget: as_int(-value), INT),
    ("double",): Overload(lambda value, budget: -value, DOUBLE),
}


def _compared(op: Callable[[Any, Any], Any]) -> Implementation2:
    def run(left: object, right: object, budget: Budget) -> object:
        if isinstance(left, str | bytes):
            budget.charge(len(left) // CHARS_PER_STEP)
        return op(left, right)

    return run


Implementation2 = Callable[[object, object, Budget], object]
_ORDERED: Final = [(a, b) for a in sorted(NUMERIC) for b in sorted(NUMERIC)] + [
    (kind, kind) for kind in ("bool", "bytes", "duration", "string", "timestamp")
]


def _order(op: Callable[[Any, Any], Any]) -> Table:
    same, mixed = Overload(_compared(op), BOOL), Overload(_compared_as_doubles(op), BOOL)
    return {kinds: mixed if mixes_double(*kinds) else same for kinds in _ORDERED}


def mixes_double(left: str, right: str) -> bool:
    """Says whether one of two kinds of number is double and the other is not."""
    return (left == "double") != (right == "double")


def _compared_as_doubles(op: Callable[[Any, Any], Any]) -> Implementation2:
    def run(left: Any, right: Any, budget: Budget) -> object:
        return op(float(left), float(right))

    return run


ORDER: Final[dict[str, Table]] = {
    "<": _order(operator.lt),
    "<=": _order(operator.le),
    ">": _order(operator.gt),
    ">=": _order(operator.ge),
}


def equal(left: Any, right: Any, budget: Budget) -> bool:
    """Says whether two values are equal: numbers as numbers, lists and maps by their parts, other kinds never."""
    a, b = type(left), type(right)
    if a in NUMBER_TYPES and b in NUMBER_TYPES:
        return left == right if (a is float) == (b is float) else float(left) == float(right)
    if isinstance(left, list | tuple | frozenset) and isinstance(right, list | tuple | frozenset):
        return _equal_lists(left, right, budget)
    if a is not b:
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return _equal_maps(left, right, budget)
    if isinstance(left, str | bytes):
        budget.charge(len(left) // CHARS_PER_STEP)
    return a in KINDS and left == right


def _equal_lists(left: Sequence, right: Sequence, budget: Budget) -> bool:
    if len(left) != len(right):
        return False
    budget.charge(len(left))
    return all(equal(a, b, budget) for a, b in zip(items(left), items(right), strict=True))


def _equal_maps(left: dict[object, object], right: dict[object, object], budget: Budget) -> bool:
    if len(left) != len(right):
        return False
    budget.charge(len(left))
    return all(key in right and equal(value, right[key], budget) for key, value in left.items())


def contained(needle: object, haystack: object, budget: Budget) -> bool:
    """Says whether a value is an item of a list or a key of a map."""
    if isinstance(haystack, dict):
        return has_key(haystack, needle)
    if type(haystack) not in LIST_TYPES:
        raise wrong_type(f"in needs a list or map, not {kind_of(haystack)}")
    assert isinstance(haystack, list | tuple | frozenset)
    budget.charge(len(haystack))
    return any(equal(needle, item, budget) for item in haystack)


def has_key(mapping: dict[object, object], key: object) -> bool:
    """Says whether a map has a key, or raises for a value that can be none."""
    if type(key) in KEY_TYPES:
        return as_key(key) in mapping
    raise wrong_type(f"{kind_of(key)} is no key of a map")


KEY_TYPES: Final = frozenset({str, int, Uint, bool, float})


def keys(mapping: dict[object, object]) -> list[object]:
    """Returns the keys of a map as values, in the order of the map."""
    return [from_key(key) for key in mapping]
