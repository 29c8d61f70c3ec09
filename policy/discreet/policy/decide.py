"""The decision: a pure function of a policy revision, facts, caller, time and question.

It calls no store, no clock and no model. The same inputs give the same results, so that a recorded decision can be
replayed.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from discreet.policy import gates, receipts
from discreet.policy.decision import MASKED, Changed, Decided, EvidenceView, SegmentDecision, Stop
from discreet.policy.facts import Caller, Facts, LedgerFacts, Micros, RecordFacts, Ref
from discreet.policy.freshness import fresh_until
from discreet.policy.outcome import NEXT, fault_of, text_of
from discreet.policy.parents import ROOTS_PER_CALL_MAX, parents_of, weight_of
from discreet.policy.request import Request, Segment
from discreet.policy.rules import Allowed, earliest, judge
from discreet.policy.snapshot import Snapshot
from discreet.policy.subject import Call, Root, Subject, reader_of, subject_of
from discreet.policy.words import (
    ActionTendency,
    Freshness,
    Gate,
    Grounding,
    Moment,
    Next,
    Reason,
    Verdict,
)


class Judged(NamedTuple):
    """One segment with its result."""

    subject: Subject
    decision: SegmentDecision


def decide(
    snapshot: Snapshot,
    facts: Facts,
    caller: Caller,
    now: Micros,
    request: Request,
    *,
    policy_age_us: int = 0,
    stored: dict[str, Segment] | None = None,
) -> Decided:
    """One result for every segment, or at REPLAY and EXPORT for every ledger id, in the order of the request.

    `now` is the database's clock as read with the facts; `policy_age_us` how long ago the policy's source was last
    read; `stored` holds the segments of the ledger entries in `facts.ledger`, decoded, by ledger id.
    """
    return gathered(list(one_by_one(snapshot, facts, caller, now, request, policy_age_us, stored or {})))


def one_by_one(
    snapshot: Snapshot,
    facts: Facts,
    caller: Caller,
    now: Micros,
    request: Request,
    policy_age_us: int,
    stored: dict[str, Segment],
) -> Iterator[Judged]:
    """The same, a segment at a time, for a server that has more to do: each is judged as it is asked for."""
    call = Call(snapshot, facts, caller, request, now, policy_age_us, reader_of(snapshot, facts, caller, request, now))
    if request.moment.by_ledger_id:
        for ledger_id in request.ledger_ids:
            subject = _replayed(call, ledger_id, stored.get(ledger_id))
            yield Judged(subject, decide_one(ledger_id, subject))
        return
    left = ROOTS_PER_CALL_MAX
    for segment in request.segments:
        subject, weight = _asked(call, segment, left)
        decision = decide_one(segment.id, subject)
        if not subject.beyond:
            left -= len(subject.roots) if decision.verdict is Verdict.ALLOW else weight
        yield Judged(subject, decision)


def gathered(judged: Sequence[Judged]) -> Decided:
    """The results of all segments with what was read for them."""
    return Decided(tuple(one.decision for one in judged), _records_read([one.subject for one in judged]))


def _asked(call: Call, segment: Segment, left: int) -> tuple[Subject, int]:
    """The segment as a subject, and how much it counts; where that is more than is left, its bindings alone."""
    needs, made_from = (call.request.need_numbers, call.request.need_advice), parents_of(call, segment.parents)
    weight = weight_of(call, segment, made_from)
    beyond = weight > left
    stored = () if beyond else made_from.roots
    return subject_of(call, segment, needs=needs, stored=stored, unusable=made_from.unusable, beyond=beyond), weight


_NO_SEGMENT = Segment("", "", Grounding.BOUND)


def _replayed(call: Call, ledger_id: str, segment: Segment | None) -> Subject:
    """The stored segment as a subject; for an unknown id an empty one, which takes the same path."""
    entry = call.facts.ledger.get(ledger_id)
    if entry is None or segment is None:
        return subject_of(call, _NO_SEGMENT, needs=(False, False), known_entry=False)
    needs, mismatch = (entry.need_numbers, entry.need_advice), _mismatch(call.request, entry)
    return subject_of(call, segment, needs=needs, stored=entry.roots, mismatch=mismatch, beyond=entry.beyond)


def _mismatch(request: Request, entry: LedgerFacts) -> str:
    if entry.principal_id != request.principal.id:
        return "principal"
    return "session" if entry.session_id != request.session_id else ""


def decide_one(key: str, subject: Subject) -> SegmentDecision:
    """Runs the gates in their order; the first that stops the segment decides it."""
    trace: list[Gate] = []
    for gate, check in gates.order_at(subject.call.request.moment):
        trace.append(gate)
        stop = check(subject)
        if stop is not None:
            return _stopped(key, subject, tuple(trace), stop)
    trace.append(Gate.RULES)
    outcome = judge(subject)
    if isinstance(outcome, Stop):
        return _stopped(key, subject, tuple(trace), outcome)
    return _allowed(key, subject, (*trace, Gate.RELEASE), outcome)


def _stopped(key: str, subject: Subject, trace: tuple[Gate, ...], stop: Stop) -> SegmentDecision:
    hidden = stop.reason.looks_unavailable
    reader_reason = Reason.NOT_AVAILABLE if hidden else stop.reason
    # A foreign reader of a revoked segment is told to purge the copy, in the words of "not available" (F11, B11).
    blind = hidden or (stop.verdict is Verdict.PURGE and gates.availability(subject) is not None)
    template = "NOT_AVAILABLE" if blind else stop.template_id or reader_reason.short
    reached = Gate.FRESHNESS in trace
    return SegmentDecision(
        key=key,
        segment=subject.segment if subject.known_entry else None,
        verdict=stop.verdict,
        reason=stop.reason,
        reader_reason=reader_reason,
        gate=trace[-1],
        trace=trace,
        template_id=template,
        text=text_of(subject.call.snapshot, subject.call.request.locale, template),
        next=Next.NONE if blind else NEXT[stop.reason],
        action_tendency=ActionTendency.NONE,
        evidence=_evidence(subject, reached),
        blind=blind or trace[-1] is Gate.POLICY_AGE,
        stop=stop,
        rule=stop.rule,
        custom_reason=stop.custom_reason,
        changed=_changed(subject),
        fault=fault_of(stop.reason),
        observed=stop.observed,
        by_ledger_id=subject.call.request.moment.by_ledger_id,
    )


def _allowed(key: str, subject: Subject, trace: tuple[Gate, ...], allowed: Allowed) -> SegmentDecision:
    call = subject.call
    until = earliest(_valid_until(subject), allowed.until)
    signed = call.request.moment is Moment.RETRIEVE
    return SegmentDecision(
        key=key,
        segment=subject.segment,
        verdict=Verdict.ALLOW,
        reason=Reason.NONE,
        reader_reason=Reason.NONE,
        gate=Gate.RELEASE,
        trace=trace,
        template_id="",
        text="",
        next=Next.NONE,
        action_tendency=ActionTendency.ADVISE if subject.need_advice and allowed.advice else ActionTendency.INFORM,
        evidence=_evidence(subject, reached=True),
        rule=allowed.rule,
        receipts=tuple(receipts.issue(call.facts.receipt_keys, call.request, b) for b in subject.segment.bindings)
        if signed
        else (),
        use_within_ms=_use_within(call, until),
        bases=tuple({root.ref: root.record.revision for root in subject.roots if root.record is not None}.items()),
        valid_until=until,
        observed=allowed.observed,
        by_ledger_id=call.request.moment.by_ledger_id,
    )


def _use_within(call: Call, until: Micros | None) -> int:
    limit = call.snapshot.use_within_ms
    return limit if until is None else max(1, min(limit, (until - call.now) // 1000))


def _valid_until(subject: Subject) -> Micros | None:
    """The earliest end of an assessment, of the scope that lets the reader in, or of freshness, over all roots."""
    ends: list[Micros] = []
    held = subject.call.reader.held
    for root in subject.roots:
        if root.record is None:
            continue
        if root.record.assessment_expires_at is not None:
            ends.append(root.record.assessment_expires_at)
        scope_ends = [held[scope] for scope in root.record.scopes if scope in held]
        if scope_ends and None not in scope_ends:
            ends.append(max(end for end in scope_ends if end is not None))
    for root in subject.aging:
        ends += _fresh_ends(subject, root)
    return min(ends, default=None)


def _fresh_ends(subject: Subject, root: Root) -> list[Micros]:
    """When a record whose age counts stops being fresh: itself, or, where derived, the last of what it was made of."""
    ends = [fresh_until(root.record, root.source, subject.claim)] if root.record is not None else []
    leaves = [
        fresh_until(leaf.record, leaf.source, subject.claim) if leaf.record is not None else None
        for leaf in gates.derived_from(subject, root)
        if gates.judge(subject, leaf) is Freshness.FRESH
    ]
    if leaves and None not in leaves:
        ends.append(max(end for end in leaves if end is not None))
    return [end for end in ends if end is not None]


def _evidence(subject: Subject, reached: bool) -> tuple[EvidenceView, ...]:
    """One view a binding, unmasked; freshness is UNKNOWN where its gate was not reached, MISSING without a record."""
    views = []
    for root in subject.direct:
        known = root.known
        if known is None:
            views.append(EvidenceView("", False, False, Freshness.MISSING, ""))
            continue
        fresh = gates.judge(subject, root) if reached else Freshness.UNKNOWN
        views.append(
            EvidenceView(known.source_label, gates.allowlisted(root), gates.trusted_hit(root), fresh, known.record_id)
        )
    return tuple(views)


def masked(decision: SegmentDecision) -> tuple[EvidenceView, ...]:
    """The evidence as a reader may see it: all alike unless they passed tenant, existence and scope."""
    if decision.blind:
        return (MASKED,) * (0 if decision.by_ledger_id else len(decision.evidence))
    return decision.evidence


def _changed(subject: Subject) -> tuple[Changed, ...]:
    """Which facts changed since the bindings were read, as far as their tokens name this database (B3)."""
    found: dict[tuple[str, str], Changed] = {}
    call = subject.call
    for root in subject.direct:
        granted = gates.granted_under(root.binding, call.facts) if root.binding is not None else None
        if granted is None:
            continue
        seq, policy = granted
        if policy != call.snapshot.number:
            found["policy", ""] = Changed("policy", "", policy, call.snapshot.number)
        if call.facts.grants.revision > seq:
            name = call.request.principal.id
            found["grants", name] = Changed("grants", name, seq, call.facts.grants.revision)
        if call.facts.standing.revision > seq:
            found["standing", ""] = Changed("standing", "", seq, call.facts.standing.revision)
        for other in (root, *(r for r in subject.roots if r.binding is None)):
            if other.record is not None and other.record.revision > seq:
                name = other.ref.record_id
                found["record", name] = Changed("record", name, seq, other.record.revision)
    return tuple(found.values())


def _records_read(subjects: list[Subject]) -> tuple[tuple[Ref, RecordFacts | None], ...]:
    read: dict[Ref, RecordFacts | None] = {}
    seen: set[str] = set()
    for subject in subjects:
        fresh = [parent for parent in subject.unusable if parent.ledger_id not in seen]
        seen.update(parent.ledger_id for parent in fresh)
        for root in (*subject.roots, *(root for parent in fresh for root in parent.roots)):
            read[root.ref] = root.record if root.hidden is None else root.hidden
            if root.record is None and root.current is not None:
                read[root.current.ref] = root.current
    return tuple(read.items())


def withhold_all(request: Request, snapshot: Snapshot | None, reason: Reason) -> Decided:
    """Every segment withheld for one reason, where nothing could be decided: a lost store, an unavailable audit."""
    keys = request.ledger_ids or tuple(segment.id for segment in request.segments)
    segments: tuple[Segment | None, ...] = request.segments or (None,) * len(keys)
    stop = Stop(reason, gap="service")
    results = tuple(
        SegmentDecision(
            key=key,
            segment=segment,
            verdict=Verdict.WITHHOLD,
            reason=reason,
            reader_reason=reason,
            gate=Gate.DEPENDENCY,
            trace=(Gate.DEPENDENCY,),
            template_id=reason.short,
            text=text_of(snapshot, request.locale, reason.short),
            next=NEXT[reason],
            action_tendency=ActionTendency.NONE,
            evidence=tuple(MASKED for _ in segment.bindings) if segment is not None else (),
            stop=stop,
            fault="service",
            by_ledger_id=bool(request.ledger_ids),
        )
        for key, segment in zip(keys, segments, strict=True)
    )
    return Decided(results, ())


def withhold_one(
    decision: SegmentDecision, snapshot: Snapshot, locale: str, reason: Reason, detail: str = ""
) -> SegmentDecision:
    """The decision turned into WITHHOLD, since facts kept changing until the repeats of its commit ran out.

    `detail` says in fixed words which, for the audit alone.
    """
    return decision._replace(
        verdict=Verdict.WITHHOLD,
        reason=reason,
        reader_reason=reason,
        gate=Gate.BINDING,
        trace=(*decision.trace[:-1], Gate.BINDING),
        template_id=reason.short,
        text=text_of(snapshot, locale, reason.short),
        next=NEXT[reason],
        action_tendency=ActionTendency.NONE,
        stop=Stop(reason, detail=detail, gap="version"),
        rule="",
        receipts=(),
        use_within_ms=0,
        bases=(),
        valid_until=None,
        fault=fault_of(reason),
    )
