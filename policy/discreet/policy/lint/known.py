"""What is known of the values that a condition reads: closed sets, and what gates and the rule's keys leave of them.

A rule is asked only after every gate passed, so a record that it sees is current, neither suspended nor unreachable,
and of a listed source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from discreet.policy.cel.values import Uint
from discreet.policy.model import RuleItem, SourceItem
from discreet.policy.words import LOCALES, Duty, Grounding, Moment, Origin, RecordKind, Word

Key = tuple[str, object]
Facts = Mapping[str, frozenset[Key]]
"""Paths with all the values that they may have."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The closed sets of a policy set: its labels and collectors, and the words of the language."""

    sources: Mapping[str, SourceItem]
    words: Mapping[str, frozenset[str]]


def key_of(value: object) -> Key:
    """Returns a constant so that it equals another where CEL says so: numbers across their types, nothing else.

    >>> key_of(1) == key_of(1.0), key_of(1) == key_of(True)
    (True, False)
    """
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, (int, float, Uint)):
        return "number", value
    return type(value).__name__, value


def keys(values: Iterable[object]) -> frozenset[Key]:
    """Returns a set of constants."""
    return frozenset(map(key_of, values))


def vocabulary_of(sources: Iterable[SourceItem]) -> Vocabulary:
    """Returns the closed sets of a policy set."""
    declared = {item.label: item for item in sources}
    words = {
        "request.moment": _words(Moment),
        "request.locale": frozenset(LOCALES),
        "segment.grounding": _words(Grounding),
        "document.kind": _words(RecordKind),
        "document.origin": _words(Origin),
        "document.collector": frozenset(name for item in declared.values() for name in item.collectors),
        "source.duty": _words(Duty),
        "source.label": frozenset(declared),
    }
    return Vocabulary(declared, words)


def facts_of(item: RuleItem, vocabulary: Vocabulary) -> Facts:
    """Returns what holds whenever the rule is asked."""
    facts = {
        "request.moment": keys(moment.short for moment in item.moments),
        "request.locale": keys(LOCALES),
        "segment.grounding": keys([item.grounding.short]),
    }
    if item.kinds is not None:
        facts["segment.kind"] = keys(item.kinds)
    return facts if item.grounding is Grounding.UNBOUND else {**facts, **_record_facts(item, vocabulary)}


def _record_facts(item: RuleItem, vocabulary: Vocabulary) -> Facts:
    named = vocabulary.sources if item.sources is None else item.sources
    sources = [vocabulary.sources[label] for label in named if label in vocabulary.sources]
    sources = [source for source in sources if source.listed]
    return {
        **_AFTER_THE_GATES,
        "source.label": keys(source.label for source in sources),
        "source.duty": keys(source.duty.short for source in sources),
        "document.collector": keys(name for source in sources for name in source.collectors),
    }


def _words(words: type[Word]) -> frozenset[str]:
    return frozenset(word.short for word in words)


_AFTER_THE_GATES: Final[Facts] = {
    "document.current": keys([True]),
    "document.suspended": keys([False]),
    "document.unreachable": keys([False]),
    "document.superseded": keys([False]),
    "document.kind": keys(_words(RecordKind)),
    "document.origin": keys(_words(Origin)),
    "source.listed": keys([True]),
}
