"""Counts of replayed decisions: bounded in memory, the same in whatever parts they were counted, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.policy.replay.causes import Cause
from discreet.policy.replay.changes import Change, Key

EXAMPLES_MAX = 5
NAMES_MAX = 1_000
"""Principals, and records, of a group that are counted by name; further ones are only counted."""
GROUPS_MAX = 10_000
"""Groups told apart; what falls into further ones is counted by its change alone."""


@dataclass(slots=True)
class Names:
    """How often each name came up."""

    counts: dict[str, int] = field(default_factory=dict)
    others: int = 0
    """How often a name came up that was one too many."""

    def add(self, name: str, count: int = 1) -> None:
        """Counts a name."""
        if name in self.counts or len(self.counts) < NAMES_MAX:
            self.counts[name] = self.counts.get(name, 0) + count
        else:
            self.others += count

    def merge(self, later: Names) -> None:
        """Adds what came later."""
        for name, count in later.counts.items():
            self.add(name, count)
        self.others += later.others

    def most(self, limit: int) -> list[tuple[str, int]]:
        """The names that came up most, each with its count."""
        return sorted(self.counts.items(), key=lambda pair: (-pair[1], pair[0]))[:limit]


@dataclass(slots=True)
class Group:
    """Decisions that changed in the same way."""

    count: int = 0
    principals: Names = field(default_factory=Names)
    records: Names = field(default_factory=Names)
    examples: list[str] = field(default_factory=list)
    """Ids of the first of them."""

    def add(self, principal: str, record: str, example: str) -> None:
        """Counts one."""
        self.count += 1
        self.principals.add(principal)
        if record:
            self.records.add(record)
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(example)

    def merge(self, later: Group) -> None:
        """Adds what came later."""
        self.count += later.count
        self.principals.merge(later.principals)
        self.records.merge(later.records)
        self.examples = (self.examples + later.examples)[:EXAMPLES_MAX]


@dataclass(slots=True)
class Tally:
    """What became of decisions, or of stored segments. Every one is in exactly one of the counts."""

    unchanged: int = 0
    groups: dict[Key, Group] = field(default_factory=dict)
    overflow: dict[Change, int] = field(default_factory=dict)
    """By change, what fell into more groups than are told apart."""
    causes: dict[Cause, Group] = field(default_factory=dict)
    """What cannot be replayed."""

    def same(self) -> None:
        """Counts one that does not change."""
        self.unchanged += 1

    def changed(self, key: Key, principal: str, record: str, example: str) -> None:
        """Counts one that changes."""
        group = self._group(key)
        if group is None:
            self.overflow[key.change] = self.overflow.get(key.change, 0) + 1
        else:
            group.add(principal, record, example)

    def not_replayable(self, cause: Cause, principal: str, example: str) -> None:
        """Counts one that cannot be decided again."""
        self.causes.setdefault(cause, Group()).add(principal, "", example)

    def merge(self, later: Tally) -> None:
        """Adds what came later."""
        self.unchanged += later.unchanged
        for key, theirs in later.groups.items():
            group = self._group(key)
            if group is None:
                self.overflow[key.change] = self.overflow.get(key.change, 0) + theirs.count
            else:
                group.merge(theirs)
        for change, count in later.overflow.items():
            self.overflow[change] = self.overflow.get(change, 0) + count
        for cause, given in later.causes.items():
            self.causes.setdefault(cause, Group()).merge(given)

    def _group(self, key: Key) -> Group | None:
        if key not in self.groups and len(self.groups) >= GROUPS_MAX:
            return None
        return self.groups.setdefault(key, Group())

    def count(self, change: Change) -> int:
        """How many changed so."""
        return sum(g.count for key, g in self.groups.items() if key.change is change) + self.overflow.get(change, 0)

    @property
    def without_replay(self) -> int:
        """How many cannot be decided again."""
        return sum(group.count for group in self.causes.values())

    @property
    def total(self) -> int:
        """All that were looked at."""
        return self.unchanged + self.without_replay + sum(map(self.count, Change))

    def ordered(self, change: Change) -> list[tuple[Key, Group]]:
        """The groups of a change, the largest first."""
        mine = [(key, group) for key, group in self.groups.items() if key.change is change]
        return sorted(mine, key=lambda pair: (-pair[1].count, pair[0]))

    def ordered_causes(self) -> list[tuple[Cause, Group]]:
        """The causes that came up, in their order."""
        return [(cause, self.causes[cause]) for cause in Cause if cause in self.causes]
