"""The published JSON Schema of policy files, for editors to complete and check from: made from the models.

It says what one document may hold. What the models refuse by code (an end before its beginning, a name that exists
nowhere) it does not say: `policy check` does.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import PydanticUndefined, core_schema

from discreet.policy.meanings import meaning_of
from discreet.policy.model.fields import duration_text, in_count
from discreet.policy.model.kinds import Kind, RuleItem, SourceItem
from discreet.policy.model.load import KINDS, TEST_KIND
from discreet.policy.model.parameters import NAME, ParameterItem
from discreet.policy.testing.kinds import CaseItem, PolicyTest
from discreet.policy.testing.steps import ActStep, AskStep, SequenceItem
from discreet.policy.words import Word

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

ALL_KINDS: Final[dict[str, type[Kind]]] = {**KINDS, TEST_KIND: PolicyTest}
#: Models of what stands in documents and is read by itself.
ITEMS: Final[tuple[type[BaseModel], ...]] = (
    RuleItem,
    SourceItem,
    ParameterItem,
    CaseItem,
    SequenceItem,
    ActStep,
    AskStep,
)
#: Values that stand for more than the model holds: a record's id for its current version, one value for a list of it.
_SHORT: Final = frozenset({"named", "record_named", "of_record", "_environment"})

Schema = dict[str, Any]


class _Generator(GenerateJsonSchema):
    """Words by their short names, and what may be written in short."""

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        if issubclass(schema["cls"], Word):
            return {"enum": [word.short for word in schema["cls"]]}
        return super().enum_schema(schema)

    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        name = getattr(schema["function"]["function"], "__name__", "")
        if name in _SHORT:
            return {"anyOf": [{"type": "string"}, inner]}
        if name == "one_or_more":
            return {"anyOf": [inner["items"], inner]}
        return inner


def json_schema() -> Schema:
    """Returns the schema of one document of a policy file or test file: one of the kinds. Equal at every call."""
    models = (*ALL_KINDS.values(), *ITEMS)
    _, found = models_json_schema(
        [(model, "validation") for model in models], schema_generator=_Generator, ref_template="#/$defs/{model}"
    )
    definitions: dict[str, Schema] = found["$defs"]
    for model in _models_of(models):
        _describe(definitions[model.__name__], model)
    for name, definition in definitions.items():
        if name in ALL_KINDS:
            definition["properties"]["kind"] = {"const": name, "description": meaning_of(Kind, "kind")}
    _fill_in(definitions)
    return {
        "$schema": DIALECT,
        "title": "A document of a Discreet policy set",
        "oneOf": [{"$ref": f"#/$defs/{name}"} for name in ALL_KINDS],
        "$defs": dict(sorted(definitions.items())),
    }


def models_in_schema() -> list[type[BaseModel]]:
    """Returns every model that a document may hold, each once: kinds, then what they hold, in the order of use."""
    return _models_of((*ALL_KINDS.values(), *ITEMS))


def _models_of(roots: tuple[type[BaseModel], ...]) -> list[type[BaseModel]]:
    found: list[type[BaseModel]] = []
    for model in roots:
        pending = [model]
        while pending:
            each = pending.pop(0)
            if each not in found:
                found.append(each)
                pending += [below for field in each.model_fields.values() for below in _in(field.annotation)]
    return found


def _in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [below for part in getattr(annotation, "__args__", ()) for below in _in(part)]


def _describe(definition: Schema, model: type[BaseModel]) -> None:
    definition.pop("title", None)
    definition["description"] = " ".join((model.__doc__ or "").split())
    for name, field in model.model_fields.items():
        key = field.alias or name
        shown = definition["properties"][key] = _without_null(definition["properties"][key])
        shown.pop("title", None)
        shown.pop("default", None)
        shown["description"] = meaning_of(model, key)
        default = default_of(field)
        if default is not None:
            shown["default"] = default


def _without_null(shown: Schema) -> Schema:
    """Returns the schema of a value that is there: a key without one is left out, and never null."""
    choices = [choice for choice in shown.get("anyOf", ()) if choice != {"type": "null"}]
    rest = {key: value for key, value in shown.items() if key != "anyOf"}
    if not choices:
        return rest
    return {**choices[0], **rest} if len(choices) == 1 else {"anyOf": choices, **rest}


def default_of(field: FieldInfo) -> object:
    """Returns the value of a key that is left out, as a file would say it; None where there is none to write."""
    value = field.default
    if value is PydanticUndefined or value is None or value in {"", ()} or isinstance(value, BaseModel):
        return None
    if isinstance(value, Word):
        return value.short
    if isinstance(value, tuple):
        return [item.short if isinstance(item, Word) else item for item in value]
    is_count = any(getattr(check, "func", None) is in_count for check in field.metadata)
    is_span = isinstance(value, int) and not isinstance(value, bool | IntEnum) and not is_count
    return duration_text(value) if is_span else value


def _fill_in(definitions: dict[str, Schema]) -> None:
    """Says of lists and mappings whose items have models of their own what these are."""

    def items(owner: str, key: str, *models: str) -> None:
        refs = [{"$ref": f"#/$defs/{model}"} for model in models]
        definitions[owner]["properties"][key]["items"] = refs[0] if len(refs) == 1 else {"anyOf": refs}

    def named(owner: str, key: str, value: Schema) -> None:
        shown = definitions[owner]["properties"][key]
        shown |= {"additionalProperties": value, "propertyNames": {"pattern": f"^{NAME.pattern}$"}}

    items("SourceList", "sources", "SourceItem")
    items("DisclosurePolicy", "rules", "RuleItem")
    items("PolicyTest", "cases", "CaseItem", "Matrix")
    items("PolicyTest", "sequences", "SequenceItem")
    items("SequenceItem", "steps", "ActStep", "AskStep")
    definitions["Matrix"] = {"type": "object", "required": ["name", "matrix"], "description": _MATRIX}
    named("PolicySet", "parameters", {"$ref": "#/$defs/ParameterItem"})
    named("Environment", "parameters", {})
    named("Definitions", "constants", _CONSTANT)
    named("Definitions", "conditions", {"type": "string", "minLength": 1})
    teams = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    definitions["Owners"]["properties"]["owners"] |= {"additionalProperties": teams}


_MATRIX: Final = "A case for each combination of the values of its axes."
_SINGLE: Final[list[Schema]] = [{"type": name} for name in ("string", "number", "boolean")]
_FORMS: Final[list[Schema]] = [
    {"type": "object", "required": [name], "properties": {name: {"type": "string"}}, "additionalProperties": False}
    for name in ("duration", "time", "parameter")
]
_CONSTANT: Final[Schema] = {"anyOf": [*_SINGLE, {"type": "array", "items": {"anyOf": _SINGLE}}, *_FORMS]}
