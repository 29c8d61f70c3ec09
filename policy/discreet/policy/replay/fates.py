"""What becomes of stored segments: judged as at REPLAY, on the facts of now, under one revision and another."""

from __future__ import annotations

from dataclasses import replace

from discreet.policy.codec.recorded import RecordedCall, RecordedDecision
from discreet.policy.decide import decide
from discreet.policy.decision import SegmentDecision
from discreet.policy.facts import FactIds, Facts, Micros
from discreet.policy.replay.causes import Cause
from discreet.policy.replay.play import Replayed, Want, stored_of, word_cause
from discreet.policy.replay.under import Under
from discreet.policy.request import Request
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import Gate, Moment, OrderKind


def committed(call: RecordedCall) -> tuple[RecordedDecision, ...]:
    """The decisions of a commit that made a ledger entry: each entry is in exactly one row."""
    return tuple(one for one in call.decisions if one.outcome is not None and one.outcome.kind is OrderKind.COMMITTED)


def fate_want(call: RecordedCall, decision: RecordedDecision, epoch: str, seq: int) -> Want:
    """The facts of an entry, as of the present."""
    ids = FactIds((), call.request.principal.id, (decision.ledger_id,))
    return Want(call.request.tenant, ids, epoch, seq)


def fate(
    call: RecordedCall, decision: RecordedDecision, under: tuple[Under, Under], facts: Facts, now: Micros
) -> Replayed:
    """The entry under the revision in force and under the candidate, asked for by who committed it, for its reader."""
    request = replace(call.request, moment=Moment.REPLAY, segments=(), ledger_ids=(decision.ledger_id,), commit=False)
    if decision.ledger_id not in facts.ledger:
        return Replayed(Cause.FACTS_MISSING)
    present, candidate = under
    before = _judged(present.snapshot, facts, call, now, request)
    after = _judged(candidate.numbered(present.snapshot.number), facts, call, now, request)
    ruling = [under for under, found in ((present, before), (candidate, after)) if Gate.RULES in found.trace]
    cause = word_cause(call, (present, candidate), ruling, Moment.REPLAY, before.segment)
    return Replayed(cause) if cause is not None else Replayed(None, before, after)


def _judged(snapshot: Snapshot, facts: Facts, call: RecordedCall, now: Micros, request: Request) -> SegmentDecision:
    stored = stored_of(facts, request.ledger_ids)
    (found,) = decide(snapshot, facts, call.caller, now, request, stored=stored).results
    return found
