"""Two evaluators that share no code give the same values and the same classes of error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from discreet.policy.cel import Budget, CelError, EvaluationError, Limits, Schema
from discreet.policy.cel.check import Checker
from discreet.policy.cel.compile import Compiler
from discreet.policy.cel.limits import DEFAULT
from discreet.policy.cel.parse import parse
from discreet.policy.cel.values import from_key
from tests.policy.cel.generator import LITERALS, Generator
from tests.policy.cel.naive import Naive, pairs_of
from tests.policy.cel.naive_values import Failure, kind
from tests.policy.cel.world import SCHEMA, Document, activation, lines

PLENTY: Final = 10**7
COUNT: Final = 8_000
LOOPS: Final = Limits(macro_depth_max=9)
#: Values of declared types, absent ones among them, in the place of values whose type only evaluation tells.
DECLARED: Final[dict[str, tuple[str, ...]]] = {
    "int": ("doc.size", "doc.size", "doc.scopes.size()"),
    "double": ("data.level",),
    "string": ("doc.kind", "doc.kind", "doc.owner.name", "doc.owner.mail", "note", "data.desk", "doc.scopes[0]"),
    "bool": ("flag", "data.flag", 'doc.kind == "memo"', '"x" in doc.scopes', 'doc.kind in ["memo", "a"]'),
    "timestamp": ("now", "doc.as_of", "doc.reviewed_at"),
    "duration": ("(now - doc.as_of)",),
    "list": ("doc.scopes", "plain.items", "plain.keys", "data.tags", "data.shapes"),
    "map": ("data.deep", "data.empty_map", "data"),
    "null": ("data.nothing",),
    "absent": ("doc.editor.name", "absent.kind", "doc.reviewed_at", "data.gone", "data.deep.gone", "data.desk.x"),
}
RECORD_FIELDS: Final = (
    "doc.kind", "doc.as_of", "doc.reviewed_at", "doc.editor", "doc.owner.mail", "doc.editor.name", "absent.kind",
    "plain.keys", "data.desk", "data.gone", "data.deep.er", "data.gone.er", "data.desk.er",
)  # fmt: skip


def canonical(value: object) -> Any:
    """Returns a form in which the same values of both evaluators are equal, and only they."""
    match kind(value):
        case "list":
            assert isinstance(value, list | tuple | frozenset)
            return "list", [canonical(item) for item in value]
        case "map":
            return "map", sorted((repr(canonical(from_key(key))), canonical(held)) for key, held in pairs_of(value))
        case found:
            return found, repr(value)


def both(text: str, schema: Schema, values: Mapping[str, object], limits: Limits = DEFAULT) -> tuple[Any, Any] | None:
    """Returns what the compiled and the naive evaluator give, or None for a text that does not load."""
    try:
        root = parse(text, limits)
        checker = Checker(schema)
        checker.check(root, {})
        run = Compiler(schema, checker.types).compile(root, {})
    except CelError:
        return None
    try:
        compiled = canonical(run(dict(values), Budget(PLENTY)))
    except EvaluationError as error:
        compiled = "error", error.code.value
    try:
        return compiled, canonical(Naive(checker.types, values).value(root, {}))
    except Failure as failure:
        return compiled, ("error", failure.code)


def test_the_tables_have_one_meaning() -> None:
    """F12: a second evaluator, written from the definition, gives each line the same value or class of error.

    Each line is tried dynamically too, where nothing is known about its value at load.
    """
    wrong, tried = [], 0
    for place, expression, _ in lines():
        for text in (expression, f"dyn({expression})", f"[{expression}]"):
            found = both(text, SCHEMA, activation())
            if found is not None:
                tried += 1
                if found[0] != found[1]:
                    wrong.append(f"{place}: {text}: compiled {found[0]}, naive {found[1]}")
    assert not wrong, "\n".join(wrong)
    assert tried > 2_000


def declared() -> dict[str, tuple[str, ...]]:
    """Returns the literals of the generator with the declared values in the place of its dynamic ones."""
    kept = {kind: tuple(text for text in texts if "d." not in text) for kind, texts in LITERALS.items()}
    return {kind: texts + DECLARED.get(kind, ()) for kind, texts in kept.items()}


def shapes() -> list[dict[str, object]]:
    """Returns the activation with its list of scopes as each of the types that stand for a list."""
    values = activation()
    document = values["doc"]
    assert isinstance(document, Document)
    return [
        {**values, "doc": replace(document, scopes=scopes)}
        for scopes in (("x", "y"), ["x", "y"], frozenset({"x", "y"}))
    ]


def test_random_conditions_over_declared_types_have_one_meaning() -> None:
    """F12: what is compiled shorter because a type is declared gives the value or class of error of the naive one."""
    generator, surroundings = Generator(20261130, declared(), RECORD_FIELDS), shapes()
    apart, tried, values = [], 0, 0
    for number in range(COUNT):
        text = generator.draw("bool" if number % 3 else "string", 1 + number % 4)
        found = both(text, SCHEMA, surroundings[number % 3], LOOPS)
        if found is None:
            continue
        tried += 1
        values += found[0][0] != "error"
        if found[0] != found[1]:
            apart.append(f"{text}: compiled {found[0]}, naive {found[1]}")
    assert not apart, "\n".join(apart[:20])
    assert tried > COUNT // 2
    assert values > COUNT // 5
