"""Decides a recorded call again, under the revision that decided it and under another: on its facts, at its time.

Pure. The facts are given, one state for each read that the row names. Nothing is taken on trust: only what comes out
byte by byte as it was recorded is compared with what the other revision makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from discreet.policy.codec import segment_from
from discreet.policy.codec.recorded import Agreement, Read, RecordedCall, agreement
from discreet.policy.decide import decide
from discreet.policy.decision import Decided, SegmentDecision
from discreet.policy.facts import FactIds, Facts, RecordFacts, Ref
from discreet.policy.parents import ROOTS_PER_CALL_MAX
from discreet.policy.replay.ages import Ages, ages_of
from discreet.policy.replay.causes import Cause, early_cause
from discreet.policy.replay.under import Under
from discreet.policy.request import Request, Segment
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import Gate, Moment

BEYOND = frozenset({Cause.MASKED_ATTRIBUTE, Cause.CLAIMED_SCOPES, Cause.POLICY_AGE})
"""Causes that come from the caller's word or the clock: with them the verdict of a segment is not known."""


class Want(NamedTuple):
    """The facts of one read: what they are asked for, and the state that they were read as of."""

    tenant: str
    ids: FactIds
    epoch: str
    seq: int


class Replayed(NamedTuple):
    """One decision made again. With a cause it cannot be compared, and neither side counts."""

    cause: Cause | None
    before: SegmentDecision | None = None
    after: SegmentDecision | None = None


class _Made(NamedTuple):
    results: Mapping[int, SegmentDecision]
    """By place in the call."""
    records_read: tuple[tuple[Ref, RecordFacts | None], ...]


def wants(call: RecordedCall) -> tuple[Want, ...]:
    """The facts that `replay` needs, in their order; none where nothing of the call can be decided again."""
    early = [early_cause(call, one) for one in call.decisions]
    if call.read is None or None not in early:
        return ()
    request = call.request
    found = [_want(request.tenant, ids_of(request), call.read)]
    if call.repeated_under is not None:
        ids = FactIds((), request.principal.id, _repeated_ids(call))
        found.append(_want(request.tenant, ids, call.repeated_under))
    return tuple(found)


def ids_of(request: Request) -> FactIds:
    """What a question needs to know, in the order in which it was asked for."""
    refs = dict.fromkeys(Ref(b.record_id, b.version) for segment in request.segments for b in segment.bindings)
    parents = dict.fromkeys(parent for segment in request.segments for parent in segment.parents)
    return FactIds(tuple(refs), request.principal.id, (*request.ledger_ids, *parents))


def _want(tenant: str, ids: FactIds, read: Read) -> Want:
    return Want(tenant, ids, read.token.epoch, read.token.seq)


def _repeated_ids(call: RecordedCall) -> tuple[str, ...]:
    return tuple(one.ledger_id for one in call.decisions if one.repeated)


def replay(call: RecordedCall, recorded: Under, candidate: Under, facts: Sequence[Facts]) -> tuple[Replayed, ...]:
    """One result a decision, in the order of the row. `facts`: of `wants(call)`, each as of its state."""
    early = [early_cause(call, one) for one in call.decisions]
    if not facts:
        return tuple(Replayed(cause or Cause.UNAVAILABLE) for cause in early)
    ages = ages_of(call, recorded.snapshot.policy_max_age_us, candidate.snapshot.policy_max_age_us)
    before = _made(call, recorded.snapshot, facts, ages, then=True)
    after = _made(call, candidate.numbered(recorded.snapshot.number), facts, ages, then=False)
    agreed = _agreement(call, recorded.snapshot, facts[0], before, early)
    causes = [
        early[i] or _cause(call, i, recorded, candidate, (before, after), ages) or _disagreement(agreed, i)
        for i in range(len(call.decisions))
    ]
    spread = _spread(call, causes, facts[0])
    return tuple(
        Replayed(cause or spread) if cause or spread else Replayed(None, before.results[i], after.results[i])
        for i, cause in enumerate(causes)
    )


def _made(call: RecordedCall, snapshot: Snapshot, facts: Sequence[Facts], ages: Ages, *, then: bool) -> _Made:
    """All decisions of the call that can be made; of a repeated commit as at REPLAY, on the later read."""
    assert call.read is not None
    repeats = [i for i, one in enumerate(call.decisions) if one.repeated]
    places = [i for i in range(len(call.decisions)) if i not in set(repeats)]
    results: dict[int, SegmentDecision] = {}
    read: dict[Ref, RecordFacts | None] = {}
    if repeats and len(facts) > 1 and call.repeated_under is not None:
        request = replace(call.request, moment=Moment.REPLAY, segments=(), ledger_ids=_repeated_ids(call), commit=False)
        again = _decide(call, snapshot, facts[1], call.repeated_under, request, ages.repeated(then=then))
        for i, decision in zip(repeats, again.results, strict=True):
            segment = call.decisions[i].segment
            results[i] = decision._replace(key=segment.id if segment is not None else decision.key)
        read.update(again.records_read)
    request = call.request
    if repeats:
        fresh = (segment for i in places if (segment := call.decisions[i].segment) is not None)
        request = replace(request, segments=tuple(fresh))
    if places:
        asked = _decide(call, snapshot, facts[0], call.read, request, ages.asked(then=then))
        results.update(zip(places, asked.results, strict=True))
        read.update(asked.records_read)
    return _Made(results, tuple(read.items()))


def _decide(call: RecordedCall, snapshot: Snapshot, facts: Facts, read: Read, request: Request, age_us: int) -> Decided:
    stored = stored_of(facts, request.ledger_ids)
    if request.moment is Moment.RETRIEVE and facts.receipt_keys:
        facts = replace(facts, receipt_keys=())  # they would only sign receipts, which no row holds
    return decide(snapshot, facts, call.caller, read.at, request, policy_age_us=age_us, stored=stored)


def stored_of(facts: Facts, ledger_ids: Sequence[str]) -> dict[str, Segment]:
    """The segments of the ledger entries that are there, decoded."""
    return {one: segment_from(facts.ledger[one].segment) for one in ledger_ids if one in facts.ledger}


def _agreement(
    call: RecordedCall, snapshot: Snapshot, facts: Facts, made: _Made, early: Sequence[Cause | None]
) -> Agreement:
    """Compares what was made again with the row; False for each decision that could not be made."""
    places = range(len(call.decisions))
    if len(made.results) < len(places):
        stand_in = next(iter(made.results.values()), None)
        if stand_in is None:
            return Agreement(True, (False,) * len(places))
        results = tuple(made.results.get(i, stand_in) for i in places)
    else:
        results = tuple(made.results[i] for i in places)
    return agreement(call, Decided(results, made.records_read), snapshot, facts, facts_left_out=any(early))


def _cause(
    call: RecordedCall, i: int, recorded: Under, candidate: Under, made: tuple[_Made, _Made], ages: Ages
) -> Cause | None:
    """A cause in the caller's word or the clock, for either of the two revisions."""
    one = call.decisions[i]
    moment = Moment.REPLAY if one.repeated else call.request.moment
    sides = ((recorded, one.trace), (candidate, made[1].results[i].trace))
    ruling = tuple(under for under, trace in sides if Gate.RULES in trace)
    cause = word_cause(call, (recorded, candidate), ruling, moment, made[0].results[i].segment)
    if cause is not None:
        return cause
    unknown = ages.unknown_repeated if one.repeated else ages.unknown
    return Cause.POLICY_AGE if unknown and Gate.POLICY_AGE in made[1].results[i].trace else None


def word_cause(
    call: RecordedCall, both: tuple[Under, Under], ruling: Sequence[Under], moment: Moment, segment: Segment | None
) -> Cause | None:
    """What of the caller's word is not on record and may matter. `ruling`: the revisions whose rules were reached."""
    if any(under.reads_masked(call.masked, moment, segment) for under in ruling):
        return Cause.MASKED_ATTRIBUTE
    if call.claimed_scopes_left_out is False or call.request.principal.claimed_scopes:
        return None
    counted = any(call.caller.name in under.snapshot.claimed_scopes_from for under in both)
    return Cause.CLAIMED_SCOPES if counted or any(u.reads_claims(moment, segment) for u in ruling) else None


def _disagreement(agreed: Agreement, i: int) -> Cause | None:
    if not agreed.facts:
        return Cause.FACTS_MISSING
    return None if agreed.decisions[i] else Cause.NOT_REPRODUCED


def _spread(call: RecordedCall, causes: Sequence[Cause | None], facts: Facts) -> Cause | None:
    """The cause of all where that of one may matter to the others: they share what a call may rest on.

    How much is left for a segment depends on the verdicts before it, so only where all of it together may be too much.
    """
    found = next((cause for cause in causes if cause in BEYOND), None)
    if found is None or len(call.decisions) * max(1, len(facts.records)) <= ROOTS_PER_CALL_MAX:
        return None
    return found
