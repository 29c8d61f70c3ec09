"""Which rules the tests of a set saw true and false, and which parts of their conditions: told of what tests judge.

A rule is looked at wherever the gates let a segment through to the rules and its moment, source, kind, grounding and
time fit: whether another rule decides in the end makes no difference here, and `decided` counts where it did itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discreet.policy import schema
from discreet.policy.cel import Budget
from discreet.policy.decide import Judged
from discreet.policy.problems import Place
from discreet.policy.rules import STEPS_PER_SEGMENT
from discreet.policy.snapshot import Rule
from discreet.policy.subject import Root, Subject
from discreet.policy.testing.branches import Places, branches, rules_of
from discreet.policy.testing.run import Prepared
from discreet.policy.words import Effect, Gate, Grounding


@dataclass(slots=True)
class Branch:
    """A part of a condition, the whole first, with how often it was true, false and an error."""

    text: str
    place: Place
    true: int = 0
    false: int = 0
    errors: int = 0

    @property
    def outcomes(self) -> int:
        """How many of the two outcomes were seen."""
        return bool(self.true) + bool(self.false)


@dataclass(slots=True)
class RuleCoverage:
    """What tests saw of a rule. Without a condition, its one outcome is that it fitted."""

    id: str
    effect: Effect
    place: Place
    matched: int = 0
    """How often it fitted and was true."""
    unmatched: int = 0
    """How often it fitted and was false or an error."""
    decided: int = 0
    """How often it was the rule that decisions name."""
    branches: list[Branch] = field(default_factory=list)

    @property
    def points(self) -> int:
        """Outcomes that there are to see."""
        return 2 * len(self.branches) or 1

    @property
    def seen(self) -> int:
        """Outcomes that were seen."""
        return sum(branch.outcomes for branch in self.branches) if self.branches else int(bool(self.matched))


class Coverage:
    """Coverage of a set by its tests, over all environments. Give `watch` to a run."""

    def __init__(self, files: Mapping[str, bytes], prepared: list[Prepared]) -> None:
        self.rules: dict[str, RuleCoverage] = {}
        self._rules: dict[int, list[Rule]] = {}
        for one in prepared:
            places = Places(files, one.environment)
            for rule in rules_of(one.snapshot):
                self.rules.setdefault(rule.id, _empty(rule, places))

    @property
    def points(self) -> int:
        """Outcomes that there are to see, of all rules."""
        return sum(rule.points for rule in self.rules.values())

    @property
    def seen(self) -> int:
        """Outcomes that were seen."""
        return sum(rule.seen for rule in self.rules.values())

    @property
    def percent(self) -> float:
        """How much was seen; all of it where there is nothing to see."""
        return 100.0 * self.seen / self.points if self.points else 100.0

    def watch(self, judged: Judged) -> None:
        """Notes what one decision looked at."""
        if judged.decision.rule in self.rules:
            self.rules[judged.decision.rule].decided += 1
        if judged.decision.gate not in {Gate.RULES, Gate.RELEASE}:
            return
        subject = judged.subject
        key = id(subject.call.snapshot.rules)
        if key not in self._rules:
            self._rules[key] = rules_of(subject.call.snapshot)
        for root, activation in _activations(subject):
            for rule in self._rules[key]:
                if _fits(rule, subject, root):
                    self._note(rule, activation)

    def _note(self, rule: Rule, activation: Mapping[str, object]) -> None:
        found = self.rules[rule.id]
        if rule.when is None:
            found.matched += 1
            return
        parts = rule.when.explain(activation, Budget(STEPS_PER_SEGMENT))
        found.matched += parts[0].outcome is True
        found.unmatched += parts[0].outcome is not True
        for branch, part in zip(found.branches, parts, strict=True):
            branch.true += part.outcome is True
            branch.false += part.outcome is False
            branch.errors += not isinstance(part.outcome, bool)

    def missing(self) -> Iterator[tuple[Place, str]]:
        """Yields what no test saw, with its place, in the order of places."""
        found = [gap for rule in self.rules.values() for gap in _gaps(rule)]
        yield from sorted(found)


def _empty(rule: Rule, places: Places) -> RuleCoverage:
    made = RuleCoverage(rule.id, rule.effect, places.rule(rule.id))
    if rule.when is not None:
        text = rule.when.text
        for _, node, _ in branches(rule.when):
            shown = " ".join(text[node.start : node.end].split())
            made.branches.append(Branch(shown, places.part(rule.id, node.start)))
    return made


def _activations(subject: Subject) -> Iterator[tuple[Root | None, Mapping[str, object]]]:
    shared = schema.unbound_activation(subject)
    if subject.segment.grounding is Grounding.UNBOUND:
        yield None, shared
        return
    for root in subject.roots:
        yield root, schema.bound_activation(shared, root, subject.call.now)


def _fits(rule: Rule, subject: Subject, root: Root | None) -> bool:
    """True where the rule has a say in this: an allowing one has none on what stands behind a binding."""
    call, known = subject.call, root.known if root is not None else None
    return (
        call.request.moment in rule.moments
        and rule.grounding is subject.segment.grounding
        and (rule.kinds is None or subject.segment.kind in rule.kinds)
        and (rule.sources is None or (known is not None and known.source_label in rule.sources))
        and rule.holds_at(call.now)
        and (rule.effect is Effect.WITHHOLD or root is None or root.binding is not None)
    )


def _gaps(rule: RuleCoverage) -> Iterator[tuple[Place, str]]:
    if not rule.matched:
        yield rule.place, f"the rule {rule.id} never matched"
    if rule.branches and not rule.branches[0].false and rule.matched:
        yield rule.branches[0].place, f"the condition of {rule.id} was never false"
    for branch in rule.branches[1:]:
        unseen = [word for word, count in (("true", branch.true), ("false", branch.false)) if not count]
        if unseen:
            yield branch.place, f"of {rule.id}: {branch.text} was never {' nor '.join(unseen)}"
