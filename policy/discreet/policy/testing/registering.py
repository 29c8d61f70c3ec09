"""Registration on the in-memory index: which record versions the server would take, and what becomes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from discreet.policy.facts import RecordFacts, Ref
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.index import Index, Refusal
from discreet.policy.words import Duty, Origin, RecordKind

TAKES: Final[Mapping[Duty, frozenset[Origin]]] = {
    Duty.DATA_CHANNEL: frozenset({Origin.COLLECTED}),
    Duty.DOCUMENT_STORE: frozenset({Origin.COLLECTED, Origin.INFERRED}),
    Duty.DERIVATION: frozenset({Origin.DERIVED}),
}
"""Which origins a source takes, by its duty (A19); a test compares with the server's table."""


def register(index: Index, given: RecordFacts, supersedes: Ref | None, snapshot: Snapshot) -> None:
    """Registers a version. Raises Refusal for what the server would refuse for its source, content or origins."""
    _require_source(index, given, snapshot)
    known = index.records.get(given.ref)
    if known is not None:
        _require_content(index, given, known)
    else:
        _require_unburied(index, given)
    _require_origins(index, given)
    if supersedes is not None and supersedes not in index.records:
        raise Refusal("what it supersedes: the record has no such version")
    roots = dict.fromkeys(ref for below in (*given.of, *given.inputs) for ref in (below, *index.records[below].roots))
    made = replace(given, recorded_at=index.now, current=True, roots=tuple(roots))
    record = made if known is None else _updated(index, made, known)
    earlier = index.records.get(supersedes) if supersedes is not None else None
    if earlier is not None and _stays(index, earlier, record.ref):
        earlier = None
    written = [record] if known is None or _said(record) != _said(known) else []
    if earlier is not None:
        current = index.current(earlier.record_id)
        keeps = current is not None and current.ref == earlier.ref and known is not None
        written.append(replace(earlier, superseded_by=record.ref, current=keeps, recorded_at=index.now))
    if written:
        index.write(*written)


def _stays(index: Index, earlier: RecordFacts, by: Ref) -> bool:
    return (
        earlier.superseded_by == by or index.standing.revoke_of(earlier) is not None or "successor" in earlier.settled
    )


def _updated(index: Index, given: RecordFacts, known: RecordFacts) -> RecordFacts:
    """Returns the same version with other metadata; what operators decided of it stays."""
    return replace(
        known,
        as_of=given.as_of,
        basis=given.basis,
        scopes=known.scopes if "scopes" in known.settled else given.scopes,
        attributes=given.attributes,
        assessment_expires_at=(
            known.assessment_expires_at if "assessment" in known.settled else given.assessment_expires_at
        ),
        collector=given.collector,
        recorded_at=index.now,
    )


def _require_source(index: Index, given: RecordFacts, snapshot: Snapshot) -> None:
    source = snapshot.sources.get(given.source_label)
    if source is None:
        raise Refusal("COLLECTOR_NOT_ENTITLED: no SourceList declares its label")
    if given.collector not in source.collectors:
        raise Refusal("COLLECTOR_NOT_ENTITLED: SourceList does not map its label to this collector")
    if given.origin not in TAKES[source.duty]:
        raise Refusal(f"COLLECTOR_NOT_ENTITLED: a source of duty {source.duty.short} does not take its origin")
    if not source.case_sensitive_ids and given.record_id != given.record_id.lower():
        raise Refusal("POLICY_RULE: the source's record ids are lower-case only")
    before = index.current(given.record_id)
    if before is not None and before.source_label != given.source_label:
        raise Refusal("COLLECTOR_NOT_ENTITLED: the record is registered under another label")
    if before is not None and before.kind is not given.kind:
        raise Refusal("CONTENT_MISMATCH: the record is of another kind")


def _require_content(index: Index, given: RecordFacts, known: RecordFacts) -> None:
    if index.standing.revoke_of(known) is not None:
        raise Refusal("TOMBSTONED: the version's retention is revoked")
    if _fixed(given) != _fixed(known):
        raise Refusal("CONTENT_MISMATCH: give new content a new version")


def _require_unburied(index: Index, given: RecordFacts) -> None:
    """Content that was revoked comes back under no other name, a record or a source that was not at all."""
    if given.record_id in index.buried_ids or given.source_label in index.revoked_sources:
        raise Refusal("TOMBSTONED: all versions of the record, or all of the source, were revoked for good")
    if given.digest in index.buried_digests:
        raise Refusal("TOMBSTONED: this content was revoked for good")
    if any(record.revoked is not None and record.digest == given.digest for record in index.records.values()):
        raise Refusal("TOMBSTONED: this content was revoked for good under another name")


def _require_origins(index: Index, given: RecordFacts) -> None:
    if given.kind is RecordKind.EVIDENCE and not (given.own_source or given.of or given.inputs):
        raise Refusal("evidence names what it was taken from, or is a source of its own")
    for ref in (*given.of, *given.inputs):
        record = index.records.get(ref)
        if record is None:
            raise Refusal("DOCUMENT_UNKNOWN: what it rests on is not registered")
        behind = [index.records[root] for root in record.roots if root in index.records]
        if any(index.standing.revoke_of(one) is not None for one in (record, *behind)):
            raise Refusal("TOMBSTONED: the retention of what it rests on is revoked")
        if ref in given.of and record.kind is not RecordKind.DOCUMENT:
            raise Refusal("DOCUMENT_UNKNOWN: `of` names documents, `inputs` name what a figure was made from")


def _fixed(record: RecordFacts) -> tuple[object, ...]:
    return (
        *(record.digest, record.source_label, record.origin, record.own_source, record.of, record.inputs),
        *(record.formula, _canonical(record.fields)),
    )


def _said(record: RecordFacts) -> tuple[object, ...]:
    return (
        *(record.as_of, record.basis, record.scopes, _canonical(record.attributes)),
        *(record.assessment_expires_at, record.superseded_by),
    )


def _canonical(values: Mapping[str, object]) -> str:
    """Returns a text in which 1, 1.0 and true differ."""
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
