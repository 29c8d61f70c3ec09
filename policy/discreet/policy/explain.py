"""A decision with everything that led to it: each gate, and each rule with the value of every part of its condition.

The decision is the one that `decide` makes, on the same facts; what is added is read off the same gates and the same
conditions and decides nothing. Each rule is shown on a step budget of its own, so a rule may have a value here that a
decision ran out of steps for; the decision says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from discreet.policy import gates, schema
from discreet.policy.cel import Budget, Part
from discreet.policy.decide import one_by_one
from discreet.policy.decision import SegmentDecision, Stop
from discreet.policy.facts import Caller, Facts, Micros, Ref
from discreet.policy.request import Request, Segment
from discreet.policy.rules import STEPS_PER_SEGMENT
from discreet.policy.snapshot import Rule, RuleIndex, Snapshot
from discreet.policy.subject import Root, Subject
from discreet.policy.words import Effect, Gate, Grounding


@dataclass(frozen=True, slots=True)
class GateStep:
    """One gate. `passed` None: it was not asked, since an earlier one stopped the segment."""

    gate: Gate
    passed: bool | None
    stop: Stop | None = None


@dataclass(frozen=True, slots=True)
class RuleStep:
    """One rule on one record, or on a segment that rests on none.

    `unfit`: the key of the rule that keeps it from being asked; empty where it is asked. `parts`: its condition from
    the whole to its leaves, each with its value; empty where it has none. `true` None: not asked, or without a value.
    """

    rule: Rule
    ref: Ref | None
    unfit: str
    parts: tuple[Part, ...]
    true: bool | None

    @property
    def counts(self) -> bool:
        """True where the rule speaks: it is asked, and true or an error, and not observed only."""
        return not self.unfit and self.true is not False and not self.rule.observe


@dataclass(frozen=True, slots=True)
class Explanation:
    """One segment, or ledger entry, with its decision. `rules` is empty where no rule was asked."""

    decision: SegmentDecision
    gates: tuple[GateStep, ...]
    rules: tuple[RuleStep, ...]


def explain(
    snapshot: Snapshot,
    facts: Facts,
    caller: Caller,
    now: Micros,
    request: Request,
    *,
    policy_age_us: int = 0,
    stored: dict[str, Segment] | None = None,
) -> tuple[Explanation, ...]:
    """Returns what `decide` decides of the same arguments, explained, in the order of the request."""
    judged = one_by_one(snapshot, facts, caller, now, request, policy_age_us, stored or {})
    return tuple(_explained(one.subject, one.decision) for one in judged)


def _explained(subject: Subject, decision: SegmentDecision) -> Explanation:
    asked = Gate.RULES in decision.trace
    rules = tuple(_rules(subject)) if asked else ()
    return Explanation(decision, tuple(_gates(subject, decision)), rules)


def _gates(subject: Subject, decision: SegmentDecision) -> Iterator[GateStep]:
    order = gates.order_at(subject.call.request.moment)
    reached = len(decision.trace)
    for number, gate in enumerate([*(gate for gate, _ in order), Gate.RULES]):
        if number >= reached:
            yield GateStep(gate, None)
        elif number == reached - 1 and decision.stop is not None:
            yield GateStep(gate, False, decision.stop)
        else:
            yield GateStep(gate, True)


def rules_of(index: RuleIndex) -> list[Rule]:
    """Returns every rule of an index once, in the order of their ids."""
    groups = (index.by_source, index.any_source, index.by_kind, index.any_kind)
    found = {
        rule.id: rule
        for group in groups
        for rules in group.values()
        for rule in (*rules.plain, *(rule for keyed in rules.keyed for rule in keyed.rules))
    }
    return [found[name] for name in sorted(found)]


def _rules(subject: Subject) -> Iterator[RuleStep]:
    shared = schema.unbound_activation(subject)
    rules = rules_of(subject.call.snapshot.rules)
    if subject.segment.grounding is Grounding.UNBOUND:
        yield from (_asked(rule, subject, None, shared) for rule in rules)
        return
    for root in subject.roots:
        activation = schema.bound_activation(shared, root, subject.call.now)
        yield from (_asked(rule, subject, root, activation) for rule in rules)


def _asked(rule: Rule, subject: Subject, root: Root | None, activation: Mapping[str, object]) -> RuleStep:
    ref = None if root is None else root.ref
    unfit = _unfit(rule, subject, root)
    if unfit or rule.when is None:
        return RuleStep(rule, ref, unfit, (), None if unfit else True)
    parts = tuple(rule.when.explain(activation, Budget(STEPS_PER_SEGMENT)))
    whole = parts[0].outcome
    return RuleStep(rule, ref, "", parts, whole if isinstance(whole, bool) else None)


def _unfit(rule: Rule, subject: Subject, root: Root | None) -> str:
    """Returns the key of a rule that keeps it from being asked, in the order in which a rule is written."""
    known = root.known if root is not None else None
    if subject.call.request.moment not in rule.moments:
        return "moments"
    if rule.grounding is not subject.segment.grounding:
        return "grounding"
    if rule.sources is not None and (known is None or known.source_label not in rule.sources):
        return "sources"
    if rule.kinds is not None and subject.segment.kind not in rule.kinds:
        return "kinds"
    if not rule.holds_at(subject.call.now):
        return "from" if rule.from_us is not None and subject.call.now < rule.from_us else "until"
    if rule.effect is Effect.ALLOW and root is not None and root.binding is None and not subject.segment.parents:
        return "binding"  # what stands behind a binding need not be allowed, it must not be withheld
    return ""
