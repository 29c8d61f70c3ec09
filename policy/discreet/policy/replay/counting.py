"""Counts a recorded call: its decisions, and the stored segments that it made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from discreet.policy.codec.recorded import RecordedCall, RecordedDecision
from discreet.policy.replay.causes import Cause
from discreet.policy.replay.changes import change_of, key_of, record_of
from discreet.policy.replay.play import Replayed
from discreet.policy.replay.tally import Tally
from discreet.policy.words import Moment


@dataclass(slots=True)
class Outcome:
    """What a replay came to."""

    decisions: Tally = field(default_factory=Tally)
    segments: Tally = field(default_factory=Tally)
    """Ledger entries that were committed in the period, as at REPLAY now; examples are ledger ids."""

    def merge(self, later: Outcome) -> None:
        """Adds what came later."""
        self.decisions.merge(later.decisions)
        self.segments.merge(later.segments)


def count_call(outcome: Outcome, call: RecordedCall, results: Sequence[Replayed]) -> None:
    """Counts the decisions of a call."""
    for recorded, one in zip(call.decisions, results, strict=True):
        moment = Moment.REPLAY if recorded.repeated else call.request.moment
        _count(outcome.decisions, call, moment, recorded.decision_id, one)


def count_unreadable(outcome: Outcome, cause: Cause, decision_ids: Sequence[str]) -> None:
    """Counts the decisions of a row of which nothing else is known."""
    for decision_id in decision_ids:
        outcome.decisions.not_replayable(cause, "", decision_id)


def count_fate(outcome: Outcome, call: RecordedCall, made: RecordedDecision, one: Replayed) -> None:
    """Counts a stored segment."""
    _count(outcome.segments, call, Moment.REPLAY, made.ledger_id, one)


def _count(tally: Tally, call: RecordedCall, moment: Moment, example: str, one: Replayed) -> None:
    principal = call.request.principal.id
    if one.cause is not None or one.before is None or one.after is None:
        tally.not_replayable(one.cause or Cause.UNAVAILABLE, principal, example)
        return
    change = change_of(one.before, one.after)
    if change is None:
        tally.same()
    else:
        key = key_of(change, moment, one.before, one.after)
        tally.changed(key, principal, record_of(one.before, one.after), example)
