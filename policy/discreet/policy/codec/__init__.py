"""The one place of the core that knows messages: bytes to questions, decisions to bytes. Nothing of gRPC, no I/O."""

from discreet.policy.codec.audit import CallRecord, ReadingRecord, audit_row
from discreet.policy.codec.encode import CommitOutcome, Reply, encode_check, encode_commit, encode_shown
from discreet.policy.codec.malformed import Malformed
from discreet.policy.codec.parse import Parsed, parse_check, parse_commit, parse_report_shown
from discreet.policy.codec.stored import fingerprint, segment_bytes, segment_from
from discreet.policy.codec.unknown import refuse_unknown
from discreet.policy.codec.wire import parse_message

__all__ = [
    "CallRecord",
    "CommitOutcome",
    "Malformed",
    "Parsed",
    "ReadingRecord",
    "Reply",
    "audit_row",
    "encode_check",
    "encode_commit",
    "encode_shown",
    "fingerprint",
    "parse_check",
    "parse_commit",
    "parse_message",
    "parse_report_shown",
    "refuse_unknown",
    "segment_bytes",
    "segment_from",
]
