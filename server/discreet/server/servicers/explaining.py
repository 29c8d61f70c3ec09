"""A decision in lines that a person reads: who asked what, which gates it passed, where it stopped, on which facts."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.policy.snapshot import Rule, Snapshot
from discreet.policy.words import Freshness, Gate, Moment, Reason, Verdict
from discreet.server.ports_authority import Released
from discreet.v1 import audit_pb2 as pb


def lines_of(
    row: pb.AuditRow, decision: pb.AuditDecision, snapshot: Snapshot | None, released: Released | None = None
) -> list[str]:
    """The explanation. `snapshot`: the revision it was decided under, to name the rule's file and line.

    `released`: the ledger entry that a commit made or that was asked about, as it stands now.
    """
    lines = [_asked(row, decision), _answered(decision)]
    lines += [_gate(step) for step in decision.trace]
    if decision.rule:
        lines.append(f"rule {decision.rule}{_place(decision.rule, snapshot)}")
    lines += [_watched(rule, snapshot) for rule in decision.observed_rules]
    lines += [_evidence(index, view) for index, view in enumerate(decision.evidence)]
    lines += [f"made from the segment of ledger entry {parent}" for parent in decision.parents]
    lines += [_fact(fact) for fact in _facts(row, decision)]
    lines += [f"changed since it was read: {_changed(change)}" for change in decision.changed]
    if released is not None:
        lines.append("the segment was released, and " + _SHOWN[released.confirmed])
    lines.append(_policy(row))
    return lines


_SHOWN = {True: "was reported as shown", False: "was not reported as shown"}


def _asked(row: pb.AuditRow, decision: pb.AuditDecision) -> str:
    moment = Moment(row.moment).short if row.moment else "-"
    what = f"segment {decision.segment_id}" + (f" of kind {decision.segment_kind}" if decision.segment_kind else "")
    at = row.at.ToDatetime().isoformat(timespec="milliseconds")
    return f"{at}Z {row.caller.role} {row.caller.name} asked at {moment} for {row.principal_id} in {row.tenant}: {what}"


def _answered(decision: pb.AuditDecision) -> str:
    reason = Reason(decision.reason)
    text = f"{Verdict(decision.verdict).short}"
    if reason is not Reason.NONE:
        text += f" ({reason.short})"
    if decision.reader_reason not in {decision.reason, 0}:
        text += f"; the reader was told {Reason(decision.reader_reason).short}"
    if decision.custom_reason:
        text += f"; {decision.custom_reason}"
    if decision.purge_order_id:
        text += f"; to be deleted under order {decision.purge_order_id}"
    if decision.deciding_record.record_id:
        text += f"; decided by {decision.deciding_record.record_id} version {decision.deciding_record.version}"
    return text + (f"; {decision.detail}" if decision.detail else "")


def _gate(step: pb.GateStep) -> str:
    return f"gate {Gate(step.gate).short}: {'passed' if step.passed else 'stopped here'}"


def _evidence(index: int, view: object) -> str:
    label = getattr(view, "source_label", "") or "no source"
    trusted = "trusted" if getattr(view, "trusted_hit", False) else "not trusted"
    freshness = getattr(view, "freshness", 0)
    state = Freshness(freshness).short if freshness else "-"
    return f"binding {index}: source {label}, {trusted}, {state}"


def _facts(row: pb.AuditRow, decision: pb.AuditDecision) -> Iterable[pb.AuditFact]:
    """The facts of this decision, with the principal's grants and what stands; not those of other segments alone."""
    mine = {binding.record_id for binding in decision.bindings} | {decision.deciding_record.record_id}
    mine |= set(decision.parents)
    origins = {fact.id for fact in row.facts} if len(row.decisions) == 1 else mine
    return (
        fact
        for fact in row.facts
        if fact.kind in {"grants", "standing"} or fact.id in mine | origins or fact.id == decision.ledger_id
    )


def _fact(fact: pb.AuditFact) -> str:
    if fact.kind == "grants":
        return f"grants of {fact.id}: revision {fact.revision}"
    if fact.kind == "standing":
        what = f"revision {fact.revision}" if fact.revision else "nothing, and never anything"
        return f"holds, freezes and revokes of sources that stand: {what}"
    if fact.kind == "ledger":
        return f"ledger entry {fact.id}: " + (f"revision {fact.revision}" if fact.revision else "does not exist")
    if not fact.revision:
        return f"record {fact.id} version {fact.version}: does not exist"
    states = ", ".join(fact.states) or "not current"
    return (
        f"record {fact.id} version {fact.version}: revision {fact.revision}, {states}; "
        f"label {fact.source_label}, registered by collector {fact.collector}, written by {fact.step}"
    )


def _changed(change: pb.ChangedFact) -> str:
    name = f" {change.id}" if change.id else ""
    return f"{change.kind}{name}, from revision {change.from_revision} to {change.to_revision}"


def _policy(row: pb.AuditRow) -> str:
    policy = row.policy
    if not policy.number:
        return "no policy revision was in force"
    commit = f"commit {policy.commit[:12]}" if policy.commit else "no commit"
    return f"policy revision {policy.number}, {commit}{', dirty' if policy.dirty else ''}, digest {policy.digest[:12]}"


def _watched(observed: str, snapshot: Snapshot | None) -> str:
    rule_id = observed.partition(" ")[0]
    return f"observed, without effect: {observed}{_place(rule_id, snapshot)}"


def _place(rule_id: str, snapshot: Snapshot | None) -> str:
    """` at file:line` of the rule in the revision that it was decided under, and the teams that answer for it."""
    rules = _rules(snapshot) if snapshot is not None else ()
    found = next((rule for rule in rules if rule.id == rule_id and rule.place), None)
    if found is None:
        return ""
    return f" at {found.place}" + (f" (owners: {', '.join(found.owners)})" if found.owners else "")


def _rules(snapshot: Snapshot) -> Iterable[Rule]:
    index = snapshot.rules
    for group in (index.by_source, index.any_source, index.by_kind, index.any_kind):
        for rules in group.values():
            yield from rules.plain
            for keyed in rules.keyed:
                yield from keyed.rules
