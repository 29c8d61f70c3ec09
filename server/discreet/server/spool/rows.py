"""Audit rows as bytes: their columns as JSON, then the row itself as it will be stored. No I/O."""

import json
import struct

from discreet.policy.facts import Micros
from discreet.server.ports import AuditRecord, DecisionKey

_LENGTH = struct.Struct(">I")


def pack_row(record: AuditRecord) -> bytes:
    """The bytes of a row. Its body stands in them untouched."""
    columns = [
        record.request_id,
        record.tenant,
        record.act,
        record.at,
        record.principal_id,
        record.session_id,
        record.decisions,
    ]
    head = json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode()
    return _LENGTH.pack(len(head)) + head + record.body


def unpack_row(data: bytes) -> AuditRecord:
    """The row of bytes that `pack_row` made: a block's digest says that they are."""
    (size,) = _LENGTH.unpack_from(data)
    end = _LENGTH.size + size
    *columns, decisions = json.loads(data[_LENGTH.size : end])
    request_id, tenant, act, at, principal_id, session_id = columns
    keys = tuple(DecisionKey._make((*key[:6], tuple(key[6]), tuple(key[7]))) for key in decisions)
    return AuditRecord(request_id, tenant, act, Micros(at), principal_id, session_id, data[end:], keys)
