"""Freezes, holds, tombstones and approvals as messages."""

from __future__ import annotations

from discreet.policy.codec.values import stamp_of
from discreet.policy.facts import Freeze, Hold, Micros
from discreet.server.ports_authority import ApprovalRow, TombstoneRow
from discreet.v1 import authority_pb2, common_pb2, purge_pb2


def freeze_message(tenant: str, freeze: Freeze) -> authority_pb2.FreezeInfo:
    """A freeze that stands."""
    return authority_pb2.FreezeInfo(
        freeze_id=freeze.freeze_id,
        tenant="" if freeze.everywhere else tenant,
        source_label=freeze.label,
        actor=freeze.actor,
        reason=freeze.reason,
        frozen_at=stamp_of(freeze.frozen_at),
        until=stamp_of(freeze.until),
    )


def hold_message(hold: Hold) -> purge_pb2.Hold:
    """A legal hold that stands."""
    message = purge_pb2.Hold(
        hold_id=hold.hold_id,
        source_label=hold.target.label,
        actor=hold.actor,
        reason=hold.reason,
        ticket=hold.ticket,
        placed_at=stamp_of(hold.placed_at),
    )
    if hold.target.record_id:
        message.record.record_id, message.record.version = hold.target.record_id, hold.target.version
    return message


def tombstone_message(row: TombstoneRow) -> authority_pb2.Tombstone:
    """What keeps revoked content from coming back."""
    message = authority_pb2.Tombstone(
        tombstone_id=row.tombstone_id,
        kind=authority_pb2.TombstoneKind.ValueType(row.kind.value),
        digest=row.digest,
        source_label=row.label,
        purge_order_id=row.order_id,
        placed_at=stamp_of(row.at),
        lifted=row.lifted,
    )
    if row.ref.record_id:
        message.record.CopyFrom(common_pb2.RecordRef(record_id=row.ref.record_id, version=row.ref.version))
    return message


def approval_message(row: ApprovalRow, now: Micros) -> authority_pb2.Approval:
    """A change that waits, or waited, for a second person."""
    return authority_pb2.Approval(
        approval_id=row.approval_id,
        method=row.method,
        summary=row.summary,
        requester=row.requester,
        reason=row.reason,
        ticket=row.ticket,
        requested_at=stamp_of(row.at),
        expires_at=stamp_of(row.expires_at),
        state=_state(row, now),
        settled_by=row.settled[0] if row.settled is not None else "",
    )


def _state(row: ApprovalRow, now: Micros) -> authority_pb2.ApprovalState.ValueType:
    if row.settled is not None:
        approved, rejected = authority_pb2.APPROVAL_STATE_APPROVED, authority_pb2.APPROVAL_STATE_REJECTED
        return approved if row.settled[1] else rejected
    waits = now < row.expires_at
    return authority_pb2.APPROVAL_STATE_PENDING if waits else authority_pb2.APPROVAL_STATE_EXPIRED
