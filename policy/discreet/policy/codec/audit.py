"""From decisions to audit row v1: deterministic bytes that name the revision of every fact, and hold no content."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from google.protobuf.duration_pb2 import Duration

from discreet.policy.codec.encode import CommitOutcome, evidence_message, order_message, policy_message
from discreet.policy.codec.stored import binding_message, claim_message
from discreet.policy.codec.values import number, stamp_of
from discreet.policy.decision import Decided, SegmentDecision
from discreet.policy.facts import NOTHING_STANDS, Caller, Facts, Micros, RecordFacts, Ref, Standing
from discreet.policy.request import Request
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import AuditAct, RecordKind
from discreet.v1 import audit_pb2 as pb
from discreet.v1 import common_pb2

VERSION = 1
_NOBODY = RecordFacts("", "", 0, RecordKind.DOCUMENT, "", "", "", Micros(0), current=True)


class ReadingRecord(NamedTuple):
    """Commit: the later read under which what an earlier call had committed was judged anew."""

    at: Micros
    token: str
    policy_age_us: int | None


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What a row says of the call as a whole. `facts` None: they could not be read."""

    act: AuditAct
    request: Request
    request_id: str
    at: Micros
    instance: str
    caller: Caller
    snapshot: Snapshot | None
    facts: Facts | None
    token: str
    decision_ids: Sequence[str]
    outcomes: Sequence[CommitOutcome] = ()
    policy_age_us: int | None = None
    """As `decide` was given it; None where nothing could be decided."""
    repeated_under: ReadingRecord | None = None
    facts_age_us: int | None = None
    """How old facts may have been that had not been read for the call; None: they had."""
    claimed_scopes_left_out: bool = False
    """Known from a row that is written again, whose request does not have them."""


def audit_row(decided: Decided, call: CallRecord) -> bytes:
    """The stored bytes of the row; equal inputs give equal bytes."""
    return row_message(decided, call).SerializeToString(deterministic=True)


def row_message(decided: Decided, call: CallRecord) -> pb.AuditRow:
    """The row as a message."""
    request = call.request
    claims_count = call.snapshot is not None and call.caller.name in call.snapshot.claimed_scopes_from
    return pb.AuditRow(
        version=VERSION,
        act=number(call.act),
        request_id=call.request_id,
        at=stamp_of(call.at),
        tenant=request.tenant,
        instance=call.instance,
        caller=pb.AuditCaller(name=call.caller.name, role=call.caller.role.short),
        moment=number(request.moment),
        principal_id=request.principal.id,
        claimed_scopes=request.principal.claimed_scopes if claims_count else (),
        principal_attributes=_attributes(request, call.snapshot),
        session_id=request.session_id,
        answer_id=request.answer_id,
        locale=request.locale,
        need_numbers=request.need_numbers,
        need_advice=request.need_advice,
        policy=policy_message(call.snapshot),
        token=call.token,
        facts=_facts(decided, call),
        decisions=[_decision(d, call, i) for i, d in enumerate(decided.results)],
        policy_age=_duration(call.policy_age_us),
        claimed_scopes_left_out=call.claimed_scopes_left_out or _left_out(call, counted=claims_count),
        repeated_under=_reading(call.repeated_under),
        facts_age=_duration(call.facts_age_us),
    )


def _left_out(call: CallRecord, *, counted: bool) -> bool:
    return call.policy_age_us is not None and not counted and bool(call.request.principal.claimed_scopes)


def _duration(us: int | None) -> Duration | None:
    if us is None:
        return None
    seconds, rest = divmod(us, 1_000_000)
    return Duration(seconds=seconds, nanos=rest * 1_000)


def _reading(read: ReadingRecord | None) -> pb.AuditReading | None:
    if read is None:
        return None
    return pb.AuditReading(at=stamp_of(read.at), token=read.token, policy_age=_duration(read.policy_age_us))


def _attributes(request: Request, snapshot: Snapshot | None) -> list[pb.AuditAttribute]:
    """The attributes by name; without a policy in force nobody knows which it masks, so none keeps its value."""
    return [
        pb.AuditAttribute(name=name, masked=True)
        if snapshot is None or name in snapshot.masked_attributes
        else pb.AuditAttribute(name=name, value=_canonical(value))
        for name, value in sorted(request.principal.attributes.items())
    ]


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _facts(decided: Decided, call: CallRecord) -> list[pb.AuditFact]:
    facts, request = call.facts, call.request
    standing = facts.standing if facts is not None else NOTHING_STANDS
    found = [_record_fact(ref, record, standing, call.at) for ref, record in decided.records_read]
    if facts is None:
        return found
    found.append(pb.AuditFact(kind="grants", id=request.principal.id, revision=facts.grants.revision))
    found.append(pb.AuditFact(kind="standing", revision=standing.revision))
    for ledger_id in dict.fromkeys((*request.ledger_ids, *(p for each in request.segments for p in each.parents))):
        entry = facts.ledger.get(ledger_id)
        found.append(pb.AuditFact(kind="ledger", id=ledger_id, revision=entry.seq if entry is not None else 0))
    return found


def _record_fact(ref: Ref, record: RecordFacts | None, standing: Standing, at: Micros) -> pb.AuditFact:
    known = record if record is not None else _NOBODY
    fact = pb.AuditFact(
        kind="record",
        id=ref.record_id,
        version=ref.version,
        revision=known.revision,
        digest=known.digest,
        source_label=known.source_label,
        collector=known.collector,
        states=_states(known, standing, at),
        step=known.step,
    )
    # What is unknown costs as much as what is known (F11).
    return fact if record is not None else pb.AuditFact(kind="record", id=ref.record_id, version=ref.version)


def _states(record: RecordFacts, standing: Standing, at: Micros) -> list[str]:
    flags = {
        "current": record.current,
        "frozen": standing.frozen(record, at) is not None,
        "held": bool(standing.holds_on(record)),
        "revoked": standing.revoke_of(record) is not None,
        "superseded": record.superseded_by is not None,
        "suspended": record.suspended_at(at),
        "unreachable": record.unreachable,
    }
    return [name for name, is_set in flags.items() if is_set]


def _decision(decision: SegmentDecision, call: CallRecord, index: int) -> pb.AuditDecision:
    segment, stop = decision.segment, decision.stop
    outcome = call.outcomes[index] if call.outcomes else None
    ref = stop.ref if stop is not None else None
    return pb.AuditDecision(
        decision_id=call.decision_ids[index],
        segment_id=segment.id if segment is not None else decision.key,
        segment_kind=segment.kind if segment is not None else "",
        segment_digest=segment.digest if segment is not None else "",
        grounding=number(segment.grounding) if segment is not None else number(0),
        claim=claim_message(segment.claim) if segment is not None and segment.claim is not None else None,
        verdict=number(decision.verdict),
        reason=number(decision.reason),
        reader_reason=number(decision.reader_reason),
        custom_reason=decision.custom_reason,
        gate=number(decision.gate),
        rule=decision.rule,
        evidence=[evidence_message(view) for view in decision.evidence],
        bindings=[binding_message(b) for b in segment.bindings] if segment is not None else (),
        template_id=decision.template_id,
        next=number(decision.next),
        action_tendency=number(decision.action_tendency),
        fault=decision.fault,
        deciding_record=common_pb2.RecordRef(record_id=ref.record_id, version=ref.version) if ref is not None else None,
        detail=_detail(decision),
        changed=[
            pb.ChangedFact(kind=c.kind, id=c.id, from_revision=c.from_revision, to_revision=c.to_revision)
            for c in decision.changed
        ],
        trace=_trace(decision),
        ledger_id=(outcome.ledger_id if outcome is not None else "") or (decision.key if decision.by_ledger_id else ""),
        order=order_message(outcome) if outcome is not None else None,
        observed_rules=decision.observed,
        purge_order_id=decision.purge_order_id,
        parents=segment.parents if segment is not None else (),
    )


def _trace(decision: SegmentDecision) -> list[pb.GateStep]:
    last = len(decision.trace) - 1
    return [
        pb.GateStep(gate=number(gate), passed=i < last or decision.stop is None)
        for i, gate in enumerate(decision.trace)
    ]


def _detail(decision: SegmentDecision) -> str:
    """Fixed words and names: what was missing, which attribute a condition lacked."""
    stop = decision.stop
    if stop is None:
        return ""
    return ", ".join(filter(None, (stop.detail, *(f"missing field {name}" for name in stop.missing_fields))))
