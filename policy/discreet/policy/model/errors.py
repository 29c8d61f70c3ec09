"""Where and how pydantic's complaints are told to the author of a policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from discreet.policy.model.fields import kind_name
from discreet.policy.problems import PROBLEMS_MAX, Code, PolicyProblem, did_you_mean, problem, quoted, shortened
from discreet.policy.yaml import Document, Node, Path, Scalar

_WANTED: Final = {
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "float_type": "a number",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def problems_of(
    error: ValidationError,
    document: Document,
    path: Path,
    model: type[BaseModel],
    moved: Callable[[Path], Path] | None = None,
) -> list[PolicyProblem]:
    """Returns the complaints of one validation with their places; `path` leads to what was validated.

    `moved` gives the way from there to a value that stands elsewhere in the file than in what was validated.
    """
    found = error.errors(include_url=False)[:PROBLEMS_MAX]
    return [_problem(details, document, path, model, moved) for details in found]


def _problem(
    details: ErrorDetails,
    document: Document,
    path: Path,
    model: type[BaseModel],
    moved: Callable[[Path], Path] | None = None,
) -> PolicyProblem:
    loc = details["loc"]
    where = (*path, *(moved(loc) if moved is not None else loc))
    kind, given = details["type"], details["input"]
    if kind == "discreet":
        context = details["ctx"]
        code = Code(context["code"])
        where = (*where, *context["path"])
        place = document.key_place(*where) if given is None or code is Code.MISSING_KEY else document.place(*where)
        return problem(place, _named(where, context["what"]), context["hint"], code)
    if kind == "extra_forbidden":
        known = keys_at(model, details["loc"][:-1])
        key = str(where[-1])
        return problem(
            document.key_place(*where), f"no key {quoted(key)} here", did_you_mean(key, known), Code.UNKNOWN_KEY
        )
    if kind == "missing":
        return problem(
            document.place(*where[:-1]), f"the key {quoted(str(where[-1]))} is missing", "", Code.MISSING_KEY
        )
    return _mistyped(details, document, where)


def _mistyped(details: ErrorDetails, document: Document, where: Path) -> PolicyProblem:
    kind, given = details["type"], details["input"]
    node = document.node(where)
    place = document.place(*where)
    if kind == "string_type":
        return problem(
            place, _named(where, f"must be text, not {kind_name(given)}"), _quote_it(document, node), Code.NOT_TEXT
        )
    if kind == "literal_error":
        wanted = [word.strip("'") for word in str(details["ctx"]["expected"]).replace(" or ", ", ").split(", ")]
        shown = quoted(given) if isinstance(given, str) else kind_name(given)
        hint = did_you_mean(given, wanted) if isinstance(given, str) else "one of " + ", ".join(wanted)
        return problem(place, _named(where, f"cannot be {shown}"), hint)
    if kind == "string_too_short":
        return problem(place, _named(where, "is empty"), "give it a value, or leave the key out")
    if kind in _WANTED:
        hint = f"write {_WANTED[kind]}" if kind == "bool_type" else ""
        return problem(place, _named(where, f"must be {_WANTED[kind]}, not {kind_name(given)}"), hint)
    return problem(place, _named(where, f"is not valid ({kind})"))


def _named(where: Path, what: str) -> str:
    """Returns a message that begins with the key that it is about, where it is no whole sentence of its own."""
    if not what.startswith(("must ", "cannot ", "is ", "has ")):
        return what
    last = next((step for step in reversed(where) if isinstance(step, str)), "the document")
    name = shortened(last)
    return f"an item of {name} {what}" if where and isinstance(where[-1], int) else f"{name} {what}"


def _quote_it(document: Document, node: Node) -> str:
    if not isinstance(node, Scalar) or node.value is None:
        return "write text"
    written = document.source.text[node.start : node.end]
    return f"quote it: {quoted(written)}"


def keys_at(model: type[BaseModel], loc: Path) -> list[str]:
    """Returns the keys that a model knows at a place below it."""
    for step in loc:
        below = next((field for name, field in model.model_fields.items() if step in {name, field.alias}), None)
        nested = model_in(below.annotation) if below is not None else None
        if nested is not None:
            model = nested
    return [field.alias or name for name, field in model.model_fields.items()]


def model_in(annotation: object) -> type[BaseModel] | None:
    """Returns the first model in a type, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for part in getattr(annotation, "__args__", ()):
        found = model_in(part)
        if found is not None:
            return found
    return None
