"""Writes docs/policy-reference.md from the models: `python -m tests.policy.sets.reference`.

A test compares, so that no kind, key, variable, function, gate, reason or limit is missing or described otherwise than
it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter

from discreet.policy import bundle, owners, problems, references, rules, schema, vocabulary
from discreet.policy.cel import Optional, Record
from discreet.policy.json_schema import ALL_KINDS, json_schema, models_in_schema
from discreet.policy.model import definitions, fields, parameters
from discreet.policy.model.fields import duration_text
from discreet.policy.outcome import NEXT, fault_of
from discreet.policy.testing import load, matrix, revisions
from discreet.policy.texts_builtin import BUILTIN, TEXT_CHARS_MAX
from discreet.policy.words import Gate, Reason
from discreet.policy.yaml import reader, scalars, source
from tests.policy.cel import reference as cel

ROOT: Final = Path(__file__).parents[3]
DOCUMENT: Final = ROOT / "docs" / "policy-reference.md"
PROTO: Final = (ROOT / "proto/discreet/v1/common.proto").read_text("utf-8")
SCHEMA: Final = json_schema()

HEAD: Final = """\
# Policy reference

Every kind of document, key, variable, function, gate, reason and limit of a policy set. It is written from the models
that read the files (`python -m tests.policy.sets.reference`). The guide, with examples, is [policies.md](policies.md);
the language of conditions is told in [conditions.md](conditions.md). Editors complete from the JSON Schema that
`discreet policy schema` prints.

A key without a default has to be given unless its meaning says what its absence means.
"""
TEXTS: Final[dict[str, tuple[Any, str]]] = {
    "label": (fields.Label, "`research-notes`"),
    "caller": (fields.CallerName, "`notes-collector`"),
    "segment kind": (fields.SegmentKind, "`small-talk`"),
    "rule id": (fields.RuleId, "`public-notes`"),
    "text id": (fields.TextId, "`embargo-notice`"),
    "custom reason": (fields.CustomReason, "`UNDER_EMBARGO`"),
    "attribute": (fields.AttributeName, "`staff_number`"),
    "team": (fields.Team, "`@acme/equity-desk`"),
    "time": (fields.Time, "`2026-01-05T09:00:00Z`, `2026-01-05T10:00:00+01:00`"),
    "duration": (fields.Duration, "`30s`, `15m`, `36h`, `7d`, `1d12h`"),
    "age": (fields.Age, "a duration, or `none`"),
    "duration or never": (fields.SpanOrNever, "a duration, or `never`"),
}
VARIABLES: Final = {
    "request": "the call",
    "request.moment": "`RETRIEVE`, `PUBLISH`, `REPLAY` or `EXPORT`",
    "request.tenant": "the tenant that the call is for",
    "request.session_id": "as the request gave it",
    "request.locale": "`en` or `zh-Hans`",
    "request.need_numbers": "as the request gave it",
    "request.need_advice": "as the request gave it",
    "principal": "the end user that the caller asks for",
    "principal.id": "who it is",
    "principal.scopes": "the scopes that count: those granted, and those claimed where the policy lets claims count",
    "principal.attributes": "the caller's word",
    "principal.claimed_scopes": "the caller's word, whether it counts or not",
    "segment": "the part of the answer that is decided on",
    "segment.id": "as the request gave it",
    "segment.kind": "as the request gave it",
    "segment.grounding": "`BOUND` or `UNBOUND`",
    "segment.need_numbers": "as the request gave it; at REPLAY and EXPORT as it was committed",
    "segment.need_advice": "as the request gave it; at REPLAY and EXPORT as it was committed",
    "segment.claim": "what the segment asserts; absent: nothing",
    "segment.claim.basis": "the basis that is asked for; may be empty",
    "segment.claim.about_start": "the first moment that is asserted about; absent: now",
    "segment.claim.about_end": "the last one",
    "segment.claim.required_fields": "the fields that must be there",
    "now": "the database's time",
    "document": "the record in question: a document or a piece of evidence",
    "document.record_id": "its id",
    "document.version": "its version",
    "document.kind": "`DOCUMENT` or `EVIDENCE`",
    "document.as_of": "the time that it speaks of",
    "document.basis": "how its figures are counted; may be empty",
    "document.scopes": "who may know of it",
    "document.attributes": "what its collector wrote of it",
    "document.fields": "the values that a piece of evidence holds",
    "document.assessment_expires_at": "until when it is eligible",
    "document.recorded_at": "when it was registered",
    "document.collector": "who registered it",
    "document.origin": "`COLLECTED`, `DERIVED` or `INFERRED`",
    "document.current": "whether it is the record's current version",
    "document.suspended": "whether an operator suspended it",
    "document.unreachable": "whether its original cannot be reached",
    "document.superseded": "whether a version or record replaces it",
    "source": "the declared source of the record",
    "source.label": "its label",
    "source.title": "its title",
    "source.duty": "`DATA_CHANNEL`, `DOCUMENT_STORE` or `DERIVATION`",
    "source.listed": "whether it is on the allowlist",
    "source.max_age": "how old its data may be",
    "binding": "how the segment names the record",
    "binding.record_id": "the record's id",
    "binding.version": "the version that it names",
    "binding.locator": "the place within the record; absent for a record that stands behind a bound one",
}
#: Each form of each macro, with what it gives and its meaning.
MACROS_SHOWN: Final = {
    "x.all(v, test)": "bool | whether the test is true for every item; true for an empty list",
    "x.exists(v, test)": "bool | whether it is true for one item at least; false for an empty list",
    "x.exists_one(v, test)": "bool | whether it is true for exactly one",
    "x.filter(v, test)": "list | the items for which it is true",
    "x.map(v, value)": "list | the value for each item",
    "x.map(v, test, value)": "list | the value for each item for which the test is true",
}
#: Limit to value, in the order of files, sets, conditions, tests, reports.
LIMITS: Final[dict[str, int | str]] = {
    "bytes of a file": source.FILE_BYTES_MAX,
    "levels of a file": reader.DEPTH_MAX,
    "values of a file": reader.NODES_MAX,
    "digits of a number": scalars.DIGITS_MAX,
    "files of a folder, of every kind": bundle.FILES_MAX,
    "bytes of a folder": bundle.SET_BYTES_MAX,
    "rules": references.RULES_MAX,
    "sources": references.SOURCES_MAX,
    "items of a list": fields.LIST_MAX,
    "masked attributes": fields.MASKED_MAX,
    "characters of a title or description": fields.TITLE_CHARS_MAX,
    "characters of a disclosure text": TEXT_CHARS_MAX,
    "longest duration": duration_text(fields.DURATION_US_MAX),
    "parameters": parameters.PARAMETERS_MAX,
    "environments": parameters.ENVIRONMENTS_MAX,
    "constants and named conditions": definitions.NAMES_MAX,
    "folders with owners": owners.PATTERNS_MAX,
    "characters of a condition with the named ones in it": vocabulary.TEXT_CHARS_MAX,
    "steps that the rules of one segment share": rules.STEPS_PER_SEGMENT,
    "cases and steps of all tests": load.CASES_MAX,
    "steps of a sequence": load.STEPS_MAX,
    "policies that sequences switch to": revisions.REVISIONS_MAX,
    "combinations of a matrix": matrix.COMBINATIONS_MAX,
    "problems in one report": problems.PROBLEMS_MAX,
}
RANGES: Final = {
    ("PolicySet", "use-within"): "50ms to 1m",
    ("PolicySet", "store-within"): "1s to 7d",
    ("RetentionPolicy", "dry-run-above"): f"0 to {fields.COUNT_MAX}",
    ("RetentionPolicy", "purge-within"): "1s to 90d",
    ("RetentionPolicy", "recheck-after"): "1s to 90d",
}


def reference() -> str:
    """Returns the whole document."""
    parts = [HEAD, *_kinds(), *_texts(), *_variables(), *_names(), *_functions(), *_gates(), *_reasons(), *_limits()]
    return "\n".join(parts) + "\n"


def _table(*columns: str) -> list[str]:
    return [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]


def _kinds() -> Iterator[str]:
    yield "## Kinds\n"
    shared = ["apiVersion", "kind", "name", "description"]
    yield "Every document begins with these keys.\n"
    yield from _keys("PolicySet", ALL_KINDS["PolicySet"], only=shared)
    models = models_in_schema()
    below = [model for model in models if model.__name__ not in ALL_KINDS]
    for model in (*ALL_KINDS.values(), *below):
        is_kind = model.__name__ in ALL_KINDS
        if below and model is below[0]:
            yield "\n## What stands in documents"
        yield f"\n### {model.__name__}\n"
        yield " ".join((model.__doc__ or "").split()) + "\n"
        keys = [field.alias or name for name, field in model.model_fields.items()]
        yield from _keys(model.__name__, model, [key for key in keys if not is_kind or key not in shared])


def _keys(name: str, model: type[BaseModel], only: list[str]) -> Iterator[str]:
    yield from _table("key", "value", "default", "meaning")
    shown = SCHEMA["$defs"][name]
    for key in only:
        value = shown["properties"][key]
        default = (
            "required" if key in shown.get("required", ()) else _code(value["default"]) if "default" in value else ""
        )
        limits = RANGES.get((name, key), "")
        meaning = value["description"] + (f" From {limits}." if limits else "")
        yield f"| `{key}` | {_type(value)} | {default} | {meaning} |"


def _code(value: object) -> str:
    words = value if isinstance(value, list) else [str(value).lower() if isinstance(value, bool) else str(value)]
    return ", ".join(f"`{word}`" for word in words)


def _type(shown: dict[str, Any]) -> str:
    """Returns what may stand as a value, in words."""
    if "$ref" in shown:
        name = shown["$ref"].removeprefix("#/$defs/")
        enum = SCHEMA["$defs"][name].get("enum")
        if name in {"Reason", "Gate"}:
            return f"a {name.lower()}, see below"
        return _code(enum) if enum else "a case with `matrix`" if name == "Matrix" else f"[{name}](#{name.lower()})"
    if "const" in shown or "enum" in shown:
        return _code(shown.get("enum") or [shown["const"]])
    if "anyOf" in shown:
        choices = [_type(choice) for choice in shown["anyOf"]]
        return " or ".join(dict.fromkeys(choices))
    if shown.get("type") == "string":
        return _TEXT_NAMES.get(shown.get("pattern", ""), "text")
    if shown.get("type") == "array":
        return f"list of {_type(shown.get('items', {}))}"
    if shown.get("type") == "object":
        return _mapping(shown)
    return {"boolean": "`true` or `false`", "number": "a number", "integer": "a whole number"}.get(
        str(shown.get("type")), "any value"
    )


def _mapping(shown: dict[str, Any]) -> str:
    if "required" in shown:
        return f"`{{{shown['required'][0]}: ...}}`"
    below = shown.get("additionalProperties")
    return f"mapping to {_type(below)}" if isinstance(below, dict) and below else "mapping"


_TEXT_NAMES: Final[dict[str, str]] = {}


def _pattern_of(annotation: Any) -> str:
    found = TypeAdapter(annotation).json_schema()
    return str((found.get("anyOf") or [found])[0]["pattern"])


_TEXT_NAMES.update({_pattern_of(annotation): name for name, (annotation, _) in TEXTS.items()})


def _texts() -> Iterator[str]:
    yield "\n## Forms of text\n"
    yield "`text` is any text; `{parameter: name}` stands for the value of a parameter of the same type.\n"
    yield from _table("form", "pattern", "for example")
    for name, (annotation, example) in TEXTS.items():
        pattern = _pattern_of(annotation).removeprefix("^").removesuffix("$").replace("|", "\\|")
        yield f"| {name} | `{pattern}` | {example} |"


def _variables() -> Iterator[str]:
    yield "\n## Variables of conditions\n"
    yield "`?` marks what may be absent: ask with `has()` first. Rules for UNBOUND segments have none of `document`,"
    yield "`source` and `binding`.\n"
    yield from _table("name", "type", "meaning")
    for path, kind in paths(schema.BOUND.names):
        yield f"| `{path}` | {kind} | {VARIABLES[path]} |"


def paths(names: Any, above: str = "") -> Iterator[tuple[str, str]]:
    """Yields the path of everything that a condition may read, with its type."""
    for name, declared in names.items():
        kind = declared.inner if isinstance(declared, Optional) else declared
        mark = "?" if isinstance(declared, Optional) else ""
        yield above + name, f"{kind}{mark}"
        if isinstance(kind, Record):
            yield from paths(kind.fields, f"{above}{name}.")


def _names() -> Iterator[str]:
    yield "\nBesides these a condition may use the names that the set gives:\n"
    yield from _table("name", "meaning")
    for root, what in vocabulary.ROOTS.items():
        where = "`parameters` in `discreet.yaml`" if root == "parameters" else f"`{root}` of a Definitions"
        yield f"| `{root}.name` | the {what} of that name, from {where} |"


def _functions() -> Iterator[str]:
    yield "\n## Functions of conditions\n"
    yield "`y` beside a timestamp is a time zone. The macros work on lists, and on the keys of maps written out.\n"
    yield from cel.functions()
    yield "| `has(x.y)` | bool | whether a field or key is there |"
    yield from (f"| `{call}` | {gives} |" for call, gives in MACROS_SHOWN.items())
    yield "\nAnd the operators `?:`, `||`, `&&`, `!`, `==`, `!=`, `<`, `<=`, `>`, `>=`, `in`, `[]` and\n"
    yield from cel.operators()


def _gates() -> Iterator[str]:
    yield "\n## Gates\n"
    yield "In this order; a segment is decided at the first that stops it.\n"
    yield from _table("gate", "what it asks")
    yield from (f"| `{gate.short}` | {meaning_in_messages('GATE', gate)} |" for gate in Gate)


def _reasons() -> Iterator[str]:
    yield "\n## Reasons\n"
    yield "What the audit holds. For those marked `*` readers are told NOT_AVAILABLE. Texts reword the others."
    yield "NONE has no text.\n"
    yield from _table("reason", "when", "fault", "next", "text in English", "text in Chinese")
    for reason in Reason:
        hidden = "`*`" if reason.looks_unavailable else ""
        texts = [BUILTIN[locale].get(reason.short, "") for locale in ("en", "zh-Hans")]
        yield (
            f"| `{reason.short}`{hidden} | {meaning_of_reason(reason)} | {fault_of(reason)} | {NEXT[reason].short} "
            f"| {texts[0]} | {texts[1]} |"
        )


def meaning_of_reason(reason: Reason) -> str:
    """Returns what the published messages say of a reason."""
    return meaning_in_messages("REASON", reason)


def meaning_in_messages(prefix: str, word: Reason | Gate) -> str:
    """Returns what the published messages say of a word."""
    found = re.search(rf"((?:^  //.*\n)+)  {prefix}_{word.short} = {word.value};", PROTO, re.MULTILINE)
    assert found is not None, word
    return " ".join(line.strip().removeprefix("//").strip() for line in found.group(1).splitlines())


def _limits() -> Iterator[str]:
    yield "\n## Limits\n"
    yield "One past any of them is an error when the set is loaded, or of the evaluation where only that can tell.\n"
    yield from _table("limit", "value")
    for name, value in LIMITS.items():
        yield f"| {name} | {value:,} |" if isinstance(value, int) else f"| {name} | {value} |"
    yield "\nOf a condition:\n"
    yield from cel.bounds()


def main() -> None:
    """Writes the document."""
    DOCUMENT.write_text(reference(), "utf-8")


if __name__ == "__main__":
    main()
