"""The policy's rules, the last gate: default withhold, any withholding rule wins, an error never opens a door.

A bound segment is allowed where every binding is allowed by a rule and no rule withholds anything that it rests on:
withholding rules look at all roots, allowing ones at the bindings. One that was made from others needs all that it
rests on to be allowed: what its parents bound is not told from what stood behind that. An unbound one is judged once,
by the rules for its kind. A rule outside its time is not there. Rules in observe mode are evaluated after the outcome
is settled, on a budget of their own, and can change nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from discreet.policy import schema
from discreet.policy.cel import Budget, ConditionFailure, CostExceeded, EvaluationError
from discreet.policy.decision import Stop
from discreet.policy.facts import Micros, Ref
from discreet.policy.rule_index import fitting
from discreet.policy.snapshot import Rule, RuleSet
from discreet.policy.subject import Root, Subject
from discreet.policy.words import Effect, Grounding, Reason

STEPS_PER_SEGMENT = 100_000
"""Evaluation steps that all rules of one segment share; what they cannot finish in is withheld (COST_EXCEEDED)."""


class Allowed(NamedTuple):
    """What allowed a segment: the first binding's allowing rule by id, and whether it lets the answer advise."""

    rule: str
    advice: bool
    until: Micros | None = None
    """When the rules may say otherwise by time alone: an allowing one ends or a withholding one begins; None: never."""
    observed: tuple[str, ...] = ()
    """As in `SegmentDecision`."""


class Finding(NamedTuple):
    """A rule that fits, for one root: true, or the failure that it has instead of a value."""

    rule: Rule
    failure: ConditionFailure | None


def judge(subject: Subject) -> Stop | Allowed:
    """What allows the segment; or POLICY_RULE where a rule withholds or none allows, POLICY_ERROR where one errs."""
    budget = Budget(STEPS_PER_SEGMENT)
    units = tuple(_units(subject))
    outcome = _withheld(units, budget) or _allowed(units, budget)
    observed = _observed(units) if any(unit.observed for unit in units) else ()
    if isinstance(outcome, Stop):
        return replace(outcome, observed=observed) if observed else outcome
    begin = min((unit.begins for unit in units if unit.begins is not None), default=None)
    return outcome._replace(until=earliest(outcome.until, begin), observed=observed)


def earliest(first: Micros | None, second: Micros | None) -> Micros | None:
    """The earlier of two times, where None is no time at all."""
    return second if first is None else first if second is None else min(first, second)


class Unit(NamedTuple):
    """What rules are evaluated on once: a root, or an unbound segment. The rules are in the order of their ids."""

    root: Root | None
    withholding: list[Rule]
    allowing: list[Rule]
    activation: Mapping[str, object]
    observed: list[Rule]
    needs_allowing: bool
    """False for what stands behind a binding: rules can withhold it, and need not allow it."""
    begins: Micros | None = None
    """When the first withholding rule that fits begins that is not there yet; whether it is true then is not known."""

    @property
    def ref(self) -> Ref | None:
        """The record version, where there is one."""
        return self.root.ref if self.root is not None else None


def _units(subject: Subject) -> Iterator[Unit]:
    index, moment, kind = subject.call.snapshot.rules, subject.call.request.moment, subject.segment.kind
    made_from = bool(subject.segment.parents)
    shared, now = schema.unbound_activation(subject), subject.call.now
    if subject.segment.grounding is Grounding.UNBOUND:
        yield _unit(
            None, kind, (index.by_kind.get((moment, kind)), index.any_kind.get(moment)), shared, now, allowing=True
        )
        return
    any_source = index.any_source.get(moment)
    for root in subject.roots:
        known = root.known
        named = index.by_source.get((moment, known.source_label)) if known is not None else None
        allowing = made_from or root.binding is not None
        yield _unit(root, kind, (named, any_source), schema.bound_activation(shared, root, now), now, allowing=allowing)


def _unit(
    root: Root | None,
    kind: str,
    sets: tuple[RuleSet | None, ...],
    activation: Mapping[str, object],
    now: Micros,
    *,
    allowing: bool,
) -> Unit:
    found = [
        rule
        for rules in sets
        if rules is not None
        for rule in fitting(rules, activation)
        if rule.kinds is None or kind in rule.kinds
    ]
    found.sort(key=_id)
    unit = Unit(root, [], [], activation, [], allowing)
    for rule in found:
        if rule.holds_at(now):
            (unit.allowing if rule.effect is Effect.ALLOW else _denying(unit, rule)).append(rule)
        elif rule.effect is Effect.WITHHOLD and not rule.observe and rule.from_us is not None and rule.from_us > now:
            unit = unit._replace(begins=earliest(unit.begins, rule.from_us))
    return unit


def _denying(unit: Unit, rule: Rule) -> list[Rule]:
    return unit.observed if rule.observe else unit.withholding


def _id(rule: Rule) -> str:
    return rule.id


def _withheld(units: Sequence[Unit], budget: Budget) -> Stop | None:
    """The withholding rule with the smallest id that is true for any unit; else the first that errs; else None."""
    true: list[tuple[str, Unit, Rule]] = []
    failed: list[tuple[str, Unit, Finding]] = []
    for unit in units:
        for finding in _findings(unit.withholding, unit.activation, budget):
            if finding.failure is None:
                true.append((finding.rule.id, unit, finding.rule))
                break  # the smallest id of this unit
            failed.append((finding.rule.id, unit, finding))
    if true:
        _, unit, rule = min(true, key=lambda found: found[0])
        return _stop(Reason.POLICY_RULE, unit.ref, rule, "withheld by rule")
    if failed:
        _, unit, finding = min(failed, key=lambda found: found[0])
        return _failed(unit.ref, finding)
    return None


def _allowed(units: Sequence[Unit], budget: Budget) -> Stop | Allowed:
    """Every unit that needs allowing has an allowing rule; advice only where each has one that gives it."""
    names: list[str] = []
    advice = True
    until: Micros | None = None
    for unit in units:
        if not unit.needs_allowing:
            continue
        findings = list(_findings(unit.allowing, unit.activation, budget))
        rules = [finding.rule for finding in findings if finding.failure is None]
        if not rules and findings:
            return _failed(unit.ref, min(findings, key=lambda finding: finding.rule.id))
        if not rules:
            return Stop(Reason.POLICY_RULE, ref=unit.ref, detail="no rule allows", gap="rule")
        names.append(min(rule.id for rule in rules))
        advising = [rule for rule in rules if rule.advice]
        advice = advice and bool(advising)
        until = earliest(until, earliest(_end(rules), _end(advising or rules)))
    if not names:
        return Stop(Reason.NO_BINDING, gap="source")
    return Allowed(names[0], advice, until)


def _end(rules: Sequence[Rule]) -> Micros | None:
    """When the last of several rules ends; None: one of them does not."""
    ends = [rule.until_us for rule in rules]
    return None if None in ends else max(end for end in ends if end is not None)


def _observed(units: Sequence[Unit]) -> tuple[str, ...]:
    """What the rules in observe mode would have withheld, sorted; one that is true for any unit does not err."""
    budget = Budget(STEPS_PER_SEGMENT)
    found: dict[str, str] = {}
    for unit in units:
        for finding in _findings(unit.observed, unit.activation, budget):
            said = "" if finding.failure is None else _said(finding.failure)
            found[finding.rule.id] = min(said, found.get(finding.rule.id, said))
    return tuple(f"{rule_id} {said}".rstrip() for rule_id, said in sorted(found.items()))


def _said(failure: ConditionFailure) -> str:
    reason, detail = _cause(failure)
    return f"{reason.short} {detail}"


def _findings(rules: list[Rule], activation: Mapping[str, object], budget: Budget) -> Iterator[Finding]:
    """The rules that are true for the activation or that err on it, in the order of their ids."""
    for rule in rules:
        if rule.when is None:
            yield Finding(rule, None)
            continue
        try:
            if rule.when.evaluate(activation, budget):
                yield Finding(rule, None)
        except ConditionFailure as failure:
            yield Finding(rule, failure)


def _stop(reason: Reason, ref: Ref | None, rule: Rule, detail: str) -> Stop:
    """The stop of a rule; its own reason and text stand beside POLICY_RULE alone: where it errs they may be untrue."""
    own, template = (rule.custom_reason, rule.text) if reason is Reason.POLICY_RULE else ("", "")
    return Stop(reason, ref=ref, detail=detail, gap="rule", rule=rule.id, custom_reason=own, template_id=template)


def _failed(ref: Ref | None, finding: Finding) -> Stop:
    """COST_EXCEEDED or POLICY_ERROR, naming the attribute that was missing."""
    assert finding.failure is not None
    reason, detail = _cause(finding.failure)
    return _stop(reason, ref, finding.rule, detail)


def _cause(failure: ConditionFailure) -> tuple[Reason, str]:
    if isinstance(failure, CostExceeded):
        return Reason.COST_EXCEEDED, "step budget spent"
    if isinstance(failure, EvaluationError):
        named = f"{failure.code.value}: {failure.attribute}" if failure.attribute else failure.code.value
        return Reason.POLICY_ERROR, named
    return Reason.POLICY_ERROR, "condition failed"
