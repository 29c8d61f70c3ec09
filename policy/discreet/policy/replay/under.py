"""A policy revision with what its rules read of the caller's word, which an audit row may lack."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Self

from discreet.policy.explain import rules_of
from discreet.policy.lint.masked import attributes_read
from discreet.policy.request import Segment
from discreet.policy.snapshot import Rule, Snapshot
from discreet.policy.words import Moment


class Reading(NamedTuple):
    """A rule that reads the caller's word. `attributes`: those whose values it reads; "" stands for any."""

    rule: Rule
    attributes: frozenset[str]
    claimed_scopes: bool

    def fits(self, moment: Moment, segment: Segment) -> bool:
        """True where the rule may be asked. What a segment rests on is left open, and so is the time."""
        rule = self.rule
        kind = rule.kinds is None or segment.kind in rule.kinds
        return moment in rule.moments and rule.grounding is segment.grounding and kind


@dataclass(frozen=True, slots=True)
class Under:
    """A revision to decide under."""

    snapshot: Snapshot
    readings: tuple[Reading, ...]
    _numbered: dict[int, Snapshot] = field(default_factory=dict)

    @classmethod
    def of(cls, snapshot: Snapshot) -> Self:
        """Looks through the rules, those in observe mode included: what they would have done is on record, too."""
        found = (_reading(rule) for rule in rules_of(snapshot.rules))
        return cls(snapshot, tuple(one for one in found if one.attributes or one.claimed_scopes))

    def reads_masked(self, masked: frozenset[str], moment: Moment, segment: Segment | None) -> bool:
        """True where a rule may read one of the masked attributes."""
        some = self._fitting(moment, segment) if masked else ()
        return any("" in one.attributes or not masked.isdisjoint(one.attributes) for one in some)

    def reads_claims(self, moment: Moment, segment: Segment | None) -> bool:
        """True where a rule may read the scopes that a caller claims, whether they count or not."""
        return any(one.claimed_scopes for one in self._fitting(moment, segment))

    def _fitting(self, moment: Moment, segment: Segment | None) -> Iterable[Reading]:
        return (one for one in self.readings if segment is None or one.fits(moment, segment))

    def numbered(self, number: int) -> Snapshot:
        """The revision as if it had been the one of this number: what was read under that was read under this."""
        if number not in self._numbered:
            self._numbered[number] = replace(self.snapshot, number=number)
        return self._numbered[number]


def _reading(rule: Rule) -> Reading:
    if rule.when is None:
        return Reading(rule, frozenset(), claimed_scopes=False)
    attributes = frozenset(name for name, _ in attributes_read(rule.when.root))
    claimed = any(path == "principal" or path.startswith("principal.claimed_scopes") for path in rule.when.reads)
    return Reading(rule, attributes, claimed)
