"""What is legal in a policy set and most likely not meant. A warning never keeps a set from loading."""

from __future__ import annotations

from collections.abc import Iterator

from discreet.policy.model import Loaded
from discreet.policy.problems import Code, PolicyProblem, problem, quoted
from discreet.policy.texts_builtin import OVERRIDABLE
from discreet.policy.words import LOCALES, Effect, Grounding


def warnings_of(loaded: Loaded) -> Iterator[PolicyProblem]:
    """Yields the warnings of a set that has no problems."""
    yield from _sources(loaded)
    yield from _rules(loaded)
    yield from _texts(loaded)


def _sources(loaded: Loaded) -> Iterator[PolicyProblem]:
    allowing = [rule.value for rule in loaded.rules if rule.value.effect is Effect.ALLOW]
    bound = [rule for rule in allowing if rule.grounding is Grounding.BOUND]
    covered = {label for rule in bound for label in rule.sources or ()}
    if any(rule.sources is None for rule in bound):
        return
    for source in loaded.sources:
        if source.value.listed and source.value.label not in covered:
            what = f"no rule allows the source {quoted(source.value.label)}: all that rests on it is withheld"
            yield problem(source.place("label"), what, "allow it in a rule, or say listed: false", Code.UNUSED)


def _rules(loaded: Loaded) -> Iterator[PolicyProblem]:
    listed = {source.value.label for source in loaded.sources if source.value.listed}
    for rule in loaded.rules:
        item = rule.value
        if item.effect is not Effect.ALLOW or item.grounding is not Grounding.BOUND:
            continue
        for position, label in enumerate(item.sources or ()):
            if label not in listed:
                what = f"the source {quoted(label)} is not listed, so this rule never allows it"
                yield problem(rule.place("sources", position), what, "list it, or leave it out here", Code.UNUSED)
        if item.sources is None and item.kinds is None and item.when is None:
            what = f"the rule {quoted(item.id)} allows every record of every listed source"
            yield problem(rule.place(), what, "name sources, kinds or a condition", Code.UNUSED)


def _texts(loaded: Loaded) -> Iterator[PolicyProblem]:
    used = {rule.value.text for rule in loaded.rules}
    for text in loaded.texts:
        for key in text.value.texts:
            place = text.key_place("texts", key)
            if key not in OVERRIDABLE and key not in used:
                yield problem(place, f"no rule uses the text {quoted(key)}", "use it or remove it", Code.UNUSED)
            other = next(locale for locale in LOCALES if locale != text.value.locale)
            if key in OVERRIDABLE and key not in loaded.text_ids.get(other, set()):
                what = f"{key} is reworded in {text.value.locale} alone"
                yield problem(place, what, f"{other} keeps the built-in text; reword it there too", Code.UNUSED)
