"""Documents and evidence as collectors send them, checked field by field.

Nothing here looks at the index or at the policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from discreet.policy.codec import Malformed
from discreet.policy.codec.values import attributes_of
from discreet.policy.facts import Micros, Ref
from discreet.policy.words import Origin, RecordKind
from discreet.server.servicers import fields
from discreet.v1 import index_pb2 as pb

ATTRIBUTES_MAX = 64
FIELDS_MAX = 256
FORMULA_BYTES_MAX = 1_024


@dataclass(frozen=True, slots=True)
class RecordInput:
    """A record version to be registered. `path` is its place in the message."""

    path: str
    ref: Ref
    kind: RecordKind
    digest: str
    label: str
    as_of: Micros | None
    basis: str
    scopes: tuple[str, ...]
    attributes: Mapping[str, object]
    assessment_expires_at: Micros | None
    supersedes: Ref | None
    origin: Origin = Origin.COLLECTED
    own_source: bool = False
    of: tuple[Ref, ...] = ()
    fields: Mapping[str, object] = field(default_factory=dict)
    formula: str = ""
    inputs: tuple[Ref, ...] = ()

    @property
    def rests_on(self) -> tuple[Ref, ...]:
        """What it names as its origins."""
        return tuple(dict.fromkeys((*self.of, *self.inputs)))


def documents(request: pb.PutDocumentsRequest) -> tuple[RecordInput, ...]:
    """The documents of a call. Raises Malformed."""
    fields.count("documents", len(request.documents), 1, fields.BATCH_MAX)
    found = tuple(_document(one, f"documents[{i}]") for i, one in enumerate(request.documents))
    fields.distinct("documents", (one.ref for one in found))
    return found


def evidence(request: pb.RegisterEvidenceRequest) -> tuple[RecordInput, ...]:
    """The pieces of evidence of a call. Raises Malformed."""
    fields.count("evidence", len(request.evidence), 1, fields.BATCH_MAX)
    found = tuple(_evidence(one, f"evidence[{i}]") for i, one in enumerate(request.evidence))
    fields.distinct("evidence", (one.ref for one in found))
    return found


def _document(given: pb.DocumentInput, path: str) -> RecordInput:
    return RecordInput(
        path=path,
        ref=_ref(given, path),
        kind=RecordKind.DOCUMENT,
        digest=fields.digest(given.digest, f"{path}.digest"),
        label=fields.label(given.source_label, f"{path}.source_label"),
        as_of=fields.optional_time(given, "as_of", f"{path}.as_of"),
        basis=fields.optional_text(given.basis, f"{path}.basis", fields.BASIS_BYTES_MAX),
        scopes=fields.scopes(given.scopes, f"{path}.scopes"),
        attributes=attributes_of(given.attributes, f"{path}.attributes", ATTRIBUTES_MAX),
        assessment_expires_at=fields.optional_time(given, "assessment_expires_at", f"{path}.assessment_expires_at"),
        supersedes=_supersedes(given, path),
    )


def _evidence(given: pb.EvidenceInput, path: str) -> RecordInput:
    found = RecordInput(
        path=path,
        ref=_ref(given, path),
        kind=RecordKind.EVIDENCE,
        digest=fields.digest(given.digest, f"{path}.digest"),
        label=fields.label(given.source_label, f"{path}.source_label"),
        as_of=fields.optional_time(given, "as_of", f"{path}.as_of"),
        basis=fields.optional_text(given.basis, f"{path}.basis", fields.BASIS_BYTES_MAX),
        scopes=fields.scopes(given.scopes, f"{path}.scopes"),
        attributes=attributes_of(given.attributes, f"{path}.attributes", ATTRIBUTES_MAX),
        assessment_expires_at=fields.optional_time(given, "assessment_expires_at", f"{path}.assessment_expires_at"),
        supersedes=_supersedes(given, path),
        origin=_origin(given.origin, f"{path}.origin"),
        own_source=given.own_source,
        of=fields.refs(given.of, f"{path}.of"),
        fields=attributes_of(given.fields, f"{path}.fields", FIELDS_MAX),
        formula=fields.optional_text(given.formula, f"{path}.formula", FORMULA_BYTES_MAX),
        inputs=fields.refs(given.inputs, f"{path}.inputs"),
    )
    _check_origin(found)
    return found


def _ref(given: pb.DocumentInput | pb.EvidenceInput, path: str) -> Ref:
    return Ref(fields.record_id(given.record_id, f"{path}.record_id"), fields.version(given.version, f"{path}.version"))


def _supersedes(given: pb.DocumentInput | pb.EvidenceInput, path: str) -> Ref | None:
    if not given.supersedes_version:
        return None
    version = fields.version(given.supersedes_version, f"{path}.supersedes_version")
    if version == given.version:
        raise Malformed(f"{path}.supersedes_version", "is the version itself", "name the earlier one, or leave it out")
    return Ref(given.record_id, version)


def _origin(number: int, path: str) -> Origin:
    choices = ", ".join(origin.short for origin in Origin)
    if number == 0:
        raise Malformed(path, "is missing", f"give one of {choices}")
    try:
        return Origin(number)
    except ValueError:
        raise Malformed(path, "is a number without a meaning here", f"give one of {choices}") from None


def _check_origin(given: RecordInput) -> None:
    """What each way of coming about has to name, so that it falls with what it was made from (A19)."""
    path = given.path
    if given.own_source and given.of:
        raise Malformed(f"{path}.of", "cannot be given with own_source", "a source of its own was taken from nothing")
    if given.origin is Origin.DERIVED:
        if not given.inputs:
            raise Malformed(f"{path}.inputs", "has 0 entries", "a DERIVED figure names what it was computed from")
        if not given.formula:
            raise Malformed(f"{path}.formula", "is empty", "a DERIVED figure says how it was computed")
    elif given.inputs or given.formula:
        wrong = "inputs" if given.inputs else "formula"
        raise Malformed(f"{path}.{wrong}", "cannot be given here", "only a DERIVED figure has it")
    if given.own_source and given.origin is not Origin.COLLECTED:
        raise Malformed(
            f"{path}.own_source", "cannot be true here", "only COLLECTED evidence can be a source of its own"
        )
    if given.origin is not Origin.DERIVED and not given.own_source and not given.of:
        raise Malformed(f"{path}.of", "has 0 entries", "name what it was taken from, or set own_source")
    if given.ref in given.rests_on:
        raise Malformed(f"{path}.of", "names the record itself", "name what it was taken from")
