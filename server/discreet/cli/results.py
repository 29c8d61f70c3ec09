"""The results of a check or a commit as a table that a person reads. Decides nothing: it shows what was answered."""

from typing import TYPE_CHECKING

from discreet.cli.printing import console, lines, print_table, text, verdict_text
from discreet.cli.shapes import word
from discreet.v1.common_pb2 import Freshness, Gate, Next, PolicyRevision, Reason, Verdict
from discreet.v1.disclosure_pb2 import Evidence, SegmentResult

if TYPE_CHECKING:
    from rich.text import Text

COLUMNS = ("segment", "verdict", "reason", "gate", "evidence", "what to say")


def print_results(policy: PolicyRevision, instance: str, results: list[tuple[SegmentResult, str]]) -> None:
    """Prints one row a segment, the ledger ids of what was committed, and the policy revision that decided."""
    print_table("", COLUMNS, [result_row(result) for result, _ in results])
    for result, ledger_id in results:
        if ledger_id:
            console().print(text(f"ledger id of {result.segment_id}: {ledger_id}"), soft_wrap=True)
    console().print(text(f"policy revision {revision_words(policy)}; answered by {instance}", "dim"))


def result_row(result: SegmentResult) -> "list[Text | str]":
    """The cells of one result."""
    reason = word(Reason.DESCRIPTOR, result.reason) or ""
    why = " ".join(part for part in (reason, result.custom_reason and f"({result.custom_reason})") if part)
    where = word(Gate.DESCRIPTOR, result.gate) or ""
    return [
        result.segment_id,
        verdict_text(word(Verdict.DESCRIPTOR, result.verdict) or "WITHHOLD"),
        "" if reason == "NONE" else why,
        f"{where}, rule {result.rule}" if result.rule else where,
        lines(*(evidence_words(item) for item in result.evidence)),
        said(result),
    ]


def said(result: SegmentResult) -> str:
    """What the reader may be told: the fixed text and the next step, or for how long the segment may be shown."""
    if result.output.WhichOneof("form") == "disclosure":
        step = word(Next.DESCRIPTOR, result.output.next) or "NONE"
        return result.output.disclosure if step == "NONE" else f"{result.output.disclosure} [next: {step}]"
    return f"show it, within {result.use_within_ms} ms" if result.use_within_ms else ""


def evidence_words(evidence: Evidence) -> str:
    """One piece of evidence in words; empty where it is masked."""
    if not evidence.source_id:
        return "-"
    trust = "trusted" if evidence.trusted_hit else "not trusted"
    fresh = word(Freshness.DESCRIPTOR, evidence.freshness)
    return f"{evidence.source_id} ({evidence.source_label or 'no label'}, {trust}{f', {fresh}' if fresh else ''})"


def revision_words(policy: PolicyRevision) -> str:
    """A policy revision in words: its number and commit."""
    commit = policy.commit[:12] or (f"digest {policy.digest[:12]}" if policy.digest else "none")
    return f"{policy.number} ({commit}{', not committed' if policy.dirty else ''})"
