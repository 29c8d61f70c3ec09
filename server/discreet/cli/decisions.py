"""Recorded decisions as a person reads them: one row each, or one whole with its gates and facts."""

from typing import TYPE_CHECKING

from discreet.cli.printing import console, lines, print_table, text, verdict_text
from discreet.cli.results import revision_words
from discreet.cli.shapes import flat, word
from discreet.cli.times import format_micros
from discreet.v1.audit_pb2 import DecisionRecord, ExplainResponse
from discreet.v1.common_pb2 import Gate, Moment, Reason, Verdict

if TYPE_CHECKING:
    from rich.text import Text


COLUMNS = ("at, decision id", "verdict", "what was decided")


def decision_row(item: DecisionRecord) -> "list[Text | str]":
    """The cells of one decision."""
    decision = item.decision
    moment = word(Moment.DESCRIPTOR, item.moment) or ""
    records = flat(f"{binding.record_id} {binding.version}" for binding in decision.bindings)
    return [
        lines(format_micros(item.at.ToMicroseconds()), decision.decision_id),
        verdict_text(word(Verdict.DESCRIPTOR, decision.verdict) or ""),
        lines(
            f"{item.principal_id} at {moment}, segment {decision.segment_id}: {why(item)}", f"on {records or 'nothing'}"
        ),
    ]


def decision_line(item: DecisionRecord) -> str:
    """One decision on one line."""
    decision = item.decision
    moment, verdict = word(Moment.DESCRIPTOR, item.moment) or "", word(Verdict.DESCRIPTOR, decision.verdict) or ""
    when = format_micros(item.at.ToMicroseconds())
    said = f"{item.principal_id} at {moment}, segment {decision.segment_id}: {why(item)}"
    return f"{when} {verdict} {said} (decision {decision.decision_id})"


SHEET = ("at", "decision_id", "verdict", "reason", "told", "rule", "moment", "principal_id", "session_id", "segment_id",
         "records", "policy_revision", "ledger_id", "caller", "tenant", "request_id")  # fmt: skip


def decision_cells(item: DecisionRecord) -> list[str]:
    """The cells of one decision under `SHEET`."""
    decision = item.decision
    return [
        format_micros(item.at.ToMicroseconds()),
        decision.decision_id,
        word(Verdict.DESCRIPTOR, decision.verdict) or "",
        word(Reason.DESCRIPTOR, decision.reason) or "",
        word(Reason.DESCRIPTOR, decision.reader_reason) or "",
        decision.rule,
        word(Moment.DESCRIPTOR, item.moment) or "",
        item.principal_id,
        item.session_id,
        decision.segment_id,
        "; ".join(f"{binding.record_id} {binding.version}" for binding in decision.bindings),
        str(item.policy.number or ""),
        decision.ledger_id,
        item.caller.name,
        item.tenant,
        item.request_id,
    ]


def why(item: DecisionRecord) -> str:
    """The cause, and the rule where one decided."""
    rule = f"rule {item.decision.rule}" if item.decision.rule else ""
    cause = reason_words(item)
    return rule if cause == "NONE" else " ".join(filter(None, (cause, rule)))


def reason_words(item: DecisionRecord) -> str:
    """The cause, and what the reader was told where that was something else."""
    cause = word(Reason.DESCRIPTOR, item.decision.reason) or ""
    told = word(Reason.DESCRIPTOR, item.decision.reader_reason) or cause
    return cause if told == cause else f"{cause} (told: {told})"


def print_explanation(response: ExplainResponse) -> None:
    """Prints a decision whole: the server's lines, the gates, the facts with their revisions."""
    item, out = response.decision, console()
    verdict = word(Verdict.DESCRIPTOR, item.decision.verdict) or ""
    out.print(verdict_text(verdict), text(reason_words(item)), text(f"decision {item.decision.decision_id}", "dim"))
    for line in response.lines:
        out.print(text(f"  {line}"), soft_wrap=True)
    gates = [f"{word(Gate.DESCRIPTOR, step.gate)} {'passed' if step.passed else 'stopped here'}"
             for step in item.decision.trace]  # fmt: skip
    out.print(text("gates: ", "bold"), text("; ".join(gates) or "none"), soft_wrap=True)
    out.print(text("policy: ", "bold"), text(revision_words(item.policy)), soft_wrap=True)
    rows = [(fact.kind, f"{fact.id} {fact.version}".strip(), str(fact.revision or "absent"), fact.source_label,
             fact.collector, fact.step, flat(fact.states)) for fact in response.facts]  # fmt: skip
    print_table("Facts as they were read", ("kind", "id", "revision", "source", "collector", "step", "states"), rows)
