"""Explained decisions as a person or a tool reads them. Decides nothing, and knows neither files nor servers."""

from collections.abc import Iterator, Sequence
from itertools import groupby

import click

from discreet.cli.escaping import safe
from discreet.cli.reading import Tree
from discreet.policy.cel import ConditionFailure, EvaluationError, Part
from discreet.policy.decision import SegmentDecision
from discreet.policy.explain import Explanation, GateStep, RuleStep
from discreet.policy.facts import Ref
from discreet.policy.words import Effect

MARKS = {True: "true", False: "false", None: "ERROR"}
STATES = {True: "passed", False: "stopped here", None: "not asked"}


def explanation_tree(one: Explanation) -> dict[str, Tree]:
    """One explanation as plain values; every field is always there."""
    decision = one.decision
    return {
        "segment": decision.key,
        "verdict": decision.verdict.short,
        "reason": decision.reason.short,
        "reader_reason": decision.reader_reason.short,
        "rule": decision.rule,
        "text": decision.text,
        "gates": [_gate_tree(step) for step in one.gates],
        "rules": [_rule_tree(step) for step in one.rules],
    }


def _gate_tree(step: GateStep) -> dict[str, Tree]:
    stop = step.stop
    record: Tree = None if stop is None else _ref_tree(stop.ref)
    return {
        "gate": step.gate.short,
        "passed": step.passed,
        "detail": "" if stop is None else stop.detail,
        "record": record,
    }


def _rule_tree(step: RuleStep) -> dict[str, Tree]:
    rule = step.rule
    return {
        "rule": rule.id,
        "effect": rule.effect.short,
        "mode": "observe" if rule.observe else "enforce",
        "place": rule.place,
        "owners": list(rule.owners),
        "record": _ref_tree(step.ref),
        "unfit": step.unfit,
        "true": step.true,
        "parts": [
            {"text": _line(part.text), "depth": part.depth, "value": _value(part), "error": _error(part)}
            for part in step.parts
        ],
    }


def _ref_tree(ref: Ref | None) -> Tree:
    return None if ref is None else {"record_id": ref.record_id, "version": ref.version}


def _value(part: Part) -> bool | None:
    return part.outcome if isinstance(part.outcome, bool) else None


def _error(part: Part) -> str:
    failure = part.outcome
    if isinstance(failure, EvaluationError):
        return f"{failure.code.value}: {failure.attribute}" if failure.attribute else failure.code.value
    return type(failure).__name__ if isinstance(failure, ConditionFailure) else ""


def _line(text: str) -> str:
    """A part of a condition on one line."""
    return " ".join(text.split())


def print_explanations(found: Sequence[Explanation]) -> None:
    """Prints each segment as a tree: its verdict, the gates in their order, the rules with the parts of conditions."""
    for one in found:
        for line in (_verdict(one.decision), *_gates(one.gates), *_rules(one.rules)):
            click.echo(safe(line))


def _verdict(decision: SegmentDecision) -> str:
    reason = "" if decision.reason.short == "NONE" else f" {decision.reason.short}"
    told = f" (told: {decision.reader_reason.short})" if decision.reader_reason is not decision.reason else ""
    rule = f" by rule {decision.rule}" if decision.rule else ""
    return f"{decision.key}: {decision.verdict.short}{reason}{told}{rule}"


def _gates(steps: Sequence[GateStep]) -> Iterator[str]:
    for step in steps:
        stop = step.stop
        why = "" if stop is None else "".join(f", {part}" for part in (stop.reason.short, stop.detail) if part)
        where = "" if stop is None or stop.ref is None else f", {_record(stop.ref)}"
        yield f"  gate {step.gate.short:<13} {STATES[step.passed]}{why}{where}"


def _rules(steps: Sequence[RuleStep]) -> Iterator[str]:
    for ref, group in groupby(steps, key=lambda step: step.ref):
        asked = list(group)
        yield "  rules" + (f" for {_record(ref)}" if ref is not None else "")
        for step in asked:
            if not step.unfit:
                yield from _rule(step)
        unfit = [f"{step.rule.id} ({step.unfit})" for step in asked if step.unfit]
        if unfit:
            yield f"    not asked, for their keys: {', '.join(unfit)}"


def _rule(step: RuleStep) -> Iterator[str]:
    rule = step.rule
    effect = f"{rule.effect.short}{', observed only' if rule.observe else ''}"
    owners = f", owners: {', '.join(rule.owners)}" if rule.owners else ""
    yield f"    {MARKS[step.true]:<5} {effect} {rule.id} at {rule.place}{owners}"
    if step.true is None and rule.effect is Effect.WITHHOLD:
        yield "          an error in a withholding rule withholds"
    for part in step.parts:
        error = f"   ({_error(part)})" if _error(part) else ""
        yield f"      {'  ' * part.depth}{MARKS[_value(part)]:<5} {_line(part.text)}{error}"


def _record(ref: Ref) -> str:
    return f"{ref.record_id} version {ref.version}"
