"""Random expressions from a seed: mostly of fitting types, with misfits, absences and extremes, to meet errors too."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Final

LITERALS: Final[dict[str, tuple[str, ...]]] = {
    "int": (
        "0",
        "1",
        "-1",
        "2",
        "3",
        "7",
        "-7",
        "9007199254740993",
        "9223372036854775807",
        "-9223372036854775808",
        "d.i",
        "d.j",
    ),
    "uint": ("0u", "1u", "2u", "7u", "18446744073709551615u"),
    "double": ("0.0", "1.0", "-1.0", "1.5", "-0.5", "2.0", "1e300", "9007199254740993.0", "d.f"),
    "string": ('""', '"a"', '"b"', '"ab"', '"é"', '"\\U0001F600"', '"1"', '"-7"', '"true"', '"1.5"', "d.s", "d.t"),
    "bytes": ('b""', 'b"a"', 'b"ab"', 'b"\\xff"', 'b"é"'),
    "bool": ("true", "false", "d.yes", "d.no"),
    "null": ("null", "d.n"),
    "timestamp": (
        'timestamp("2020-02-29T12:34:56.789Z")',
        "timestamp(0)",
        "timestamp(-1)",
        'timestamp("9999-12-31T23:59:59Z")',
        'timestamp("1969-12-31T23:59:59.999999999Z")',
        'timestamp("0001-01-01T00:00:00Z")',
        "timestamp(int(d.f))",
    ),
    "duration": ('duration("1h")', 'duration("-1.5s")', 'duration("0s")', 'duration("90m")', 'duration("1ns")'),
    "list": (
        "[]",
        "[1, 2, 3]",
        '["a", "b"]',
        "[1, 1.0, 2u]",
        "[true, false]",
        "d.l",
        "d.texts",
        "[[1], [2]]",
        "[null]",
    ),
    "map": (
        "{}",
        '{"a": 1}',
        '{"a": 1, "b": 2}',
        "{1: 2}",
        "{true: 1}",
        '{2: "a", "1": "b", true: "c"}',
        "d.m",
        '{"a": {"b": 1}}',
    ),
    "absent": ("d.gone", "d.m.gone", 'd.m["gone"]', "d.l[9]", "d.s.x"),
}
#: What `has` is asked about.
FIELDS: Final = tuple(
    f"{owner}.{field}"
    for owner in ("d", "d.m", '{"a": 1}', "d.gone", "d.s", "d.n")
    for field in ("a", "s", "gone")
)  # fmt: skip
NUMBERS: Final = ("int", "uint", "double")
SCALARS: Final = (*NUMBERS, "string", "bytes", "bool", "null", "timestamp", "duration")
ORDERED: Final = ("int", "uint", "double", "string", "bytes", "bool", "timestamp", "duration")
PATTERNS: Final = (
    '"a"', '"^.$"', '"^..$"', '"(?i)A|B"', '"[[:digit:]]+"', '"\\\\pL"', '"t.*t$"', '"("', '"(a)\\\\1"', '""', "d.t",
)  # fmt: skip
DATE_PARTS: Final = (
    "FullYear",
    "Month",
    "Date",
    "DayOfMonth",
    "DayOfYear",
    "DayOfWeek",
    "Hours",
    "Minutes",
    "Seconds",
    "Milliseconds",
)


class Generator:
    """Draws expressions; `dynamic` wraps operands in dyn() so that only evaluation can judge their types."""

    def __init__(
        self, seed: int, literals: Mapping[str, tuple[str, ...]] = LITERALS, fields: tuple[str, ...] = FIELDS
    ) -> None:
        self._chance: Final = random.Random(seed)
        self._literals: Final = literals
        self._fields: Final = fields
        self._variables: list[tuple[str, str]] = []
        self._rules: Final[dict[str, tuple[Callable[[int], str], ...]]] = {
            "int": (self._arithmetic("int", "+-*/%"), self._size, self._to("int"), self._date_part,
                    self._negated("int"), self._span_part, self._index),
            "uint": (self._arithmetic("uint", "+-*/%"), self._to("uint")),
            "double": (self._arithmetic("double", "+-*/"), self._to("double"), self._negated("double")),
            "string": (self._arithmetic("string", "+"), self._to("string"), self._choice("string"), self._index),
            "bytes": (self._arithmetic("bytes", "+"), self._to("bytes")),
            "bool": (self._logic, self._logic, self._logic, self._compare, self._compare, self._member, self._text_test,
                     self._quantifier, self._quantifier, self._not, self._has, self._choice("bool"), self._to("bool")),
            "null": (),
            "timestamp": (lambda depth: f"({self.draw('timestamp', depth)} + {self.draw('duration', depth)})",),
            "duration": (self._arithmetic("duration", "+-"), self._between),
            "list": (self._arithmetic("list", "+"), self._filter, self._map, self._map, self._list),
            "map": (self._map_literal, self._index),
        }  # fmt: skip

    def draw(self, kind: str, depth: int) -> str:
        """Returns an expression of a kind, or, once in a while, of another."""
        roll = self._chance.random()
        if roll < 0.04:
            return f"dyn({self._literal(self._chance.choice(SCALARS))})"
        if roll < 0.07:
            return self._literal("absent")
        rules = self._rules[kind]
        if depth <= 0 or not rules or self._chance.random() < 0.15:
            named = [name for name, of in self._variables if of in (kind, "dyn")]
            return self._chance.choice(named) if named and self._chance.random() < 0.5 else self._literal(kind)
        found = self._chance.choice(rules)(depth - 1)
        return f"dyn({found})" if self._chance.random() < 0.2 else found

    def _literal(self, kind: str) -> str:
        return self._chance.choice(self._literals[kind])

    def _any(self, depth: int) -> str:
        return self.draw(self._chance.choice([*SCALARS, "list", "map"]), depth)

    def _arithmetic(self, kind: str, ops: str) -> Callable[[int], str]:
        return lambda depth: f"({self.draw(kind, depth)} {self._chance.choice(ops)} {self.draw(kind, depth)})"

    def _negated(self, kind: str) -> Callable[[int], str]:
        return lambda depth: f"-({self.draw(kind, depth)})"

    def _to(self, kind: str) -> Callable[[int], str]:
        sources = {"string": SCALARS, "bool": ("bool", "string"), "bytes": ("bytes", "string")}
        return lambda depth: f"{kind}({self.draw(self._chance.choice(sources.get(kind, (*NUMBERS, 'string'))), depth)})"

    def _choice(self, kind: str) -> Callable[[int], str]:
        return lambda depth: f"({self.draw('bool', depth)} ? {self.draw(kind, depth)} : {self.draw(kind, depth)})"

    def _size(self, depth: int) -> str:
        return f"size({self.draw(self._chance.choice(['string', 'bytes', 'list', 'map']), depth)})"

    def _date_part(self, depth: int) -> str:
        where = self._chance.choice(["", '"+02:00"', '"America/New_York"', '"-02:30"', '"nowhere"'])
        return f"{self.draw('timestamp', depth)}.get{self._chance.choice(DATE_PARTS)}({where})"

    def _span_part(self, depth: int) -> str:
        part = self._chance.choice(["Hours", "Minutes", "Seconds", "Milliseconds"])
        return f"{self.draw('duration', depth)}.get{part}()"

    def _index(self, depth: int) -> str:
        if self._chance.random() < 0.5:
            return f"{self.draw('list', depth)}[{self.draw('int', depth)}]"
        return f"{self.draw('map', depth)}[{self.draw(self._chance.choice(['string', 'int', 'uint', 'bool']), depth)}]"

    def _between(self, depth: int) -> str:
        return f"({self.draw('timestamp', depth)} - {self.draw('timestamp', depth)})"

    def _logic(self, depth: int) -> str:
        parts = [self.draw("bool", depth) for _ in range(self._chance.choice([2, 2, 3]))]
        return "(" + f" {self._chance.choice(['&&', '||'])} ".join(parts) + ")"

    def _not(self, depth: int) -> str:
        return f"!({self.draw('bool', depth)})"

    def _compare(self, depth: int) -> str:
        if self._chance.random() < 0.5:
            kind = self._chance.choice(ORDERED)
            other = self._chance.choice(NUMBERS) if kind in NUMBERS else kind
            return f"({self.draw(kind, depth)} {self._chance.choice(['<', '<=', '>', '>='])} {self.draw(other, depth)})"
        kind = self._chance.choice([*SCALARS, "list", "map"])
        right = self.draw(kind, depth) if self._chance.random() < 0.7 else f"dyn({self._any(depth)})"
        return f"({self.draw(kind, depth)} {self._chance.choice(['==', '!='])} {right})"

    def _member(self, depth: int) -> str:
        return f"(dyn({self._any(depth)}) in {self.draw(self._chance.choice(['list', 'map']), depth)})"

    def _text_test(self, depth: int) -> str:
        name = self._chance.choice(["contains", "startsWith", "endsWith", "matches"])
        found = self._chance.choice(PATTERNS) if name == "matches" else self.draw("string", depth)
        return f"{self.draw('string', depth)}.{name}({found})"

    def _has(self, depth: int) -> str:
        return f"has({self._chance.choice(self._fields)})"

    def _body(self, kind: str, depth: int) -> tuple[str, str]:
        """Returns the name of a fresh variable and an expression that may use it."""
        name = f"v{len(self._variables)}"
        self._variables.append((name, self._chance.choice(["int", "string", "dyn"])))
        found = self.draw(kind, depth)
        self._variables.pop()
        return name, found

    def _quantifier(self, depth: int) -> str:
        name, body = self._body("bool", depth)
        macro = self._chance.choice(["all", "exists", "exists_one"])
        return f"{self.draw('list', depth)}.{macro}({name}, {body})"

    def _filter(self, depth: int) -> str:
        name, body = self._body("bool", depth)
        over = self._chance.choice(['{"a": 1}', "{1: 2}", "{true: 1}", "{}"]) if self._chance.random() < 0.3 else None
        return f"{over or self.draw('list', depth)}.filter({name}, {body})"

    def _map(self, depth: int) -> str:
        name, body = self._body(self._chance.choice(SCALARS), depth)
        test = f"{self._body('bool', depth)[1]}, " if self._chance.random() < 0.3 else ""
        return f"{self.draw('list', depth)}.map({name}, {test}{body})"

    def _list(self, depth: int) -> str:
        return "[" + ", ".join(self._any(depth) for _ in range(self._chance.randrange(4))) + "]"

    def _map_literal(self, depth: int) -> str:
        return f'{{"a": {self._any(depth)}, "b": {self._any(depth)}}}'
