"""The activation that the tables of this suite are written against, and how a line of a table is judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from discreet.policy.cel import (
    BOOL,
    INT,
    LIST_DYN,
    MAP_DYN,
    STRING,
    TIMESTAMP,
    Budget,
    CelError,
    ErrorCode,
    EvaluationError,
    Record,
    Schema,
    Timestamp,
    Uint,
    list_of,
    optional,
)
from discreet.policy.cel.check import Checker
from discreet.policy.cel.compile import Compiler
from discreet.policy.cel.limits import DEFAULT
from discreet.policy.cel.parse import parse

TABLES: Final = Path(__file__).with_name("tables")
OWNER: Final = Record({"name": STRING, "mail": optional(STRING)})
DOCUMENT: Final = Record(
    {
        "kind": STRING,
        "size": INT,
        "as_of": optional(TIMESTAMP),
        "reviewed_at": optional(TIMESTAMP),
        "scopes": list_of(STRING),
        "owner": OWNER,
        "editor": optional(OWNER),
    }
)
SCHEMA: Final = Schema(
    {
        "doc": DOCUMENT,
        "absent": optional(DOCUMENT),
        "plain": Record({"items": LIST_DYN, "keys": optional(LIST_DYN)}),
        "data": MAP_DYN,
        "flag": BOOL,
        "note": optional(STRING),
        "now": TIMESTAMP,
    }
)


@dataclass(frozen=True, slots=True)
class Owner:
    """A record as the core hands it over: fields by attribute, None for absent."""

    name: str
    mail: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A record with every sort of field."""

    kind: str
    size: int
    as_of: Timestamp | None
    reviewed_at: Timestamp | None
    scopes: tuple[str, ...] | list[str] | frozenset[str]
    owner: Owner
    editor: Owner | None = None


def activation() -> dict[str, object]:
    """Returns a fresh activation, so that no case can change another's."""
    return {
        "doc": Document("memo", 42, Timestamp.from_text("2026-11-29T23:15:42.123Z"), None, ("x", "y"), Owner("ana")),
        "plain": {"items": [1, 2]},
        "data": {
            "desk": "north",
            "level": 3.0,
            "flag": True,
            "nothing": None,
            "tags": ["x", "z"],
            "empty_text": "",
            "empty_map": {},
            "deep": {"er": "x"},
            "shapes": [{"b": 1.0}, {"c": 1.0}],
        },
        "flag": True,
        "now": Timestamp.from_text("2026-11-30T23:15:42.123Z"),
    }


def value_of(text: str) -> object:
    """Returns the value of an expression of any type. Raises what loading and evaluating it raise."""
    root = parse(text, DEFAULT)
    checker = Checker(SCHEMA)
    checker.check(root, {})
    run = Compiler(SCHEMA, checker.types).compile(root, {})
    value: object = run(activation(), Budget())
    return value


def outcome_of(text: str) -> tuple[str, object]:
    """Returns `value` and the value, `error` and the error, or `load` and the message with its hint."""
    try:
        return "value", value_of(text)
    except EvaluationError as error:
        return "error", (error.code, error.attribute)
    except CelError as error:
        return "load", str(error)


def expected_of(text: str) -> tuple[str, object]:
    """Returns the same of the right side of a line: a Python literal, `error CODE [attribute]`, or `load WORDS`."""
    sort, _, rest = text.partition(" ")
    if sort == "error":
        code, _, attribute = rest.partition(" ")
        return "error", (ErrorCode(code), attribute or None)
    if sort == "load":
        return "load", rest
    return "value", eval(text, {"uint": Uint})  # the tables are ours


def agrees(found: tuple[str, object], expected: tuple[str, object]) -> bool:
    """Says whether an outcome is the expected one: of the same type throughout, a message holding the words."""
    if found[0] != expected[0]:
        return False
    return str(expected[1]) in str(found[1]) if found[0] == "load" else same(found[1], expected[1])


def same(left: object, right: object) -> bool:
    """Says whether two values are equal and of equal types, through lists and maps."""
    if type(left) is not type(right):
        return False
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right and str(left) == str(right)


def lines() -> Iterator[tuple[str, str, str]]:
    """Yields the place, the expression and the expected outcome of every line of every table."""
    for path in sorted(TABLES.glob("*.txt")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if line and not line.startswith("#"):
                expression, arrow, expected = line.rpartition(" => ")
                assert arrow, f"{path.name}:{number}: no ` => `"
                yield f"{path.stem}:{number}", expression.strip(), expected.strip()
