"""Facts of the index as messages."""

from __future__ import annotations

from discreet.policy.codec.values import stamp_of, value_of
from discreet.policy.facts import NOTHING_STANDS, GrantFacts, Micros, RecordFacts, Ref, Standing
from discreet.policy.token import Token, encode
from discreet.server.ports import Head
from discreet.server.ports_found import GrantRow
from discreet.v1 import common_pb2
from discreet.v1 import index_pb2 as pb


def token_of(head: Head) -> str:
    """Names the state that a head is."""
    return encode(Token(head.epoch, head.seq, head.policy_revision))


def ref_message(ref: Ref) -> common_pb2.RecordRef:
    """A record version's name."""
    return common_pb2.RecordRef(record_id=ref.record_id, version=ref.version)


def _at(epoch: str, seq: int) -> str:
    return encode(Token(epoch, seq, 0))


def record_message(tenant: str, record: RecordFacts, epoch: str, standing: Standing = NOTHING_STANDS) -> pb.Record:
    """A record version as the index holds it, under what stands above it; its revision's token names no policy."""
    message = pb.Record(
        tenant=tenant,
        record_id=record.record_id,
        version=record.version,
        kind=pb.RecordKind.ValueType(record.kind.value),
        digest=record.digest,
        source_label=record.source_label,
        collector=record.collector,
        basis=record.basis,
        scopes=record.scopes,
        attributes={name: value_of(value) for name, value in record.attributes.items()},
        origin=pb.Origin.ValueType(record.origin.value),
        of=[ref_message(ref) for ref in record.of],
        own_source=record.own_source,
        fields={name: value_of(value) for name, value in record.fields.items()},
        formula=record.formula,
        inputs=[ref_message(ref) for ref in record.inputs],
        current=record.current,
        suspended=record.suspended,
        unreachable=record.unreachable,
        revision_token=_at(epoch, record.revision),
        recorded_at=stamp_of(record.recorded_at),
        hold_ids=[hold.hold_id for hold in standing.holds_on(record)],
    )
    _set_time(message, "suspended_until", record.suspended_until)
    _set_time(message, "as_of", record.as_of)
    _set_time(message, "assessment_expires_at", record.assessment_expires_at)
    if record.superseded_by is not None:
        message.superseded_by.CopyFrom(ref_message(record.superseded_by))
    revoked = standing.revoke_of(record)
    if revoked is not None:
        revoke = message.retention_revoke
        revoke.actor, revoke.reason, revoke.ticket = revoked.actor, revoked.reason, revoked.ticket
        revoke.revoked_at.CopyFrom(stamp_of(revoked.revoked_at))
        revoke.purge_not_before.CopyFrom(stamp_of(revoked.purge_not_before))
        revoke.purge_order_id = revoked.order_id
    return message


def grant_message(tenant: str, row: GrantRow, epoch: str) -> pb.Grant:
    """A grant as the index holds it."""
    grant: GrantFacts = row.grant
    message = pb.Grant(
        tenant=tenant,
        principal_id=row.principal_id,
        scope=grant.scope,
        not_before=stamp_of(grant.not_before),
        generation=grant.generation,
        withdrawn=row.withdrawn,
        revision_token=_at(epoch, grant.revision),
    )
    _set_time(message, "expires_at", grant.expires_at)
    return message


def _set_time(message: pb.Record | pb.Grant, field: str, at: Micros | None) -> None:
    if at is not None:
        getattr(message, field).CopyFrom(stamp_of(at))
