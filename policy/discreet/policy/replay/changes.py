"""What another revision makes of a decision: the closed set of outcomes, and what the outcome is told by."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from discreet.policy.decision import SegmentDecision
from discreet.policy.words import Moment, Verdict


class Change(StrEnum):
    """An outcome, in the order in which a report tells of them."""

    NEWLY_ALLOWED = "newly-allowed"
    NEWLY_WITHHELD = "newly-withheld"
    PURGE = "purge"
    OTHERWISE = "otherwise"
    """The same verdict: for another reason, by another rule, or with another text."""


class Told(NamedTuple):
    """What one side says of a decision, as a report shows it."""

    verdict: str
    reason: str
    rule: str


class Key(NamedTuple):
    """Decisions that a report tells of together."""

    change: Change
    moment: str
    label: str
    """Of the records that it is bound to; several are joined by ", ". Empty: of none that is known."""
    before: Told
    after: Told


def change_of(before: SegmentDecision, after: SegmentDecision) -> Change | None:
    """How the second differs from the first in what is on record of a decision; None: not at all."""
    if _on_record(before) == _on_record(after):
        return None
    if before.verdict is after.verdict:
        return Change.OTHERWISE
    if after.verdict is Verdict.ALLOW:
        return Change.NEWLY_ALLOWED
    return Change.PURGE if Verdict.PURGE in (before.verdict, after.verdict) else Change.NEWLY_WITHHELD


def _on_record(decision: SegmentDecision) -> SegmentDecision:
    """The decision without what no audit row holds: the wording of the text, and what only serves the answer."""
    return decision._replace(text="", receipts=(), use_within_ms=0, bases=(), valid_until=None)


def key_of(change: Change, moment: Moment, before: SegmentDecision, after: SegmentDecision) -> Key:
    """What the decision is told together with."""
    labels = dict.fromkeys(view.source_label for view in before.evidence if view.source_label)
    return Key(change, moment.short, ", ".join(sorted(labels)), told(before), told(after))


def told(decision: SegmentDecision) -> Told:
    """Verdict, cause and rule."""
    return Told(decision.verdict.short, decision.reason.short, decision.rule)


def record_of(before: SegmentDecision, after: SegmentDecision) -> str:
    """The record that decided on the side that withholds; else the first that the segment is bound to; may be empty."""
    for side in (before, after):
        if side.verdict is not Verdict.ALLOW and side.stop is not None and side.stop.ref is not None:
            return side.stop.ref.record_id
    segment = before.segment
    return segment.bindings[0].record_id if segment is not None and segment.bindings else ""
