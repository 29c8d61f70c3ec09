"""Rules laid out for look-up: by moment and source label, or by moment and kind of segment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import TypeVar

from discreet.policy.snapshot import Rule, RuleIndex
from discreet.policy.words import Effect, Grounding

K = TypeVar("K")


def rule_index(rules: Iterable[Rule]) -> RuleIndex:
    """Returns the index of rules; their order changes nothing, since each tuple is in the order of `precedence`."""
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


def _by(pairs: Iterable[tuple[K, Rule]]) -> Mapping[K, tuple[Rule, ...]]:
    found: dict[K, list[Rule]] = {}
    for key, rule in pairs:
        found.setdefault(key, []).append(rule)
    return {key: tuple(rules) for key, rules in found.items()}
