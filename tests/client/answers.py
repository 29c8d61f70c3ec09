"""Well-formed answers to requests, for a scripted server to give as they are or to spoil first."""

from collections.abc import Sequence

from discreet.v1 import common_pb2, disclosure_pb2

USE_WITHIN_MS = 60_000
TOKEN = "epoch.7.1"
STORE_BY_S = 4_000_000_000

Request = disclosure_pb2.CheckRequest | disclosure_pb2.CommitRequest
Reply = disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse


def available() -> disclosure_pb2.Output:
    """What an ALLOW says to the reader: nothing in the segment's place."""
    return disclosure_pb2.Output(
        status=common_pb2.OUTPUT_STATUS_AVAILABLE,
        next=common_pb2.NEXT_NONE,
        audit=disclosure_pb2.OutputAudit(action_tendency=common_pb2.ACTION_TENDENCY_INFORM),
    )


def unavailable(text: str, template_id: str) -> disclosure_pb2.Output:
    """What a refusal says to the reader."""
    return disclosure_pb2.Output(
        status=common_pb2.OUTPUT_STATUS_UNAVAILABLE,
        disclosure=text,
        next=common_pb2.NEXT_EXPLICIT_REFRESH,
        audit=disclosure_pb2.OutputAudit(action_tendency=common_pb2.ACTION_TENDENCY_NONE),
        template_id=template_id,
    )


def trusted(record_id: str) -> disclosure_pb2.Evidence:
    """Evidence of an allowlisted source."""
    return disclosure_pb2.Evidence(
        source_label="peps",
        allowlisted=True,
        trusted_hit=True,
        freshness=common_pb2.FRESHNESS_FRESH,
        source_id=record_id,
    )


def allow(segment: disclosure_pb2.Segment, at: int, moment: int) -> disclosure_pb2.SegmentResult:
    """ALLOW for a segment."""
    return disclosure_pb2.SegmentResult(
        segment_id=segment.id,
        decision_id=f"decision-{at}",
        verdict=common_pb2.VERDICT_ALLOW,
        reason=common_pb2.REASON_NONE,
        gate=common_pb2.GATE_RELEASE,
        output=available(),
        evidence=[trusted(binding.record_id) for binding in segment.bindings],
        receipts=[
            f"receipt-{at}-{place}" for place in range(len(segment.bindings)) if moment == common_pb2.MOMENT_RETRIEVE
        ],
        use_within_ms=USE_WITHIN_MS,
    )


def refuse(
    result: disclosure_pb2.SegmentResult,
    reason: common_pb2.Reason.ValueType = common_pb2.REASON_STALE,
    verdict: common_pb2.Verdict.ValueType = common_pb2.VERDICT_WITHHOLD,
    gate: common_pb2.Gate.ValueType = common_pb2.GATE_FRESHNESS,
) -> None:
    """Turns a result into a well-formed refusal."""
    result.verdict, result.reason, result.gate = verdict, reason, gate
    result.use_within_ms = 0
    del result.receipts[:]
    result.output.CopyFrom(unavailable("The policy's own text.", common_pb2.Reason.Name(reason)[7:]))


def purge(result: disclosure_pb2.SegmentResult) -> None:
    """Turns a result into a well-formed PURGE."""
    refuse(result, common_pb2.REASON_RETENTION_REVOKED, common_pb2.VERDICT_PURGE, common_pb2.GATE_RETENTION)


def check_response(request: disclosure_pb2.CheckRequest) -> disclosure_pb2.CheckResponse:
    """ALLOW throughout."""
    asked: Sequence[disclosure_pb2.Segment] = request.segments or [
        disclosure_pb2.Segment(id=ledger_id) for ledger_id in request.ledger_ids
    ]
    return disclosure_pb2.CheckResponse(
        request_id="request-1",
        token=TOKEN,
        policy=common_pb2.PolicyRevision(number=1, commit="c" * 40, digest="d" * 64),
        instance="scripted",
        results=[allow(segment, at, request.moment) for at, segment in enumerate(asked)],
    )


def commit_response(request: disclosure_pb2.CommitRequest) -> disclosure_pb2.CommitResponse:
    """Everything committed."""
    response = disclosure_pb2.CommitResponse(
        request_id="request-1",
        token=TOKEN,
        policy=common_pb2.PolicyRevision(number=1, commit="c" * 40, digest="d" * 64),
        instance="scripted",
    )
    for at, segment in enumerate(request.segments):
        entry = response.results.add(ledger_id=f"ledger-{segment.id}")
        entry.result.CopyFrom(allow(segment, at, common_pb2.MOMENT_PUBLISH))
        entry.order.kind = disclosure_pb2.CommitOrder.KIND_COMMITTED
        entry.order.token = TOKEN
        entry.store_by.seconds = STORE_BY_S
    return response


def confirmed(request: disclosure_pb2.ReportShownRequest) -> disclosure_pb2.ReportShownResponse:
    """Everything on record as shown."""
    kind = disclosure_pb2.ShownOutcome.KIND_CONFIRMED
    outcomes = [disclosure_pb2.ShownOutcome(ledger_id=name, kind=kind) for name in request.ledger_ids]
    return disclosure_pb2.ReportShownResponse(request_id="request-1", outcomes=outcomes)


def refuse_entry(entry: disclosure_pb2.CommitResult, reason: common_pb2.Reason.ValueType) -> None:
    """Turns a commit's result into one that was refused before anything was written."""
    refuse(entry.result, reason)
    entry.ledger_id = ""
    entry.order.kind = disclosure_pb2.CommitOrder.KIND_REFUSED
    entry.ClearField("store_by")


def well_formed(request: Request) -> Reply:
    """The answer that allows everything asked for."""
    if isinstance(request, disclosure_pb2.CheckRequest):
        return check_response(request)
    return commit_response(request)


def result_of(reply: Reply, at: int) -> disclosure_pb2.SegmentResult:
    """The result at a place, in either kind of answer."""
    return reply.results[at] if isinstance(reply, disclosure_pb2.CheckResponse) else reply.results[at].result
