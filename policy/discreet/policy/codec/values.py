"""Typed attribute values and times between messages and native Python."""

import math
import re
from collections.abc import Mapping
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.codec.malformed import Malformed
from discreet.policy.facts import Micros
from discreet.policy.idents import name_problem
from discreet.v1 import common_pb2 as pb

DEPTH_MAX = 8
VALUES_MAX = 1_000
STRING_BYTES_MAX = 4_096
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SECONDS_MIN, _SECONDS_MAX = -62_135_596_800, 253_402_300_799


def micros_of(stamp: Timestamp, path: str) -> Micros:
    """Microseconds since 1970 UTC; finer digits are cut off. Years 1 to 9999."""
    if not _SECONDS_MIN <= stamp.seconds <= _SECONDS_MAX or not 0 <= stamp.nanos < 1_000_000_000:
        raise Malformed(
            path, "is not a time of the years 1 to 9999", "give seconds and nanos as google.protobuf.Timestamp says"
        )
    return Micros(stamp.seconds * 1_000_000 + stamp.nanos // 1_000)


def stamp_of(micros: Micros) -> Timestamp:
    """The time as a message."""
    seconds, rest = divmod(micros, 1_000_000)
    return Timestamp(seconds=seconds, nanos=rest * 1_000)


def attributes_of(values: Mapping[str, pb.Value], path: str, count_max: int) -> dict[str, object]:
    """Named values as native Python. Raises Malformed for a bad name, too many values, too deep, not finite."""
    if len(values) > count_max:
        raise Malformed(path, f"holds {len(values)} names", f"give at most {count_max}")
    budget = [VALUES_MAX]
    return {name: _native(value, _entry(path, name), 1, budget) for name, value in values.items()}


def _entry(path: str, name: str) -> str:
    problem = name_problem(name)
    if problem is not None:
        raise Malformed(f"{path}[…]", f"has a name that {problem}", "rename it")
    return f"{path}[{name}]"


def _native(value: pb.Value, path: str, depth: int, budget: list[int]) -> object:
    budget[0] -= 1
    if budget[0] < 0 or depth > DEPTH_MAX:
        raise Malformed(path, "is too large or too deep", f"at most {VALUES_MAX} values, {DEPTH_MAX} levels")
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return _text(value.string_value, path)
    if kind in ("bool_value", "int_value"):
        plain: object = getattr(value, kind)
        return plain
    if kind == "double_value":
        if not math.isfinite(value.double_value):
            raise Malformed(path, "is not a finite number", "give a finite one, or leave it out")
        return value.double_value
    if kind == "list_value":
        return [_native(item, f"{path}[{i}]", depth + 1, budget) for i, item in enumerate(value.list_value.values)]
    if kind == "map_value":
        fields = value.map_value.fields
        return {name: _native(item, _entry(path, name), depth + 1, budget) for name, item in fields.items()}
    if kind == "null_value" and value.null_value:
        return None
    raise Malformed(
        path, "has no kind set", "set one of null_value (true), bool_value, int_value, double_value, string_value, …"
    )


def _text(text: str, path: str) -> str:
    if len(text) > STRING_BYTES_MAX or len(text.encode()) > STRING_BYTES_MAX:
        raise Malformed(path, f"is longer than {STRING_BYTES_MAX} bytes", "give a shorter text, or its digest")
    if not text.isprintable() and _CONTROL.search(text):
        raise Malformed(path, "holds NUL or another control character", "only tab and line breaks are taken")
    return text


def number(word: int) -> Any:
    """The number of a word for a message: the stubs want their own type for each enum, which is an int all the same."""
    return int(word)


def value_of(native: object) -> pb.Value:
    """Native Python as a message. Raises TypeError for what is no attribute value."""
    if native is None:
        return pb.Value(null_value=True)
    if isinstance(native, bool):
        return pb.Value(bool_value=native)
    if isinstance(native, int):
        return pb.Value(int_value=native)
    if isinstance(native, float):
        return pb.Value(double_value=native)
    if isinstance(native, str):
        return pb.Value(string_value=native)
    if isinstance(native, list):
        return pb.Value(list_value=pb.ListValue(values=[value_of(item) for item in native]))
    if isinstance(native, dict):
        return pb.Value(map_value=pb.MapValue(fields={name: value_of(item) for name, item in native.items()}))
    raise TypeError(f"no attribute value: {type(native).__name__}")
