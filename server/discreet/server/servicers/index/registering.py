"""Registration: what becomes of each input, judged and written inside one index transaction.

A version's content is fixed: its digest, label, kind and origins never change under the same version. Its metadata
may, as a new revision. Refusals fall on single inputs; the others of the call go through. What equals what is there
writes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.policy.facts import RecordFacts, Ref
from discreet.policy.idents import skeleton
from discreet.policy.snapshot import Snapshot, Source
from discreet.policy.words import Duty, Origin, Reason, RecordKind, TombstoneKind
from discreet.server.auditing import Change
from discreet.server.calls import Call
from discreet.server.ports import Work
from discreet.server.ports_authority import TombstoneRow
from discreet.server.servicers.index.inputs import RecordInput

ROOTS_MAX = 256

TAKES: Mapping[Duty, frozenset[Origin]] = {
    Duty.DATA_CHANNEL: frozenset({Origin.COLLECTED}),
    Duty.DOCUMENT_STORE: frozenset({Origin.COLLECTED, Origin.INFERRED}),
    Duty.DERIVATION: frozenset({Origin.DERIVED}),
}
"""Which origins a source takes, by its duty (A19)."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Why an input was not taken."""

    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Registered:
    """What became of one input: "created", "updated", "unchanged" or "refused". `note`: what was left as it is."""

    kind: str
    refused: Refused | None = None
    note: str = ""


class Registration:
    """One call's inputs against the index as it stands in this transaction, earlier inputs of the call included."""

    def __init__(self, index: Work, call: Call, tenant: str, snapshot: Snapshot, inputs: Sequence[RecordInput]) -> None:
        self._index = index
        self._call = call
        self._tenant = tenant
        self._snapshot = snapshot
        named = [
            ref for one in inputs for ref in (one.ref, *one.rests_on, *((one.supersedes,) if one.supersedes else ()))
        ]
        self._standing = index.authority.standing(tenant)
        self._records = dict(index.records(tenant, list(dict.fromkeys(named))))
        self._revoked_roots = self._those_revoked(inputs)
        ids = list(dict.fromkeys(one.ref.record_id for one in inputs))
        currents = index.currents(tenant, ids)
        self._currents = {record_id: record.ref for record_id, record in currents.items()}
        self._kinds = {record_id: record.kind for record_id, record in currents.items()}
        self._labels = {record_id: record.source_label for record_id, record in currents.items()}
        digests = [one.digest for one in inputs]
        labels = [one.label for one in inputs]
        self._tombstones = index.authority.tombstones(tenant, digests, ids, labels)
        self._skeletons: dict[tuple[str, str], str] = {}
        self._written: dict[Ref, RecordFacts] = {}
        self.changes: list[Change] = []

    def _those_revoked(self, inputs: Sequence[RecordInput]) -> frozenset[Ref]:
        """What stands behind the records that the inputs name, and is revoked: nothing is built on that either."""
        named = [self._records[ref] for one in inputs for ref in one.rests_on if ref in self._records]
        behind = list(dict.fromkeys(root for record in named for root in record.roots))
        found = self._index.records(self._tenant, behind).items()
        return frozenset(ref for ref, record in found if self._standing.revoke_of(record) is not None)

    def register(self, inputs: Sequence[RecordInput]) -> list[Registered]:
        """One outcome an input; everything that is new is written in one go, with its audit rows in `changes`."""
        outcomes = [self._one(given) for given in inputs]
        if self._written:
            rows = [(record, skeleton(record.record_id)) for record in self._written.values()]
            self._index.write_records(self._tenant, rows)
        return outcomes

    def _one(self, given: RecordInput) -> Registered:
        refused = self._refusal(given)
        if refused is not None:
            change = Change(self._call.name, given.ref, refused=refused.reason, detail=refused.message)
            self.changes.append(change)
            return Registered("refused", refused)
        known = self._records.get(given.ref)
        record = self._created(given) if known is None else self._updated(given, known)
        superseded = self._supersede(given)
        note = _left(given, known) if known is not None else ""
        if known is not None and not superseded and _same(record, known):
            return Registered("unchanged", note=note)
        if known is None or not _same(record, known):
            self._write(record)
            self.changes.append(Change(self._call.name, given.ref))
        return Registered("created" if known is None else "updated", note=note)

    def _write(self, record: RecordFacts) -> None:
        self._records[record.ref] = self._written[record.ref] = record

    def _created(self, given: RecordInput) -> RecordFacts:
        """A new version, which becomes the record's current one; the one before is demoted, here or by the store."""
        record_id = given.ref.record_id
        before = self._currents.get(record_id)
        if before in self._written:
            self._write(replace(self._written[before], current=False))
        self._currents[record_id] = given.ref
        self._labels[record_id] = given.label
        self._kinds[record_id] = given.kind
        self._skeletons[given.label, skeleton(record_id)] = record_id
        return RecordFacts(
            record_id=record_id,
            version=given.ref.version,
            revision=0,
            kind=given.kind,
            digest=given.digest,
            source_label=given.label,
            collector=self._call.caller.name,
            recorded_at=self._index.now,
            step=self._call.name,
            current=True,
            as_of=given.as_of,
            basis=given.basis,
            scopes=given.scopes,
            attributes=given.attributes,
            assessment_expires_at=given.assessment_expires_at,
            origin=given.origin,
            own_source=given.own_source,
            of=given.of,
            fields=given.fields,
            formula=given.formula,
            inputs=given.inputs,
            roots=self._roots(given),
        )

    def _updated(self, given: RecordInput, known: RecordFacts) -> RecordFacts:
        """The same version with the metadata of the input.

        What operators decided of it stays, and it becomes current by nothing.
        """
        settled = known.settled
        return replace(
            known,
            current=self._currents.get(known.record_id) == known.ref,
            as_of=given.as_of,
            basis=given.basis,
            scopes=known.scopes if "scopes" in settled else given.scopes,
            attributes=given.attributes,
            assessment_expires_at=(
                known.assessment_expires_at if "assessment" in settled else given.assessment_expires_at
            ),
            collector=self._call.caller.name,
            recorded_at=self._index.now,
            step=self._call.name,
        )

    def _supersede(self, given: RecordInput) -> bool:
        """Marks the version that the input replaces.

        A revoked one, and one that an operator settled, stays as it is.
        """
        earlier = self._records.get(given.supersedes) if given.supersedes is not None else None
        if earlier is None or earlier.superseded_by == given.ref:
            return False
        if self._standing.revoke_of(earlier) is not None:
            return False
        if "successor" in earlier.settled:
            return False
        current = self._currents.get(earlier.record_id) == earlier.ref
        self._write(
            replace(
                earlier, superseded_by=given.ref, current=current, recorded_at=self._index.now, step=self._call.name
            )
        )
        self.changes.append(Change("Supersede", earlier.ref, detail="named by a registration"))
        return True

    def _roots(self, given: RecordInput) -> tuple[Ref, ...]:
        found: dict[Ref, None] = {}
        for ref in given.rests_on:
            found[ref] = None
            found.update(dict.fromkeys(self._records[ref].roots))
        return tuple(found)

    def _refusal(self, given: RecordInput) -> Refused | None:
        source = self._snapshot.sources.get(given.label)
        return (
            self._entitlement(given, source)
            or _duty(given, source)
            or self._identity(given, source)
            or self._content(given)
            or self._origins(given)
        )

    def _entitlement(self, given: RecordInput, source: Source | None) -> Refused | None:
        name, path = self._call.caller.name, f"{given.path}.source_label"
        if source is None:
            return Refused(Reason.COLLECTOR_NOT_ENTITLED, f"{path}: no SourceList declares this label")
        if name not in source.collectors:
            return Refused(
                Reason.COLLECTOR_NOT_ENTITLED, f"{path}: SourceList does not map this label to the collector {name}"
            )
        if self._labels.get(given.ref.record_id, given.label) != given.label:
            message = f"{path}: the record is registered under another label, and stays under it"
            return Refused(Reason.COLLECTOR_NOT_ENTITLED, message)
        return None

    def _identity(self, given: RecordInput, source: Source | None) -> Refused | None:
        """Refuses ids that the source's people could take for one another."""
        record_id, path = given.ref.record_id, f"{given.path}.record_id"
        if source is not None and not source.case_sensitive_ids and record_id != record_id.lower():
            return Refused(
                Reason.POLICY_RULE, f"{path}: holds upper-case letters; the source's record ids are lower-case only"
            )
        if record_id in self._currents:
            return None
        folded = skeleton(record_id)
        other = self._skeletons.get((given.label, folded)) or self._index.lookalike(
            self._tenant, given.label, record_id, folded
        )
        if other is not None and other != record_id:
            return Refused(
                Reason.POLICY_RULE, f'{path}: looks like the record id "{other}" of the same source; use that one'
            )
        return None

    def _content(self, given: RecordInput) -> Refused | None:
        known, path = self._records.get(given.ref), given.path
        if self._kinds.get(given.ref.record_id, given.kind) is not given.kind:
            what = self._kinds[given.ref.record_id].short
            return Refused(
                Reason.CONTENT_MISMATCH, f"{path}.record_id: is that of a record of kind {what}, and stays it"
            )
        if known is None:
            return self._buried(given)
        if self._standing.revoke_of(known) is not None:
            return Refused(Reason.TOMBSTONED, f"{path}: the version's retention is revoked; it cannot be put again")
        if known.digest != given.digest:
            return Refused(
                Reason.CONTENT_MISMATCH, f"{path}.digest: the version has another one; give new content a new version"
            )
        for name, mine, theirs in _fixed(given, known):
            if mine != theirs:
                return Refused(Reason.CONTENT_MISMATCH, f"{path}.{name}: the version has another; give a new version")
        return None

    def _buried(self, given: RecordInput) -> Refused | None:
        """Refuses what was revoked, however it comes back; a version that is there is not touched."""
        for stone in self._tombstones:
            path, why = _matches(stone, given)
            if path:
                hint = f"tombstone {stone.tombstone_id}; an operator may lift it"
                return Refused(Reason.TOMBSTONED, f"{given.path}.{path}: {why} ({hint})")
        return None

    def _origins(self, given: RecordInput) -> Refused | None:
        if given.supersedes is not None and given.supersedes not in self._records:
            return Refused(Reason.DOCUMENT_UNKNOWN, f"{given.path}.supersedes_version: the record has no such version")
        for field, refs in (("of", given.of), ("inputs", given.inputs)):
            for index, ref in enumerate(refs):
                refused = self._origin(f"{given.path}.{field}[{index}]", ref, documents_only=field == "of")
                if refused is not None:
                    return refused
        if len(self._roots(given)) > ROOTS_MAX:
            return Refused(Reason.COST_EXCEEDED, f"{given.path}: rests on more than {ROOTS_MAX} records")
        return None

    def _origin(self, path: str, ref: Ref, *, documents_only: bool) -> Refused | None:
        record = self._records.get(ref)
        if record is None:
            return Refused(Reason.DOCUMENT_UNKNOWN, f"{path}: the index holds no such version; register it first")
        if self._standing.revoke_of(record) is not None:
            return Refused(
                Reason.TOMBSTONED, f"{path}: its retention is revoked; nothing can be taken from it any more"
            )
        if not self._revoked_roots.isdisjoint(record.roots):
            return Refused(Reason.TOMBSTONED, f"{path}: what it was made from is revoked; it falls with that")
        if documents_only and record.kind is not RecordKind.DOCUMENT:
            return Refused(
                Reason.DOCUMENT_UNKNOWN,
                f"{path}: is evidence; of names documents, inputs name what a figure was made from",
            )
        return None


def _duty(given: RecordInput, source: Source | None) -> Refused | None:
    """Refuses what the source's duty does not take: model output under a data channel, above all."""
    if source is None or given.origin in TAKES[source.duty]:
        return None
    taken = " and ".join(sorted(origin.short for origin in TAKES[source.duty]))
    what = "documents and what was collected from them" if given.kind is RecordKind.DOCUMENT else given.origin.short
    message = f"{given.path}.source_label: a source of duty {source.duty.short} takes {taken}, not {what}"
    return Refused(Reason.COLLECTOR_NOT_ENTITLED, message)


def _fixed(given: RecordInput, known: RecordFacts) -> list[tuple[str, object, object]]:
    return [
        ("source_label", given.label, known.source_label),
        ("origin", given.origin, known.origin),
        ("own_source", given.own_source, known.own_source),
        ("of", given.of, known.of),
        ("fields", _canonical(given.fields), _canonical(known.fields)),
        ("formula", given.formula, known.formula),
        ("inputs", given.inputs, known.inputs),
    ]


def _left(given: RecordInput, known: RecordFacts) -> str:
    """Says which of an input's values were not taken, since an operator decided otherwise."""
    differs = {
        "scopes": set(given.scopes) != set(known.scopes),
        "assessment": given.assessment_expires_at != known.assessment_expires_at,
    }
    names = [name for name in known.settled if differs.get(name)]
    return f"{' and '.join(names)} left as an operator set {'it' if len(names) == 1 else 'them'}" if names else ""


def _same(one: RecordFacts, other: RecordFacts) -> bool:
    """True where a new revision would say nothing new."""
    return _said(one) == _said(other)


def _said(record: RecordFacts) -> tuple[object, ...]:
    return (
        record.as_of,
        record.basis,
        record.scopes,
        _canonical(record.attributes),
        record.assessment_expires_at,
        record.superseded_by,
    )


def _canonical(values: Mapping[str, object]) -> str:
    """Text in which 1, 1.0 and true differ."""
    return json.dumps(values, sort_keys=True, ensure_ascii=True, separators=(",", ":"))


def _matches(stone: TombstoneRow, given: RecordInput) -> tuple[str, str]:
    """Which field of the input a tombstone refuses, and why; empty where it does not."""
    name = f'"{stone.ref.record_id}" version "{stone.ref.version}"'
    if stone.kind is TombstoneKind.DIGEST and stone.digest == given.digest:
        return "digest", f"this content was revoked for good as {name}"
    if stone.kind is TombstoneKind.RECORD and stone.ref.record_id == given.ref.record_id:
        return "record_id", "all versions of the record were revoked for good"
    if stone.kind is TombstoneKind.SOURCE and stone.label == given.label:
        return "source_label", "the source was revoked for good"
    return "", ""
