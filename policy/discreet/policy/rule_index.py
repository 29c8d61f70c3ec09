"""Rules laid out for look-up: by moment and label or kind, then by the texts that they cannot be true without.

The look-up changes no decision: what it leaves out is false. A test compares it with evaluating every rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from typing import Final, TypeVar

from discreet.policy.cel.schema import FIELD_NAME
from discreet.policy.snapshot import Keyed, Rule, RuleIndex, RuleSet
from discreet.policy.words import Effect, Grounding

K = TypeVar("K")

KEYED_RULES_MIN: Final = 4
"""Fewer rules on one path are evaluated: a look-up would cost as much."""


def rule_index(rules: Iterable[Rule]) -> RuleIndex:
    """Returns the index of rules; their order changes nothing."""
    ordered = sorted(rules, key=precedence)
    bound = [rule for rule in ordered if rule.grounding is Grounding.BOUND]
    unbound = [rule for rule in ordered if rule.grounding is Grounding.UNBOUND]
    return RuleIndex(
        by_source=_by((key, rule) for rule in bound for key in product(rule.moments, rule.sources or ())),
        any_source=_by((moment, rule) for rule in bound if rule.sources is None for moment in rule.moments),
        by_kind=_by((key, rule) for rule in unbound for key in product(rule.moments, rule.kinds or ())),
        any_kind=_by((moment, rule) for rule in unbound if rule.kinds is None for moment in rule.moments),
    )


def precedence(rule: Rule) -> tuple[bool, str]:
    """Returns the key that puts withholding rules first and orders the rest by id."""
    return rule.effect is Effect.ALLOW, rule.id


def _by(pairs: Iterable[tuple[K, Rule]]) -> Mapping[K, RuleSet]:
    found: dict[K, list[Rule]] = {}
    for key, rule in pairs:
        found.setdefault(key, []).append(rule)
    return {key: rule_set(rules) for key, rules in found.items()}


def rule_set(rules: list[Rule]) -> RuleSet:
    """Returns the rules with those that share a path of text equalities gathered under it.

    A rule with several such paths goes under the one that most rules share, where the look-up leaves out the most.
    """
    popular = Counter(path for rule in rules for path in {path for path, _ in _texts(rule)})
    plain: list[Rule] = []
    groups: dict[str, list[tuple[str, Rule]]] = {}
    for rule in rules:
        best = max(_texts(rule), key=lambda pair: (popular[pair[0]], pair[0]), default=None)
        if best is None or popular[best[0]] < KEYED_RULES_MIN:
            plain.append(rule)
        else:
            groups.setdefault(best[0], []).append((best[1], rule))
    return RuleSet(tuple(plain), tuple(_keyed(path, group) for path, group in sorted(groups.items())))


def _texts(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yields the equalities with a text whose path is a name followed by plain fields."""
    for path, constant in rule.when.equalities if rule.when is not None else ():
        if isinstance(constant, str) and all(FIELD_NAME.fullmatch(step) for step in path.split(".")):
            yield path, constant


def _keyed(path: str, group: list[tuple[str, Rule]]) -> Keyed:
    by_text: dict[str, list[Rule]] = {}
    for constant, rule in group:
        by_text.setdefault(constant, []).append(rule)
    found = {constant: tuple(rules) for constant, rules in by_text.items()}
    return Keyed(tuple(path.split(".")), found, tuple(rule for _, rule in group))


def fitting(rules: RuleSet, activation: Mapping[str, object]) -> Iterator[Rule]:
    """Yields the rules that may be true or may err for the activation; all others are false."""
    yield from rules.plain
    for keyed in rules.keyed:
        value = _value(activation, keyed.path)
        if value is None:
            yield from keyed.rules
        elif isinstance(value, str):
            yield from keyed.by_text.get(value, ())
        # Any other value equals no text: every one of these rules is false.


def _value(activation: Mapping[str, object], path: tuple[str, ...]) -> object:
    """What a path holds; None where a step of it is absent or null, which the rules must judge themselves."""
    value: object = activation
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else getattr(value, step, None)
        if value is None:
            return None
    return value
