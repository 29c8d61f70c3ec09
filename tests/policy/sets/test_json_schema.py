"""The published JSON Schema: it takes what the loader takes, and knows every kind, key and word."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from discreet.policy.bundle import is_policy, is_test
from discreet.policy.json_schema import ALL_KINDS, json_schema, models_in_schema
from discreet.policy.meanings import MEANINGS, meaning_of
from discreet.policy.model.load import KINDS
from discreet.policy.starter import starter_files
from discreet.policy.words import Duty, Moment, Reason
from discreet.policy.yaml import plain, read
from tests.policy.sets.sets import RULES, SET, SOURCES, TEXTS_HEAD

ROOT = Path(__file__).parents[3]
SCHEMA = json_schema()
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": int,
    "object": dict,
    "array": tuple,
}


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """Says whether a value fits a schema, as far as the keywords go that the published one uses."""
    if "$ref" in schema and not fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]):
        return False
    if "anyOf" in schema and not any(fits(value, each) for each in schema["anyOf"]):
        return False
    if "oneOf" in schema and sum(fits(value, each) for each in schema["oneOf"]) != 1:
        return False
    if "const" in schema and value != schema["const"]:
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if "type" in schema and not _is(value, schema["type"]):
        return False
    if isinstance(value, str):
        sized = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value))
        return sized and re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, tuple):
        return len(value) >= schema.get("minItems", 0) and all(fits(item, schema.get("items", {})) for item in value)
    return not isinstance(value, dict) or _mapping_fits(value, schema)


def _is(value: object, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _mapping_fits(value: dict[str, Any], schema: dict[str, Any]) -> bool:
    known, other = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not all(fits(key, schema.get("propertyNames", {})) for key in value):
        return False
    if not set(schema.get("required", ())) <= set(value):
        return False
    for key, item in value.items():
        if key in known:
            if not fits(item, known[key]):
                return False
        elif other is False or (isinstance(other, dict) and not fits(item, other)):
            return False
    return True


def documents(data: bytes) -> list[object]:
    """Returns the documents of a file as plain values."""
    return [plain(document.root) for document in read("f.yaml", data)[0]]


def published_sets() -> dict[str, bytes]:
    """Returns the files of the starter, of every example and of the guide."""
    files = {f"starter/{name}": data for name, data in starter_files().items()}
    for path in sorted((ROOT / "policy/examples").rglob("*.yaml")):
        files[str(path.relative_to(ROOT))] = path.read_bytes()
    guide = (ROOT / "docs/policies.md").read_text("utf-8")
    shown = re.findall(r"```yaml\n# (\S+)\n(.*?)```", guide, re.DOTALL)
    return files | {f"guide/{name}": text.encode() for name, text in shown}


FILES = published_sets()


@pytest.mark.parametrize("name", sorted(FILES))
def test_every_published_file_fits_the_schema(name: str) -> None:
    """E1: an editor that checks by the schema marks nothing in what ships."""
    assert is_policy(name) or is_test(name)
    for document in documents(FILES[name]):
        assert fits(document, SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        SET + "use-with: 2s\n",
        SET + "use-within: 2 seconds\n",
        SET.replace("PolicySet", "PolicySets"),
        SET.replace("v1", "v2"),
        SET + "parameters: {Age: {type: text}}\n",
        SET + "parameters: {age: {type: number}}\n",
        SOURCES.replace("DATA_CHANNEL", "CHANNEL"),
        SOURCES.replace("label: notes", "label: Notes"),
        RULES.replace("[PUBLISH]", "PUBLISH"),
        RULES.replace("[PUBLISH]", "[RENDER]"),
        RULES.replace("ALLOW", "DENY"),
        RULES.replace("sources: [notes]}", "until: 2026-01-05}"),
        RULES.replace("sources: [notes]}", "sources: }"),
        TEXTS_HEAD + "locale: fr\ntexts: {}\n",
    ],
)
def test_a_mistake_of_form_does_not_fit(text: str) -> None:
    """E1, YML-08: an editor marks a misspelt key or word while it is typed."""
    (document,) = documents(text.encode())
    assert not fits(document, SCHEMA)


def test_the_schema_has_every_kind_key_and_word() -> None:
    """E1: one choice a kind; each key of each model has its meaning; words are those of YAML and not numbers."""
    assert [each["$ref"] for each in SCHEMA["oneOf"]] == [f"#/$defs/{name}" for name in [*KINDS, "PolicyTest"]]
    for model in models_in_schema():
        shown = SCHEMA["$defs"][model.__name__]
        keys = {field.alias or name for name, field in model.model_fields.items()}
        assert set(shown["properties"]) == keys
        assert shown["additionalProperties"] is False
        assert all(shown["properties"][key]["description"] for key in keys)
    for words in (Moment, Duty, Reason):
        assert SCHEMA["$defs"][words.__name__]["enum"] == [word.short for word in words]
    assert "null" not in json.dumps(SCHEMA)


def test_every_meaning_is_of_a_key_that_there_is() -> None:
    """E1: the table of meanings has nothing left over, and each is one sentence."""
    used = {
        (owner.__name__, key)
        for model in models_in_schema()
        for key in (field.alias or name for name, field in model.model_fields.items())
        for owner in [next(c for c in model.__mro__ if key in MEANINGS.get(c.__name__, {}))]
    }
    assert used == {(owner, key) for owner, keys in MEANINGS.items() for key in keys}
    assert [text for keys in MEANINGS.values() for text in keys.values() if not text.endswith(".")] == []
    with pytest.raises(KeyError):
        meaning_of(ALL_KINDS["PolicySet"], "nothing")


def test_the_schema_is_the_same_at_every_call() -> None:
    """E1: published twice, it differs in nothing."""
    assert json.dumps(json_schema()) == json.dumps(SCHEMA)
