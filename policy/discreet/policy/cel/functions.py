"""The functions of CEL: size, strings, conversions. The tables name each meaning by the kinds of its arguments."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from discreet.policy.cel import times
from discreet.policy.cel.accessors import ACCESSORS
from discreet.policy.cel.errors import bad_argument, overflow
from discreet.policy.cel.limits import CHARS_PER_STEP, WIDE_CHAR_BYTES, Budget
from discreet.policy.cel.operators import as_int, as_uint
from discreet.policy.cel.overloads import Overload, Table
from discreet.policy.cel.regex import matches
from discreet.policy.cel.schema import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    Type,
)
from discreet.policy.cel.values import Duration, Timestamp, Uint, type_of

NUMBER_TEXT_MAX: Final = 64
WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}")
DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}
TRUE_WORDS: Final = frozenset({"1", "t", "true", "TRUE", "True"})
FALSE_WORDS: Final = frozenset({"0", "f", "false", "FALSE", "False"})
INT_AS_DOUBLE_MAX: Final = float(2**63)
UINT_AS_DOUBLE_MAX: Final = float(2**64)


def _same(value: object, budget: Budget) -> object:
    return value


def _size(value: list[object], budget: Budget) -> int:
    return len(value)


def _on_text(test: Callable[[str, str], bool]) -> Table:
    def run(text: str, part: str, budget: Budget) -> bool:
        budget.charge((len(text) + len(part)) // CHARS_PER_STEP)
        return test(text, part)

    return {("string", "string"): Overload(run, BOOL)}


def _int_of_double(value: float, budget: Budget) -> int:
    if -INT_AS_DOUBLE_MAX < value < INT_AS_DOUBLE_MAX:
        return int(value)
    raise overflow("int")


def _uint_of_double(value: float, budget: Budget) -> Uint:
    if 0 <= value < UINT_AS_DOUBLE_MAX:
        return Uint(int(value))
    raise overflow("uint")


def _int_of_text(text: str, budget: Budget) -> int:
    if WHOLE.fullmatch(text):
        return as_int(int(text))
    raise bad_argument("int() of a text that is no whole number")


def _uint_of_text(text: str, budget: Budget) -> Uint:
    if WHOLE.fullmatch(text) and text[0] != "-":
        return as_uint(int(text))
    raise bad_argument("uint() of a text that is no whole number")


def _double_of_text(text: str, budget: Budget) -> float:
    if len(text) <= NUMBER_TEXT_MAX and DECIMAL.fullmatch(text):
        return float(text)
    if text in NOT_FINITE:
        return NOT_FINITE[text]
    raise bad_argument("double() of a text that is no number")


def _bool_of_text(text: str, budget: Budget) -> bool:
    if text in TRUE_WORDS or text in FALSE_WORDS:
        return text in TRUE_WORDS
    raise bad_argument('bool() of a text that is neither "true" nor "false"')


def _text_of_double(value: float, budget: Budget) -> str:
    """Returns the shortest text that reads back as the same number, as C++ writes it: `1`, `1.5`, `1e+06`."""
    if value != value or value in (math.inf, -math.inf):
        return str(value)
    _, digits, scale = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(scale, int)
    exponent = len(digits) + scale - 1
    if value == 0 or -5 < exponent < 6:
        return f"{value:.{max(0, -scale)}f}"
    return f"{value:.{len(digits) - 1}e}"


def _text_of_bytes(value: bytes, budget: Budget) -> str:
    budget.charge(len(value) // CHARS_PER_STEP)
    budget.reserve(len(value) * (1 if value.isascii() else WIDE_CHAR_BYTES))
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise bad_argument("string() of bytes that are no UTF-8") from None


def _bytes_of_text(text: str, budget: Budget) -> bytes:
    budget.charge(len(text) // CHARS_PER_STEP)
    budget.reserve(len(text) * (1 if text.isascii() else WIDE_CHAR_BYTES))
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise bad_argument("bytes() of text that is no Unicode") from None


def _conversion(result: Type, **runs: Callable[..., object]) -> Table:
    return {(kind,): Overload(run, result) for kind, run in runs.items()}


CONVERSIONS: Final[dict[str, Table]] = {
    "int": _conversion(
        INT,
        int=_same,
        uint=lambda value, budget: as_int(int(value)),
        double=_int_of_double,
        string=_int_of_text,
        timestamp=lambda value, budget: value.ns // times.SECOND,
    ),
    "uint": _conversion(
        UINT,
        uint=_same,
        int=lambda value, budget: as_uint(value),
        double=_uint_of_double,
        string=_uint_of_text,
    ),
    "double": _conversion(
        DOUBLE,
        double=_same,
        int=lambda value, budget: float(value),
        uint=lambda value, budget: float(value),
        string=_double_of_text,
    ),
    "string": _conversion(
        STRING,
        string=_same,
        int=lambda value, budget: str(int(value)),
        uint=lambda value, budget: str(int(value)),
        double=_text_of_double,
        bool=lambda value, budget: "true" if value else "false",
        bytes=_text_of_bytes,
        timestamp=lambda value, budget: times.timestamp_text(value),
        duration=lambda value, budget: times.duration_text(value),
    ),
    "bool": _conversion(BOOL, bool=_same, string=_bool_of_text),
    "bytes": _conversion(BYTES, bytes=_same, string=_bytes_of_text),
    "timestamp": _conversion(
        TIMESTAMP,
        timestamp=_same,
        int=lambda value, budget: times.timestamp_of(value * times.SECOND),
        string=lambda value, budget: Timestamp.from_text(value),
    ),
    "duration": _conversion(DURATION, duration=_same, string=lambda value, budget: Duration.from_text(value)),
    "type": {("any",): Overload(lambda value, budget: type_of(value), TYPE)},
    "dyn": {("any",): Overload(_same, DYN)},
}

SIZE: Final = _conversion(INT, string=_size, bytes=_size, list=_size, map=_size)
MATCHES: Final[Table] = {("string", "string"): Overload(matches, BOOL)}

FUNCTIONS: Final[dict[str, Table]] = {**CONVERSIONS, "size": SIZE, "matches": MATCHES}

METHODS: Final[dict[str, Table]] = {
    **ACCESSORS,
    "size": SIZE,
    "matches": MATCHES,
    "contains": _on_text(lambda text, part: part in text),
    "startsWith": _on_text(str.startswith),
    "endsWith": _on_text(str.endswith),
}

#: Names that stand for types when the schema does not declare them.
TYPE_WORDS: Final = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
QUALIFIED_TYPES: Final = frozenset({"google.protobuf.Timestamp", "google.protobuf.Duration"})
