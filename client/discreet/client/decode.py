"""Turns a server's answer into results, and whatever is odd about it into WITHHOLD.

**Invariant:** ALLOW comes out only of an answer that is well-formed throughout for that segment, PURGE only of a
well-formed one whose reason is the retention revoke. Anything else (another count or order of results, a value without
a name, two things said at once) is WITHHOLD, and never PURGE. This module knows no channel and does no I/O.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from discreet.client.encode import Batch
from discreet.client.model import Segment
from discreet.client.result import Clock, Evidence, Failure, Gap, Result
from discreet.client.words import (
    HIDDEN_CAUSES,
    ActionTendency,
    Freshness,
    Gate,
    Grounding,
    Moment,
    Next,
    OrderKind,
    Reason,
    Verdict,
)
from discreet.v1 import common_pb2, disclosure_pb2

MALFORMED = "MALFORMED_ANSWER"


class Odd(Exception):
    """An answer that no client may trust; says which field is odd, never what it holds."""


@dataclass(frozen=True, slots=True)
class Frame:
    """What every result of one call shares."""

    batch: Batch
    locale: str
    asked_at: float
    clock: Clock
    advice: bool
    # The evidence gates were compulsory for every segment of the call.
    need_numbers: bool


@dataclass(frozen=True, slots=True)
class Decoded:
    """The results of one call, in the order asked, and what was odd about it as a whole."""

    results: tuple[Result, ...]
    failure: Failure | None = None


def withheld(frame: Frame, failure: Failure) -> Decoded:
    """WITHHOLD for all that the call asked about."""
    return Decoded(tuple(_withheld(frame, at, failure) for at in range(len(frame.batch.ids))), failure)


def decode(frame: Frame, response: disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse) -> Decoded:
    """The results that the response gives, each judged alone; all withheld where the response is odd as a whole."""
    found: list[tuple[disclosure_pb2.SegmentResult, disclosure_pb2.CommitResult | None]]
    if isinstance(response, disclosure_pb2.CheckResponse):
        found = [(result, None) for result in response.results]
    else:
        found = [(entry.result, entry) for entry in response.results]
    try:
        _whole(frame, response, [result for result, _ in found])
    except Odd as odd:
        return withheld(frame, Failure(MALFORMED, str(odd)))
    results: list[Result] = []
    failure: Failure | None = None
    for at, (result, entry) in enumerate(found):
        try:
            results.append(_result(frame, at, response, result, entry))
        except Odd as odd:
            failure = Failure(MALFORMED, f"results[{at}].{odd}")
            results.append(_withheld(frame, at, failure))
    return Decoded(tuple(results), failure)


def _withheld(frame: Frame, at: int, failure: Failure) -> Result:
    return Result(
        segment_id=frame.batch.ids[at],
        moment=frame.batch.moment,
        advice=frame.advice,
        locale=frame.locale,
        error=failure,
        asked_at=frame.asked_at,
        clock=frame.clock,
    )


def _whole(
    frame: Frame,
    response: disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse,
    results: Sequence[disclosure_pb2.SegmentResult],
) -> None:
    """Refuses a response whose results are not, one for one and in order, those that were asked for."""
    _demand(len(results) == len(frame.batch.ids), "results: another number than was asked for")
    for at, (result, wanted) in enumerate(zip(results, frame.batch.ids, strict=True)):
        _demand(result.segment_id == wanted, f"results[{at}].segment_id: not the one asked for at this place")
    decisions = [result.decision_id for result in results if result.decision_id]
    _demand(len(decisions) == len(set(decisions)), "results: decision ids not unique")


def _result(
    frame: Frame,
    at: int,
    response: disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse,
    result: disclosure_pb2.SegmentResult,
    entry: disclosure_pb2.CommitResult | None,
) -> Result:
    segment = frame.batch.segments[at] if frame.batch.segments else None
    try:
        verdict, reason, gate = Verdict(result.verdict), Reason(result.reason), Gate(result.gate)
    except ValueError:
        raise Odd("verdict, reason or gate: unset or not known to this client") from None
    order = None if entry is None else _order(entry)
    _audit(result)
    if verdict is not Verdict.WITHHOLD:
        _demand(bool(result.decision_id), "decision_id: missing, so that no audit can know of it")
        _demand(bool(response.token), "token: missing, so that no facts were read")
    if verdict is Verdict.ALLOW:
        _demand(response.policy.number > 0, "policy.number: ALLOW with no policy in force")
        _allow(frame, result, reason, gate, segment)
        if entry is not None:
            _permission(entry, order)
    else:
        _refusal(result, reason)
        _demand(verdict is Verdict.WITHHOLD or reason is Reason.RETENTION_REVOKED, "reason: PURGE with another reason")
        _demand(verdict is Verdict.WITHHOLD or gate is Gate.RETENTION, "gate: PURGE at another gate")
    _demand(verdict is Verdict.PURGE or not result.purge_order_id, "purge_order_id: an order where nothing is purged")
    masked = reason is Reason.NOT_AVAILABLE or reason in HIDDEN_CAUSES
    store_by = None if entry is None else _store_by(entry)
    return Result(
        segment_id=result.segment_id,
        verdict=verdict,
        reason=Reason.NOT_AVAILABLE if masked else reason,
        moment=frame.batch.moment,
        advice=frame.advice,
        custom_reason=result.custom_reason,
        gate=gate,
        rule=result.rule,
        # The text of a cause that only the audit may hold would tell the reader what it is.
        disclosure="" if reason in HIDDEN_CAUSES else result.output.disclosure,
        template_id=result.output.template_id,
        next=Next(result.output.next),
        action_tendency=ActionTendency(result.output.audit.action_tendency),
        gap=_gap(result.output),
        evidence=() if masked else tuple(_evidence(found) for found in result.evidence),
        receipts=tuple(result.receipts),
        use_within_ms=result.use_within_ms,
        decision_id=result.decision_id,
        purge_order_id=result.purge_order_id,
        ledger_id="" if entry is None else entry.ledger_id,
        order=order,
        store_by=store_by,
        store_until=None if store_by is None else _on(frame.clock, store_by),
        token=response.token,
        locale=frame.locale,
        asked_at=frame.asked_at,
        clock=frame.clock,
    )


def _audit(result: disclosure_pb2.SegmentResult) -> None:
    """Refuses what is odd under every verdict."""
    output = result.output
    _demand(_named(Next, output.next), "output.next: unset or not known to this client")
    _demand(_named(ActionTendency, output.audit.action_tendency), "output.audit.action_tendency: unset or not known")
    _demand(not output.audit.execution_allowed, "output.audit.execution_allowed: true, which no answer may be")
    for at, found in enumerate(result.evidence):
        _demand(_named(Freshness, found.freshness), f"evidence[{at}].freshness: not known to this client")
        derived = found.allowlisted and bool(found.source_label)
        _demand(derived or not found.trusted_hit, f"evidence[{at}].trusted_hit: true without its grounds")


def _allow(
    frame: Frame, result: disclosure_pb2.SegmentResult, reason: Reason, gate: Gate, segment: Segment | None
) -> None:
    """Refuses an ALLOW that is not one throughout."""
    output = result.output
    _demand(reason is Reason.NONE, "reason: ALLOW with a reason")
    _demand(not result.custom_reason, "custom_reason: ALLOW with a reason")
    _demand(gate is Gate.RELEASE, "gate: ALLOW that did not pass every gate")
    _demand(output.status == common_pb2.OUTPUT_STATUS_AVAILABLE, "output.status: ALLOW that is not available")
    _demand(output.WhichOneof("form") != "disclosure", "output.disclosure: ALLOW with a text in its place")
    _demand(not output.template_id, "output.template_id: ALLOW with a text in its place")
    _demand(not output.HasField("gap"), "output.gap: ALLOW with something missing")
    _demand(output.next == common_pb2.NEXT_NONE, "output.next: ALLOW with a next step")
    _demand(result.use_within_ms > 0, "use_within_ms: ALLOW without a time")
    for at, found in enumerate(result.evidence):
        _demand(found.trusted_hit and bool(found.source_id), f"evidence[{at}]: ALLOW on a source that is not trusted")
    receipts = 0
    if segment is not None:
        _rests(frame, result, segment)
        receipts = len(segment.bindings) if frame.batch.moment is Moment.RETRIEVE else 0
    _demand(len(result.receipts) == receipts and all(result.receipts), "receipts: another number than is due")


def _rests(frame: Frame, result: disclosure_pb2.SegmentResult, segment: Segment) -> None:
    """Refuses an ALLOW whose evidence is not, one for one, what the segment's bindings name."""
    bound = segment.grounding is Grounding.BOUND
    _demand(bool(segment.bindings or segment.parents) or not bound, "verdict: ALLOW for a segment bound to nothing")
    _demand(len(result.evidence) == len(segment.bindings), "evidence: another number than the segment has bindings")
    gated = frame.need_numbers or segment.claim is not None
    for at, (found, binding) in enumerate(zip(result.evidence, segment.bindings, strict=True)):
        _demand(found.source_id == binding.record_id, f"evidence[{at}].source_id: another record than the binding's")
        label = binding.claimed_label
        _demand(not label or label == found.source_label, f"evidence[{at}].source_label: not the one claimed")
        fresh = found.freshness == common_pb2.FRESHNESS_FRESH
        _demand(fresh or not gated, f"evidence[{at}].freshness: ALLOW on evidence that is not fresh")


def _refusal(result: disclosure_pb2.SegmentResult, reason: Reason) -> None:
    """Refuses a refusal that also says the contrary."""
    output = result.output
    _demand(reason is not Reason.NONE, "reason: a refusal without one")
    _demand(output.status == common_pb2.OUTPUT_STATUS_UNAVAILABLE, "output.status: a refusal that is available")
    _demand(bool(output.disclosure), "output.disclosure: a refusal without its text, or with numbers in its place")
    tendency = output.audit.action_tendency
    _demand(tendency == common_pb2.ACTION_TENDENCY_NONE, "output.audit.action_tendency: a refusal that leans")
    _demand(not result.receipts, "receipts: a refusal with receipts")
    _demand(result.use_within_ms == 0, "use_within_ms: a refusal with a time")


def _order(entry: disclosure_pb2.CommitResult) -> OrderKind:
    _demand(_named(OrderKind, entry.order.kind), "order.kind: unset or not known to this client")
    return OrderKind(entry.order.kind)


def _permission(entry: disclosure_pb2.CommitResult, order: OrderKind | None) -> None:
    """Refuses an ALLOW of a commit that left no ledger entry."""
    _demand(bool(entry.ledger_id), "ledger_id: ALLOW that is not in the ledger")
    _demand(order in (OrderKind.COMMITTED, OrderKind.REPEATED), "order.kind: ALLOW that was not committed")


def _store_by(entry: disclosure_pb2.CommitResult) -> datetime | None:
    if not entry.HasField("store_by"):
        return None
    try:
        return entry.store_by.ToDatetime(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise Odd("store_by: no time") from None


def _on(clock: Clock, moment: datetime) -> float:
    """The moment as that clock will read, by what is left until then on the wall clock now."""
    return clock() + (moment - datetime.now(UTC)).total_seconds()


def _gap(output: disclosure_pb2.Output) -> Gap | None:
    if not output.HasField("gap"):
        return None
    gap = output.gap
    return Gap(gap.kind, gap.record.record_id, gap.record.version, tuple(gap.missing_fields))


def _evidence(found: disclosure_pb2.Evidence) -> Evidence:
    return Evidence(
        found.source_label, found.allowlisted, found.trusted_hit, Freshness(found.freshness), found.source_id
    )


def _named(words: type[Next] | type[ActionTendency] | type[Freshness] | type[OrderKind], number: int) -> bool:
    return any(word.value == number for word in words)


def _demand(holds: bool, odd: str) -> None:
    if not holds:
        raise Odd(odd)
