"""The types of CEL and the declared activation: what a condition may read, known when it is loaded.

>>> schema = Schema({"document": Record({"kind": STRING, "as_of": optional(TIMESTAMP), "attributes": MAP_DYN})})
>>> str(schema.names["document"])
'record'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

FIELD_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Type:
    """A type: its kind, and the types inside a list (item) or a map (key, value)."""

    kind: str
    args: tuple[Type, ...] = ()

    @property
    def item(self) -> Type:
        """Returns what iterating yields: the items of a list, the keys of a map."""
        return self.args[0] if self.args else DYN

    @property
    def value(self) -> Type:
        """Returns what a map holds under its keys."""
        return self.args[1] if len(self.args) == 2 else DYN

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(map(str, self.args))})" if self.args else self.kind


@dataclass(frozen=True, slots=True)
class Optional:
    """A field that may be absent; reading it then is an error, `has()` tells."""

    inner: Type | Record


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Fields by name. Its values are objects with attributes of these names, or dicts; None means absent."""

    fields: Mapping[str, Type | Record | Optional]
    kind: str = field(default="record", init=False)

    def __post_init__(self) -> None:
        for name in self.fields:
            if not FIELD_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no field name: letters, digits and _, first a letter")
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    def __str__(self) -> str:
        return self.kind


AnyType = Type | Record

BOOL: Final = Type("bool")
INT: Final = Type("int")
UINT: Final = Type("uint")
DOUBLE: Final = Type("double")
STRING: Final = Type("string")
BYTES: Final = Type("bytes")
TIMESTAMP: Final = Type("timestamp")
DURATION: Final = Type("duration")
NULL: Final = Type("null")
TYPE: Final = Type("type")
DYN: Final = Type("dyn")
NUMERIC: Final = frozenset({"int", "uint", "double"})


def optional(inner: AnyType) -> Optional:
    """Returns the declaration of a field that may be absent."""
    return Optional(inner)


def list_of(item: Type) -> Type:
    """Returns the type of lists; values may be list, tuple or frozenset."""
    return Type("list", (item,))


def map_of(key: Type, value: Type) -> Type:
    """Returns the type of maps."""
    return Type("map", (key, value))


MAP_DYN: Final = map_of(STRING, DYN)
LIST_DYN: Final = list_of(DYN)


class Schema:
    """The names that a condition may use, with their types; immutable."""

    __slots__ = ("names",)

    def __init__(self, names: Mapping[str, AnyType | Optional]) -> None:
        self.names: Final = Record(names).fields


def required(declared: AnyType | Optional) -> AnyType:
    """Returns the type of a field that is there."""
    return declared.inner if isinstance(declared, Optional) else declared


def assignable(given: AnyType, wanted: AnyType) -> bool:
    """Says whether a value of one type may stand where another is wanted; dyn is settled when it is evaluated."""
    if given is wanted or given.kind == "dyn" or wanted.kind == "dyn":
        return True
    if isinstance(given, Record) or isinstance(wanted, Record) or given.kind != wanted.kind:
        return False
    pairs = zip(given.args or wanted.args, wanted.args or given.args, strict=True)
    return all(assignable(a, b) for a, b in pairs)


def comparable(left: AnyType, right: AnyType) -> bool:
    """Says whether values of two types may be equal: numbers of all types may, alone or inside lists and maps."""
    if isinstance(left, Record) or isinstance(right, Record) or left.kind != right.kind:
        return assignable(left, right) or {left.kind, right.kind} <= NUMERIC
    pairs = zip(left.args or right.args, right.args or left.args, strict=True)
    return all(comparable(a, b) for a, b in pairs)


def join(first: AnyType, second: AnyType) -> AnyType:
    """Returns the one type of two, dyn where they differ."""
    return first if first == second else DYN
