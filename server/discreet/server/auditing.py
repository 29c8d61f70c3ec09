"""Audit rows of what is not a decision: changes of the index, and calls refused for their rights. No I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.policy.facts import Micros, Ref
from discreet.policy.request import ShownReport
from discreet.policy.words import AuditAct, Reason
from discreet.server.calls import Call
from discreet.server.ports import AuditRecord
from discreet.server.ports_found import ActKey
from discreet.v1 import audit_pb2, common_pb2

VERSION = 1


@dataclass(frozen=True, slots=True)
class Change:
    """What a change did, or would have done."""

    method: str
    ref: Ref | None = None
    principal_id: str = ""
    scope: str = ""
    reason: str = ""
    ticket: str = ""
    seq: int = 0
    refused: Reason | None = None
    detail: str = ""
    subject_id: str = ""
    """What it made, ended or settled: a purge order, hold, freeze, tombstone, approval or holder."""


def row_of(call: Call, act: AuditAct, tenant: str, at: Micros, instance: str, change: Change) -> AuditRecord:
    """The audit row of one change or refusal, with the columns that find it."""
    row = audit_pb2.AuditRow(
        version=VERSION,
        act=audit_pb2.AuditAct.ValueType(act.value),
        request_id=call.request_id,
        tenant=tenant,
        instance=instance,
        caller=audit_pb2.AuditCaller(name=call.caller.name, role=call.caller.role.short),
        change=_message(change),
    )
    row.at.FromMicroseconds(at)
    return AuditRecord(
        request_id=call.request_id,
        tenant=tenant,
        act=act.value,
        at=at,
        principal_id=change.principal_id,
        session_id="",
        body=row.SerializeToString(deterministic=True),
        decisions=(),
        found_by=_key(call, change),
    )


def shown_of(
    call: Call, report: ShownReport, tenant: str, at: Micros, instance: str, confirmed: Sequence[str], detail: str
) -> AuditRecord:
    """The audit row of a report: which entries came to be confirmed as shown, and how many there were of the others."""
    change = Change(call.name, principal_id=report.principal.id, detail=detail)
    plain = row_of(call, AuditAct.SHOWN, tenant, at, instance, change)
    row = audit_pb2.AuditRow.FromString(plain.body)
    row.principal_id, row.session_id = report.principal.id, report.session_id
    row.shown_ledger_ids.extend(confirmed)
    return replace(plain, session_id=report.session_id, body=row.SerializeToString(deterministic=True))


def _key(call: Call, change: Change) -> ActKey:
    record_id, version = change.ref or ("", "")
    return ActKey(change.method, call.caller.name, record_id, version, change.ticket, change.subject_id)


def _message(change: Change) -> audit_pb2.AuditChange:
    message = audit_pb2.AuditChange(
        method=change.method,
        principal_id=change.principal_id,
        scope=change.scope,
        reason=change.reason,
        ticket=change.ticket,
        seq=change.seq,
        refused=common_pb2.Reason.ValueType(change.refused.value if change.refused is not None else 0),
        detail=change.detail,
        subject_id=change.subject_id,
    )
    if change.ref is not None:
        message.record.record_id = change.ref.record_id
        message.record.version = change.ref.version
    return message
