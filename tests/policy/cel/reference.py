"""The parts of docs/conditions.md that the code's own tables give; `python -m tests.policy.cel.reference` writes them.

A part stands between `<!-- name: begin -->` and `<!-- name: end -->`. A test compares, so that no function, operator,
limit or class of error is missing or described otherwise than it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Final

from discreet.policy.cel import limits, regex, times
from discreet.policy.cel.absent import EXTENSIONS
from discreet.policy.cel.build import RESERVED
from discreet.policy.cel.errors import ErrorCode
from discreet.policy.cel.functions import FUNCTIONS, METHODS
from discreet.policy.cel.operators import ARITHMETIC, NEGATION
from discreet.policy.cel.overloads import Table
from discreet.policy.rules import STEPS_PER_SEGMENT

DOCUMENT: Final = Path(__file__).parents[3] / "docs" / "conditions.md"

MEANINGS: Final = {
    "int": "the whole number; doubles are cut off towards zero, a timestamp gives its seconds since 1970, rounded down",
    "uint": "the same without a sign",
    "double": "the nearest double; text may be `NaN`, `Infinity`, `-Infinity`",
    "string": "the text of a value; bytes must be UTF-8, a timestamp is written in UTC, a duration in seconds",
    "bool": "`1`, `t`, `true`, `True`, `TRUE` and `0`, `f`, `false`, `False`, `FALSE`; any other text is an error",
    "bytes": "the UTF-8 of a text",
    "timestamp": "RFC 3339 with an offset, `2026-11-30T08:00:00Z`, to the nanosecond; an int counts seconds",
    "duration": "numbers with the units `h`, `m`, `s`, `ms`, `us`, `ns`: `1h30m`, `-1.5s`",
    "type": "the type of a value: `int`, `list`, `google.protobuf.Timestamp`, ...",
    "dyn": "the same value, whose type is then only looked at when it is evaluated",
    "size": "code points of a text, bytes, items, entries",
    "matches": "whether a regular expression of RE2 is found anywhere in the text; `^` and `$` anchor it",
    "contains": "whether the text holds the other",
    "startsWith": "whether the text begins with the other",
    "endsWith": "whether the text ends with the other",
    "getFullYear": "the year",
    "getMonth": "the month, from 0",
    "getDate": "the day of the month, from 1",
    "getDayOfMonth": "the day of the month, from 0",
    "getDayOfYear": "the day of the year, from 0",
    "getDayOfWeek": "the day of the week, 0 is Sunday",
    "getHours": "the hour; of a duration, all its hours",
    "getMinutes": "the minute; of a duration, all its minutes",
    "getSeconds": "the second; of a duration, all its seconds",
    "getMilliseconds": "the milliseconds beyond the second, of a duration too",
}
LIMITS: Final = {
    "text_bytes_max": "bytes of UTF-8 in one condition",
    "nesting_max": "brackets inside each other",
    "depth_max": "levels of the expression's tree",
    "nodes_max": "parts of an expression: names, literals, operators, calls",
    "macro_depth_max": "macros inside each other",
}
ERRORS: Final = {
    ErrorCode.MISSING_ATTRIBUTE: "a field, key or name is not there; the audit names its path",
    ErrorCode.TYPE: "a value of another type than is needed, a condition that is no bool among them",
    ErrorCode.OVERFLOW: "a number, timestamp or duration out of the range of its type",
    ErrorCode.DIVISION: "division of whole numbers by zero",
    ErrorCode.ARGUMENT: "a value that cannot be used: a text that is no number, an index past the end, a bad pattern",
    ErrorCode.RESOURCES: "data nested deeper than can be followed",
    ErrorCode.INTERNAL: "a value that does not fit what is declared for it",
}


def functions() -> Iterator[str]:
    """Yields the lines about functions and methods."""
    yield "| call | gives | meaning |"
    yield "|---|---|---|"
    for name in sorted({*FUNCTIONS, *METHODS}, key=list(MEANINGS).index):
        table = FUNCTIONS.get(name, {}) | METHODS.get(name, {})
        calls = [*(f"`{name}(x)`" for _ in [1] if name in FUNCTIONS and name not in METHODS), *_forms(name)]
        results = sorted({str(overload.result) for overload in table.values()})
        yield f"| {', '.join(calls)}: {_taken(table)} | {', '.join(results)} | {MEANINGS[name]} |"


def _forms(name: str) -> list[str]:
    """Returns how a method, and a function that is one too, is written."""
    if name not in METHODS:
        return []
    counts = sorted({len(kinds) for kinds in METHODS[name]})
    calls = [f"`x.{name}({', '.join(['y'] if count == 2 else [])})`" for count in counts]
    return [*calls, *(f"`{name}({', '.join(['x', 'y'][:count])})`" for count in counts if name in FUNCTIONS)]


def _taken(table: Table) -> str:
    """Returns the kinds that a name takes; a second one is told behind the first."""
    ones = [kinds[0] for kinds in table if len(kinds) == 1]
    twos = [f"{kinds[0]} with {kinds[1]}" for kinds in table if len(kinds) == 2]
    return "; ".join(filter(None, (", ".join(ones), ", ".join(twos))))


def operators() -> Iterator[str]:
    """Yields the lines about arithmetic."""
    yield "| operator | operands | gives |"
    yield "|---|---|---|"
    for op, table in [("-x", NEGATION), *((f"x {op} y", table) for op, table in ARITHMETIC.items())]:
        for kinds, overload in table.items():
            yield f"| `{op}` | {', '.join(kinds)} | {overload.result.kind} |"


def bounds() -> Iterator[str]:
    """Yields the lines about limits."""
    yield "| limit | value |"
    yield "|---|---|"
    for each in fields(limits.Limits):
        yield f"| {LIMITS[each.name]} | {each.default} |"
    yield f"| steps that all conditions of one segment share | {STEPS_PER_SEGMENT} |"
    yield f"| bytes of the values that they make, together | {limits.DEFAULT_MEMORY_BYTES} |"
    yield f"| characters of a regular expression | {regex.PATTERN_MAX} |"
    yield f"| bytes that a pattern of the policy may take | {regex.MEMORY_BYTES} |"
    yield f"| bytes that a pattern from data may take | {regex.DATA_MEMORY_BYTES} |"
    yield f"| characters of a text that `timestamp()`, `duration()` or a time zone reads | {times.TEXT_MAX} |"


def errors() -> Iterator[str]:
    """Yields the lines about the errors of an evaluation."""
    yield "| error | when |"
    yield "|---|---|"
    yield from (f"| `{code.value}` | {ERRORS[code]} |" for code in ErrorCode)


def absent() -> Iterator[str]:
    """Yields the lines about extensions."""
    yield "| extension | names |"
    yield "|---|---|"
    for extension, names in EXTENSIONS.items():
        yield f"| {extension} | {', '.join(f'`{name}`' for name in names)} |"


def reserved() -> Iterator[str]:
    """Yields the line of reserved words."""
    yield ", ".join(f"`{word}`" for word in sorted(RESERVED)) + "."


PARTS: Final = {
    "functions": functions, "operators": operators, "limits": bounds, "errors": errors, "absent": absent,
    "reserved": reserved,
}  # fmt: skip


def rendered(document: str) -> str:
    """Returns a document with its generated parts as the code has them now."""
    for name, lines in PARTS.items():
        begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
        assert document.count(begin) == document.count(end) == 1, name
        before, rest = document.split(begin)
        document = before + "\n".join([begin, *lines(), end]) + rest.split(end)[1]
    return document


if __name__ == "__main__":
    DOCUMENT.write_text(rendered(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
