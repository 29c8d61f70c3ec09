"""What the documents of a set say of each other: one of a kind, unique names, sources and texts that exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from discreet.policy.model import Loaded, Placed
from discreet.policy.model.kinds import Kind
from discreet.policy.model.parameters import SET_FILE
from discreet.policy.problems import Code, Place, PolicyProblem, did_you_mean, problem, quoted
from discreet.policy.texts_builtin import OVERRIDABLE
from discreet.policy.texts_lint import lint_text
from discreet.policy.words import LOCALES, Reason

RULES_MAX: Final = 20_000
SOURCES_MAX: Final = 20_000
#: Unknown names for which the nearest known one is looked for: each look reads all of them.
HINTS_MAX: Final = 50


def reference_problems(loaded: Loaded) -> Iterator[PolicyProblem]:
    """Yields what is wrong between documents."""
    yield from _one_set(loaded)
    yield from _one_retention(loaded)
    yield from _unique_names(loaded)
    yield from _twice("source", ((source.value.label, source.place("label")) for source in loaded.sources))
    yield from _twice("rule id", ((rule.value.id, rule.place("id")) for rule in loaded.rules))
    for what in ("constant", "condition"):
        yield from _twice(what, _defined(loaded, f"{what}s"))
    yield from _too_many(loaded)
    yield from _texts(loaded)
    if loaded.whole:
        yield from _unknown_sources(loaded)
        yield from _unknown_texts(loaded)


def _one_set(loaded: Loaded) -> Iterator[PolicyProblem]:
    if not loaded.sets and loaded.whole and not any(found.file == SET_FILE for found in loaded.problems):
        hint = "add a file discreet.yaml with kind: PolicySet"
        yield problem(Place(SET_FILE), "the folder has no PolicySet", hint, Code.FILE)
    for found in loaded.sets:
        if found.document.file != SET_FILE:
            yield problem(found.place("kind"), "a PolicySet outside discreet.yaml", "there is one a folder", Code.FILE)
    inside = [found for found in loaded.sets if found.document.file == SET_FILE]
    for again in inside[1:]:
        hint = f"the first stands at {inside[0].place('kind')}"
        yield problem(again.place("kind"), "a second PolicySet", hint, Code.DUPLICATE)


def _one_retention(loaded: Loaded) -> Iterator[PolicyProblem]:
    for again in loaded.retention[1:]:
        hint = f"the first stands at {loaded.retention[0].place('kind')}; put all of it into one"
        yield problem(again.place("kind"), "a second RetentionPolicy", hint, Code.DUPLICATE)


def _unique_names(loaded: Loaded) -> Iterator[PolicyProblem]:
    kinds: list[Placed[Kind]] = [
        *loaded.source_lists,
        *loaded.policies,
        *loaded.embargoes,
        *loaded.definitions,
        *loaded.environments,
        *loaded.owners,
    ]
    yield from _twice("name of a document", ((f"{k.value.kind}/{k.value.name}", k.place("name")) for k in kinds))
    texts = ((f"{t.value.name} ({t.value.locale})", t.place("name")) for t in loaded.texts)
    yield from _twice("name of a document", texts)


def _twice(what: str, named: Iterable[tuple[str, Place]]) -> Iterator[PolicyProblem]:
    first: dict[str, Place] = {}
    for name, place in named:
        if name in first:
            hint = f"it stands at {first[name]} already; rename or remove one"
            yield problem(place, f"the {what} {quoted(name)} is given twice", hint, Code.DUPLICATE)
        first.setdefault(name, place)


def _defined(loaded: Loaded, key: str) -> Iterator[tuple[str, Place]]:
    for placed in loaded.definitions:
        for name in getattr(placed.value, key):
            yield name, placed.key_place(key, name)


def _too_many(loaded: Loaded) -> Iterator[PolicyProblem]:
    if len(loaded.rules) > RULES_MAX:
        place = loaded.rules[RULES_MAX].place()
        yield problem(place, f"the set has more than {RULES_MAX} rules", "say the same with fewer", Code.LIMIT)
    if len(loaded.sources) > SOURCES_MAX:
        place = loaded.sources[SOURCES_MAX].place()
        yield problem(place, f"the set has more than {SOURCES_MAX} sources", "", Code.LIMIT)


def _unknown_sources(loaded: Loaded) -> Iterator[PolicyProblem]:
    unknown = (
        (rule, position, label)
        for rule in loaded.rules
        for position, label in enumerate(rule.value.sources or ())
        if label not in loaded.labels
    )
    for count, (rule, position, label) in enumerate(unknown):
        close = did_you_mean(label, loaded.labels) if count < HINTS_MAX else ""
        hint = close or "declare it in a SourceList"
        yield problem(rule.place("sources", position), f"no source {quoted(label)}", hint, Code.UNKNOWN_NAME)


def _unknown_texts(loaded: Loaded) -> Iterator[PolicyProblem]:
    for rule in loaded.rules:
        name = rule.value.text
        absent = [locale for locale in LOCALES if name not in loaded.text_ids.get(locale, set())] if name else []
        if len(absent) == len(LOCALES):
            known = {key for keys in loaded.text_ids.values() for key in keys} - OVERRIDABLE
            hint = did_you_mean(name, known) or "define it in Texts of both locales"
            yield problem(rule.place("text"), f"no text {quoted(name)}", hint, Code.UNKNOWN_NAME)
        elif absent:
            hint = f"define it in Texts with locale: {absent[0]}"
            yield problem(rule.place("text"), f"the text {quoted(name)} has no {absent[0]}", hint, Code.UNKNOWN_NAME)


def _texts(loaded: Loaded) -> Iterator[PolicyProblem]:
    for locale in LOCALES:
        found = [placed for placed in loaded.texts if placed.value.locale == locale]
        yield from _twice(
            f"{locale} text",
            ((key, placed.key_place("texts", key)) for placed in found for key in placed.value.texts),
        )
        for placed in found:
            for key, text in placed.value.texts.items():
                yield from _text_id(placed, key)
                for finding in lint_text(key, locale, text):
                    yield problem(placed.place("texts", key), finding.message, finding.hint, Code.TEXT)


def _text_id(placed: Placed[object], key: str) -> Iterator[PolicyProblem]:
    place = placed.key_place("texts", key)
    if key in OVERRIDABLE or _is_own_name(key):
        return
    if key in Reason.__members__ and Reason[key].looks_unavailable:
        hint = "readers are told NOT_AVAILABLE for every such cause; reword that"
        yield problem(place, f"{key} has no text of its own", hint, Code.UNKNOWN_NAME)
        return
    hint = did_you_mean(key, OVERRIDABLE)
    hint = hint if hint.startswith("did") else "a reason in capitals, or a name of your own like embargo-notice"
    yield problem(place, f"no reason {quoted(key)} to word", hint, Code.UNKNOWN_NAME)


def _is_own_name(key: str) -> bool:
    plain = key.replace("-", "")
    return (
        bool(plain)
        and plain.isascii()
        and plain.isalnum()
        and key == key.lower()
        and key[0].isalpha()
        and len(key) <= 64
    )
