"""The functions of the naive evaluator: each one a few lines, by the kinds of its arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

import re2

from discreet.policy.cel.values import Duration, Timestamp, TypeValue, Uint
from tests.policy.cel.naive_values import SECOND, Failure, kind, moment, span, whole

DIGITS: Final = frozenset("0123456789")
UNITS: Final = {
    "ns": 1, "us": 1000, "ms": 10**6, "h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND,
}  # fmt: skip
#: Where the numbers of a date and a time stand: offset and length.
FIELDS: Final = ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2))
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def call(name: str, method: bool, args: list[Any]) -> Any:
    """Returns the value of a function or a method. Raises Failure for arguments that it does not take."""
    kinds = tuple(map(kind, args))
    if name in ("size", "matches") or (name in ("contains", "startsWith", "endsWith") and method):
        return _text(name, kinds, args)
    if name.startswith("get") and method:
        return _part(name.removeprefix("get"), kinds, args)
    conversions: dict[str, Callable[[Any, str], Any]] = {
        "int": _int, "uint": _uint, "double": _double, "string": _string, "bool": _bool, "bytes": _bytes,
        "timestamp": _timestamp, "duration": _duration, "type": _type, "dyn": lambda value, of: value,
    }  # fmt: skip
    (only,), (of,) = args, kinds
    return conversions[name](only, of)


def _text(name: str, kinds: tuple[str, ...], args: list[Any]) -> Any:
    if name == "size":
        if kinds[0] not in ("string", "bytes", "list", "map"):
            raise Failure("type")
        return len(args[0])
    if kinds != ("string", "string"):
        raise Failure("type")
    text, part = args
    if name == "matches":
        return _matches(text, part)
    at = {"contains": range(len(text) + 1), "startsWith": [0], "endsWith": [len(text) - len(part)]}[name]
    return any(i >= 0 and text[i : i + len(part)] == part for i in at)


def _matches(text: str, pattern: str) -> bool:
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options).search(text) is not None
    except re2.error:
        raise Failure("argument") from None


def _int(value: Any, of: str) -> int:
    if of in ("int", "uint"):
        return whole(int(value), "int")
    if of == "double":
        # The least int64 is left out: it is also what every smaller double would be cut off to.
        if not -(2.0**63) < value < 2.0**63:
            raise Failure("overflow")
        return int(value)
    if of == "string":
        return whole(_whole_text(value, "+-"), "int")
    if of == "timestamp":
        return math.floor(Fraction(value.ns, SECOND))
    raise Failure("type")


def _uint(value: Any, of: str) -> int:
    if of in ("int", "uint"):
        return whole(int(value), "uint")
    if of == "double":
        if not 0 <= value < 2.0**64:
            raise Failure("overflow")
        return Uint(math.trunc(value))
    if of == "string":
        return whole(_whole_text(value, "+"), "uint")
    raise Failure("type")


def _whole_text(text: str, signs: str) -> int:
    digits = text[1:] if text and text[0] in signs else text
    if not digits or len(digits) > 20 or not set(digits) <= DIGITS:
        raise Failure("argument")
    return -int(digits) if text[0] == "-" else int(digits)


def _double(value: Any, of: str) -> float:
    if of in ("int", "uint", "double"):
        return float(value)
    if of != "string":
        raise Failure("type")
    unsigned = value[1:] if value[:1] in ("+", "-") else value
    if unsigned == "Infinity" or value == "NaN":
        return float(value)
    if not set(unsigned) <= DIGITS | set(".eE+-") or unsigned[:1] in ("+", "-", "e", "E"):
        raise Failure("argument")
    try:
        return float(value)
    except ValueError:
        raise Failure("argument") from None


def _string(value: Any, of: str) -> str:
    if of in ("int", "uint"):
        return str(int(value))
    if of == "double":
        return _double_text(value)
    if of == "bool":
        return "true" if value else "false"
    if of == "bytes":
        try:
            return str(value, "utf-8")
        except UnicodeDecodeError:
            raise Failure("argument") from None
    if of == "timestamp":
        at = EPOCH + timedelta(seconds=value.ns // SECOND)
        day = f"{at.year:04}-{at.month:02}-{at.day:02}"
        return f"{day}T{at.hour:02}:{at.minute:02}:{at.second:02}{_fraction(value.ns % SECOND)}Z"
    if of == "duration":
        size = abs(value.ns)
        return f"{'-' if value.ns < 0 else ''}{size // SECOND}{_fraction(size % SECOND)}s"
    if of == "string":
        return str(value)
    raise Failure("type")


def _double_text(value: float) -> str:
    if math.isnan(value) or math.isinf(value):
        return "nan" if math.isnan(value) else "-inf" if value < 0 else "inf"
    sign = "-" if math.copysign(1, value) < 0 else ""
    if value == 0:
        return sign + "0"
    digits = Decimal(repr(abs(value))).normalize()
    power = digits.adjusted()
    if -4 <= power <= 5:
        return f"{sign}{digits:f}"
    significand = f"{digits.scaleb(-power):f}"
    return f"{sign}{significand}e{'-' if power < 0 else '+'}{abs(power):02}"


def _fraction(ns: int) -> str:
    for digits, unit in ((0, SECOND), (3, 10**6), (6, 10**3), (9, 1)):
        if ns % unit == 0:
            return f".{ns // unit:0{digits}}" if digits else ""
    raise AssertionError("nine digits hold any nanosecond")


def _bool(value: Any, of: str) -> bool:
    if of == "bool":
        return bool(value)
    if of != "string":
        raise Failure("type")
    if value in ("1", "t", "true", "TRUE", "True"):
        return True
    if value in ("0", "f", "false", "FALSE", "False"):
        return False
    raise Failure("argument")


def _bytes(value: Any, of: str) -> bytes:
    if of == "bytes":
        return bytes(value)
    if of == "string":
        return bytes(value, "utf-8")
    raise Failure("type")


def _type(value: object, of: str) -> TypeValue:
    named = {
        "null": "null_type", "timestamp": "google.protobuf.Timestamp", "duration": "google.protobuf.Duration",
    }  # fmt: skip
    return TypeValue(named.get(of, of))


def _timestamp(value: Any, of: str) -> Timestamp:
    if of == "timestamp":
        return Timestamp(value.ns)
    if of == "int":
        return moment(value * SECOND)
    if of == "string":
        return _moment_of(value)
    raise Failure("type")


def _moment_of(text: str) -> Timestamp:
    """Reads `YYYY-MM-DDThh:mm:ss`, a fraction of one to nine digits, and `Z` or an offset."""
    head, rest = text[:19], text[19:]
    shape = "".join("0" if char in DIGITS else char for char in head)
    if shape.upper() != "0000-00-00T00:00:00":
        raise Failure("argument")
    fraction = ""
    if rest[:1] == ".":
        fraction = rest[1:].rstrip("Zz") if rest[-1] in "Zz" else rest[1:-6]
        rest = rest[1 + len(fraction) :]
        if not 1 <= len(fraction) <= 9 or not set(fraction) <= DIGITS:
            raise Failure("argument")
    year, month, day, hour, minute, second = (int(head[at : at + n]) for at, n in FIELDS)
    try:
        seconds = (datetime(year, month, day, hour, minute, second, tzinfo=UTC) - EPOCH) // timedelta(seconds=1)
    except ValueError:
        raise Failure("argument") from None
    return moment((seconds - _offset_s(rest)) * SECOND + int(fraction.ljust(9, "0")))


def _offset_s(text: str) -> int:
    if text in ("Z", "z"):
        return 0
    digits = text[1:3] + text[4:]
    if len(text) != 6 or text[0] not in "+-" or text[3] != ":" or not set(digits) <= DIGITS:
        raise Failure("argument")
    hours, minutes = int(text[1:3]), int(text[4:])
    if hours > 23 or minutes > 59:
        raise Failure("argument")
    return (hours * 3600 + minutes * 60) * (-1 if text[0] == "-" else 1)


def _duration(value: Any, of: str) -> Duration:
    if of == "duration":
        return Duration(value.ns)
    if of != "string":
        raise Failure("type")
    rest = value[1:] if value[:1] in ("+", "-") else value
    if rest == "0":
        return Duration(0)
    if not rest or len(value) > 64:
        raise Failure("argument")
    total = Fraction(0)
    while rest:
        number = rest[: next((i for i, char in enumerate(rest) if char not in DIGITS and char != "."), len(rest))]
        unit = next((unit for unit in UNITS if rest.startswith(unit, len(number))), None)
        if unit is None or number.count(".") > 1 or not set(number) & DIGITS:
            raise Failure("argument")
        total += Fraction(number if number[-1] != "." else number[:-1]) * UNITS[unit]
        if total.denominator != 1:
            raise Failure("argument")
        rest = rest[len(number) + len(unit) :]
    return span(int(-total if value[0] == "-" else total))


def _part(name: str, kinds: tuple[str, ...], args: list[Any]) -> int:
    units = {"Hours": 3600 * SECOND, "Minutes": 60 * SECOND, "Seconds": SECOND}
    if kinds == ("duration",) and name in units:
        return math.trunc(Fraction(args[0].ns, units[name]))
    if kinds == ("duration",) and name == "Milliseconds":
        return int(math.fmod(math.trunc(Fraction(args[0].ns, 10**6)), 1000))
    if kinds[0] != "timestamp" or kinds[1:] not in ((), ("string",)):
        raise Failure("type")
    where = _zone(args[1]) if len(args) == 2 else UTC
    if name == "Milliseconds":
        return int(args[0].ns % SECOND // 10**6)
    try:
        at = (EPOCH + timedelta(seconds=args[0].ns // SECOND)).astimezone(where)
    except OverflowError:
        raise Failure("overflow") from None
    return {
        "FullYear": at.year, "Month": at.month - 1, "Date": at.day, "DayOfMonth": at.day - 1,
        "DayOfWeek": (at.toordinal()) % 7, "DayOfYear": at.toordinal() - date(at.year, 1, 1).toordinal(),
        "Hours": at.hour, "Minutes": at.minute, "Seconds": at.second,
    }[name]  # fmt: skip


def _zone(name: str) -> tzinfo:
    try:
        bare = name if name[:1] in ("+", "-") else f"+{name}"
        return timezone(timedelta(seconds=_offset_s(bare)))
    except Failure:
        pass
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise Failure("argument") from None
