"""What decide says: one result a segment, with all that the reply and the audit need."""

from dataclasses import dataclass
from typing import NamedTuple

from discreet.policy.facts import Micros, RecordFacts, Ref
from discreet.policy.request import Segment
from discreet.policy.words import ActionTendency, Freshness, Gate, Next, Reason, Verdict


class EvidenceView(NamedTuple):
    """What is known of the evidence behind one binding, unmasked."""

    source_label: str
    allowlisted: bool
    trusted_hit: bool
    freshness: Freshness
    source_id: str


MASKED = EvidenceView("", False, False, Freshness.UNKNOWN, "")


class Changed(NamedTuple):
    """A fact that changed since the binding was read: kind "policy", "grants", "standing" or "record"."""

    kind: str
    id: str
    from_revision: int
    to_revision: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a gate stopped a segment. `detail` is in fixed words and names, never content."""

    reason: Reason
    verdict: Verdict = Verdict.WITHHOLD
    ref: Ref | None = None
    detail: str = ""
    missing_fields: tuple[str, ...] = ()
    gap: str = ""
    rule: str = ""
    custom_reason: str = ""
    template_id: str = ""
    order_id: str = ""
    """PURGE: the order to delete copies under; empty for a revoke from before orders were kept."""
    observed: tuple[str, ...] = ()
    """Where the rules decided: what those in observe mode would have withheld; see `SegmentDecision`."""


class SegmentDecision(NamedTuple):
    """The decision on one segment. `reason` is the cause; `reader_reason` is what the reader is told (F11)."""

    key: str
    """The segment's id, or the ledger id that was asked about."""
    segment: Segment | None
    verdict: Verdict
    reason: Reason
    reader_reason: Reason
    gate: Gate
    trace: tuple[Gate, ...]
    """Every gate evaluated, in order; all but the last passed, the last decided."""
    template_id: str
    text: str
    next: Next
    action_tendency: ActionTendency
    evidence: tuple[EvidenceView, ...]
    stop: Stop | None = None
    rule: str = ""
    custom_reason: str = ""
    receipts: tuple[str, ...] = ()
    use_within_ms: int = 0
    bases: tuple[tuple[Ref, int], ...] = ()
    """Every root with the revision it was judged at; empty unless ALLOW."""
    valid_until: Micros | None = None
    """The earliest end of what the ALLOW rests on; None: nothing ends by itself."""
    changed: tuple[Changed, ...] = ()
    fault: str = "none"
    observed: tuple[str, ...] = ()
    """Ids of rules in observe mode that would have withheld, sorted; one that erred is followed by the reason and what
    was missing. Empty where the rules were not reached.
    """
    by_ledger_id: bool = False
    blind: bool = False
    """The reader is not known to have passed tenant, existence and scope: the reply shows nothing of the evidence
    (F11).
    """

    @property
    def purge_order_id(self) -> str:
        """PURGE: the order to delete the copy under. Whoever reads, the caller holds it. Else empty."""
        return self.stop.order_id if self.stop is not None else ""


@dataclass(frozen=True, slots=True)
class Decided:
    """All decisions of one call, under one policy revision and one state of the index."""

    results: tuple[SegmentDecision, ...]
    records_read: tuple[tuple[Ref, RecordFacts | None], ...]
    """Every record version that was judged, in order, with what was found: the audit names their revisions."""
