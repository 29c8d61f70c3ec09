"""From decisions to the bytes of a reply: what a reader may see, masked where F11 says so."""

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.policy.codec.stored import claim_message
from discreet.policy.codec.values import number, stamp_of
from discreet.policy.decide import masked
from discreet.policy.decision import Decided, EvidenceView, SegmentDecision
from discreet.policy.facts import Micros, Ref
from discreet.policy.request import Request
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import OrderKind, OutputStatus, ShownKind, Verdict
from discreet.v1 import common_pb2
from discreet.v1 import disclosure_pb2 as pb


@dataclass(frozen=True, slots=True)
class Reply:
    """What all results of a reply share. `snapshot` None: no policy is in force."""

    request: Request
    request_id: str
    token: str
    snapshot: Snapshot | None
    instance: str
    decision_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class CommitOutcome:
    """Where one segment of a commit stands in the one order. `ledger_id` empty: nothing was or had been committed."""

    kind: OrderKind
    token: str
    ledger_id: str = ""
    store_by: Micros | None = None


def encode_check(decided: Decided, reply: Reply) -> bytes:
    """The bytes of a CheckResponse."""
    message = pb.CheckResponse(
        request_id=reply.request_id,
        token=reply.token,
        policy=policy_message(reply.snapshot),
        instance=reply.instance,
        results=_results(decided, reply),
    )
    return message.SerializeToString()


def encode_commit(decided: Decided, reply: Reply, outcomes: Sequence[CommitOutcome]) -> bytes:
    """The bytes of a CommitResponse; one outcome a result."""
    results = [
        pb.CommitResult(
            result=result,
            ledger_id=outcome.ledger_id,
            order=order_message(outcome),
            store_by=stamp_of(outcome.store_by) if outcome.store_by is not None else None,
        )
        for result, outcome in zip(_results(decided, reply), outcomes, strict=True)
    ]
    message = pb.CommitResponse(
        request_id=reply.request_id,
        token=reply.token,
        policy=policy_message(reply.snapshot),
        instance=reply.instance,
        results=results,
    )
    return message.SerializeToString()


def encode_shown(request_id: str, outcomes: Sequence[tuple[str, ShownKind]]) -> bytes:
    """The bytes of a ReportShownResponse; one outcome an id, in the order of the request."""
    told = [pb.ShownOutcome(ledger_id=ledger_id, kind=number(kind)) for ledger_id, kind in outcomes]
    return pb.ReportShownResponse(request_id=request_id, outcomes=told).SerializeToString()


def order_message(outcome: CommitOutcome) -> pb.CommitOrder:
    """The outcome's place as a message."""
    return pb.CommitOrder(kind=number(outcome.kind), token=outcome.token)


def policy_message(snapshot: Snapshot | None) -> common_pb2.PolicyRevision:
    """The policy revision as a message; empty where none is in force."""
    if snapshot is None:
        return common_pb2.PolicyRevision()
    return common_pb2.PolicyRevision(
        number=snapshot.number, commit=snapshot.commit, digest=snapshot.digest, dirty=snapshot.dirty
    )


def _results(decided: Decided, reply: Reply) -> list[pb.SegmentResult]:
    pairs = zip(decided.results, reply.decision_ids, strict=True)
    return [_result(decision, decision_id, reply.request) for decision, decision_id in pairs]


def _result(decision: SegmentDecision, decision_id: str, request: Request) -> pb.SegmentResult:
    return pb.SegmentResult(
        segment_id=decision.key,
        decision_id=decision_id,
        verdict=number(decision.verdict),
        reason=number(decision.reader_reason),
        custom_reason=decision.custom_reason,
        gate=number(decision.gate),
        rule=decision.rule,
        output=_output(decision, request),
        evidence=[evidence_message(view) for view in masked(decision)],
        receipts=decision.receipts,
        use_within_ms=decision.use_within_ms,
        purge_order_id=decision.purge_order_id,
    )


def evidence_message(view: EvidenceView) -> pb.Evidence:
    """One evidence view as a message."""
    return pb.Evidence(
        source_label=view.source_label,
        allowlisted=view.allowlisted,
        trusted_hit=view.trusted_hit,
        freshness=number(view.freshness),
        source_id=view.source_id,
    )


def _output(decision: SegmentDecision, request: Request) -> pb.Output:
    """Available exactly where the verdict is ALLOW; else the fixed text, the goal and the gap, and no number."""
    available = decision.verdict is Verdict.ALLOW
    status = OutputStatus.AVAILABLE if available else OutputStatus.UNAVAILABLE
    output = pb.Output(
        status=number(status),
        next=number(decision.next),
        audit=pb.OutputAudit(action_tendency=number(decision.action_tendency), execution_allowed=False),
        template_id=decision.template_id,
    )
    if available:
        output.numbers.SetInParent()
        return output
    output.disclosure = decision.text
    asked = decision.segment.claim if decision.segment is not None and not decision.by_ledger_id else None
    output.goal.CopyFrom(
        pb.Goal(
            segment_id=decision.key,
            claim=claim_message(asked) if asked is not None else None,
            need_numbers=request.need_numbers,
            need_advice=request.need_advice,
        )
    )
    output.gap.CopyFrom(_gap(decision))
    return output


def _gap(decision: SegmentDecision) -> pb.Gap:
    stop = decision.stop
    if stop is None:
        return pb.Gap()
    ref = _named_binding(decision, stop.ref) if decision.blind else stop.ref
    record = common_pb2.RecordRef(record_id=ref.record_id, version=ref.version) if ref is not None else None
    return pb.Gap(record=record, kind=stop.gap, missing_fields=stop.missing_fields)


def _named_binding(decision: SegmentDecision, ref: Ref | None) -> Ref | None:
    """The request's first binding, whichever root failed, for who is told NOT_AVAILABLE; by ledger id nothing."""
    if decision.by_ledger_id or decision.segment is None or ref is None or not decision.segment.bindings:
        return None
    first = decision.segment.bindings[0]
    return Ref(first.record_id, first.version)
