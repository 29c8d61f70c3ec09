"""What can differ in meaning between two policy sets: a closed set of changes, each with its direction.

Knows nothing of how differences are found or shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Direction(StrEnum):
    """What a change does to what may be shown, used or kept, all else being equal and within the step budget."""

    LOOSENS = "loosens"
    """Something may be, that might not before; nothing is taken away."""
    EITHER = "either"
    """It may do both, or it cannot be told."""
    TIGHTENS = "tightens"
    """Something may not be any more, that might before; nothing is added."""
    NEITHER = "neither"
    """It does neither: what is told or written down changes."""

    @property
    def opposite(self) -> Direction:
        """The direction of the same change made backwards."""
        return {Direction.LOOSENS: Direction.TIGHTENS, Direction.TIGHTENS: Direction.LOOSENS}.get(self, self)


class Kind(StrEnum):
    """What is changed; a closed set. Reports list changes of one direction in this order."""

    ENVIRONMENT_ADDED = "environment added"
    ENVIRONMENT_REMOVED = "environment removed"
    SOURCE_ADDED = "source added"
    SOURCE_REMOVED = "source removed"
    SOURCE_LISTED = "source listed"
    SOURCE_UNLISTED = "source unlisted"
    SOURCE_COLLECTORS = "collectors of the source"
    SOURCE_DUTY = "duty of the source"
    SOURCE_MAX_AGE = "max-age of the source"
    SOURCE_RECORD_IDS = "record-ids of the source"
    SOURCE_TITLE = "title of the source"
    RULE_ADDED = "rule added"
    RULE_REMOVED = "rule removed"
    RULE_RENAMED = "rule renamed"
    RULE_EFFECT = "effect of the rule"
    RULE_MODE = "mode of the rule"
    RULE_MOMENTS = "moments of the rule"
    RULE_SOURCES = "sources of the rule"
    RULE_KINDS = "kinds of the rule"
    RULE_GROUNDING = "grounding of the rule"
    RULE_CONDITION = "condition of the rule"
    RULE_VALIDITY = "validity of the rule"
    RULE_ADVICE = "advice of the rule"
    RULE_CUSTOM_REASON = "custom-reason of the rule"
    RULE_TEXT = "text of the rule"
    REQUIRES = "requires"
    CLAIMED_FROM = "principal-scopes claimed-from"
    AUDIT_CHECKS = "audit checks"
    AUDIT_MASK = "audit mask"
    POLICY_MAX_AGE = "policy-max-age"
    READ_MAX_STALENESS = "read-max-staleness"
    USE_WITHIN = "use-within"
    STORE_WITHIN = "store-within"
    RETENTION_DRY_RUN_ABOVE = "retention dry-run-above"
    RETENTION_PURGE_WITHIN = "retention purge-within"
    RETENTION_RECHECK_AFTER = "retention recheck-after"
    PARAMETER_ADDED = "parameter added"
    PARAMETER_REMOVED = "parameter removed"
    PARAMETER_CHANGED = "parameter changed"
    TEXT_ADDED = "text added"
    TEXT_REMOVED = "text removed"
    TEXT_CHANGED = "text changed"
    SET_NAME = "name of the set"


class Aside(StrEnum):
    """What differs without a change of meaning and is worth knowing all the same; a closed set."""

    OWNERS = "owners of the rule"
    STEPS = "evaluation steps of the rule"
    """Its condition is the same and is written so that it takes more or fewer steps of the budget."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of meaning. `old` and `new`: what it says on either side, empty where it says nothing there.

    `subject`: the label, rule, parameter, or locale and id of a text; empty for what holds for the whole set.
    `environments`: where it is so; empty: in all that both sides have.
    """

    kind: Kind
    direction: Direction
    subject: str = ""
    old: str = ""
    new: str = ""
    old_place: str = ""
    """file:line of a rule on the old side."""
    new_place: str = ""
    environments: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, int, str, str, str, tuple[str, ...]]:
        """Key of the order of reports: what loosens first, then what may, and what changes nothing of the kind last."""
        kinds, directions = list(Kind), list(Direction)
        place = directions.index(self.direction), kinds.index(self.kind)
        return (*place, self.subject, self.old, self.new, self.environments)


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """One difference without a change of meaning, of a rule."""

    aside: Aside
    subject: str
    old: str
    new: str
    environments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """What differs between two sets: changes of meaning in the order of reports, and what is no change of meaning."""

    changes: tuple[Change, ...]
    notes: tuple[Note, ...] = ()

    def of(self, direction: Direction) -> tuple[Change, ...]:
        """The changes that lead in a direction."""
        return tuple(change for change in self.changes if change.direction is direction)

    @property
    def may_loosen(self) -> bool:
        """True where something loosens, or where that cannot be ruled out."""
        return any(change.direction in {Direction.LOOSENS, Direction.EITHER} for change in self.changes)


def difference(changes: Iterable[Change], notes: Iterable[Note]) -> Difference:
    """The difference that is made of these, in order."""
    return Difference(tuple(sorted(changes, key=lambda change: change.order)), tuple(sorted(notes)))
