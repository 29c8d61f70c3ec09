"""The values of CEL that Python has no native type for.

Native ones are: None, bool, int (int64), float, str, bytes, list or tuple or frozenset (a list), dict (a map). A
frozenset stands for a list whose order means nothing. Data maps have str keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import NoneType
from typing import Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
UINT_MAX: Final = 2**64 - 1


class Uint(int):
    """An unsigned 64-bit integer; arithmetic gives a plain int that the operators wrap again."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """A moment as whole nanoseconds since 1970-01-01T00:00:00Z, from year 1 to year 9999."""

    ns: int

    @staticmethod
    def from_text(text: str) -> Timestamp:
        """Returns the moment of an RFC 3339 text; its offset is mandatory. Raises EvaluationError(ARGUMENT)."""
        from discreet.policy.cel.times import timestamp_from_text

        return timestamp_from_text(text)

    @staticmethod
    def from_epoch_ns(ns: int) -> Timestamp:
        """Returns the moment that many nanoseconds after the epoch. Raises EvaluationError(OVERFLOW)."""
        from discreet.policy.cel.times import timestamp_of

        return timestamp_of(ns)

    def __str__(self) -> str:
        from discreet.policy.cel.times import timestamp_text

        return timestamp_text(self)


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A span of time in whole nanoseconds, signed, at most about 292 years."""

    ns: int

    @staticmethod
    def from_text(text: str) -> Duration:
        """Returns the span of a text like `1h30m` or `-1.5s`. Raises EvaluationError(ARGUMENT)."""
        from discreet.policy.cel.times import duration_from_text

        return duration_from_text(text)

    def __str__(self) -> str:
        from discreet.policy.cel.times import duration_text

        return duration_text(self)


@dataclass(frozen=True, slots=True)
class TypeValue:
    """What `type(x)` returns."""

    name: str


@dataclass(frozen=True, slots=True)
class BoolKey:
    """A bool as the key of a literal map, where Python would take true for 1."""

    value: bool


TRUE_KEY: Final = BoolKey(True)
FALSE_KEY: Final = BoolKey(False)

#: The kind of each native type, the word that types of a schema use too.
KINDS: Final[dict[type, str]] = {
    NoneType: "null",
    bool: "bool",
    int: "int",
    Uint: "uint",
    float: "double",
    str: "string",
    bytes: "bytes",
    list: "list",
    tuple: "list",
    frozenset: "list",
    dict: "map",
    Timestamp: "timestamp",
    Duration: "duration",
    TypeValue: "type",
}

TYPE_NAMES: Final[dict[str, str]] = {
    "null": "null_type",
    "timestamp": "google.protobuf.Timestamp",
    "duration": "google.protobuf.Duration",
}


def kind_of(value: object) -> str:
    """Returns the kind of a value, `record` for an object that the schema declares."""
    return KINDS.get(type(value), "record")


def type_of(value: object) -> TypeValue:
    """Returns the CEL type of a value."""
    kind = kind_of(value)
    return TypeValue(TYPE_NAMES.get(kind, kind))


def as_key(value: object) -> object:
    """Returns a map key as it is stored: bools apart from numbers, everything else as it is."""
    if value is True:
        return TRUE_KEY
    return FALSE_KEY if value is False else value


def from_key(key: object) -> object:
    """Returns a stored map key as the value it stands for."""
    return key.value if type(key) is BoolKey else key
