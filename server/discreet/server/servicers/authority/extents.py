"""What a retention revoke is asked to take, checked field by field. Nothing here looks at the index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from discreet.policy.codec import Malformed
from discreet.policy.codec.values import attributes_of, stamp_of
from discreet.policy.facts import Ref
from discreet.policy.idents import EXACT_BYTES_MAX, SHORT_BYTES_MAX, text_problem
from discreet.server.ports_authority import RecordQuery
from discreet.server.servicers import fields
from discreet.v1 import index_pb2 as pb

VERSIONS_MAX = 10_000
"""Versions that a call revokes at most; a source, which is revoked as one fact, may have more."""
QUERY_ATTRIBUTES_MAX = 16


@dataclass(frozen=True, slots=True)
class Extent:
    """What is to be revoked: one of refs, record_id, label and query is set. `paths`: where each ref stands."""

    refs: tuple[Ref, ...] = ()
    paths: tuple[str, ...] = ()
    record_id: str = ""
    label: str = ""
    query: RecordQuery | None = None

    def words(self) -> str:
        """What it is, in one line."""
        if self.label:
            return f"source {self.label}"
        if self.record_id:
            return f"all versions of {self.record_id}"
        if self.query is not None:
            return f"records with {', '.join(_said(self.query))}"
        if len(self.refs) == 1:
            return f"{self.refs[0].record_id} version {self.refs[0].version}"
        return f"a list of {len(self.refs)} versions"


def extent_of(request: pb.RevokeRetentionRequest) -> Extent:
    """The one extent that a request gives. Raises Malformed."""
    other = request.WhichOneof("extent")
    if request.HasField("record"):
        if other is not None:
            raise Malformed(other, "stands beside record", "give exactly one extent")
        return Extent((fields.ref(request, "record"),), ("record",))
    if other == "all_versions_of":
        return Extent(record_id=fields.record_id(request.all_versions_of, other))
    if other == "source_label":
        return Extent(label=fields.label(request.source_label, other))
    if other == "query":
        return Extent(query=_query(request.query))
    if other == "records":
        return _listed(request.records)
    hint = "name a record by record_id and version, or give all_versions_of, source_label, query or records"
    raise Malformed("record", "is missing", hint)


def _listed(given: pb.RecordRefs) -> Extent:
    path = "records.records"
    fields.count(path, len(given.records), 1, VERSIONS_MAX)
    paths = tuple(f"{path}[{index}]" for index in range(len(given.records)))
    refs = tuple(fields.ref_of(one, paths[index]) for index, one in enumerate(given.records))
    fields.distinct(path, refs)
    return Extent(refs, paths)


def _query(given: pb.RecordQuery) -> RecordQuery:
    found = RecordQuery(
        label=fields.label(given.source_label, "query.source_label") if given.source_label else "",
        id_prefix=fields.optional_text(given.record_id_prefix, "query.record_id_prefix", EXACT_BYTES_MAX),
        scope=fields.scope(given.scope, "query.scope") if given.scope else "",
        collector=fields.optional_text(given.collector, "query.collector", SHORT_BYTES_MAX),
        as_of_before=fields.optional_time(given, "as_of_before", "query.as_of_before"),
        attributes=attributes_of(given.attributes, "query.attributes", QUERY_ATTRIBUTES_MAX) or None,
    )
    if found == RecordQuery():
        raise Malformed("query", "asks for nothing", "give at least one field, so that not everything is revoked")
    return found


def _said(query: RecordQuery) -> Iterator[str]:
    if query.label:
        yield f"label {query.label}"
    if query.id_prefix:
        yield f"id prefix {query.id_prefix}"
    if query.scope:
        yield f"scope {query.scope}"
    if query.collector:
        yield f"collector {query.collector}"
    if query.as_of_before is not None:
        yield f"as_of before {stamp_of(query.as_of_before).ToJsonString()}"
    if query.attributes:
        yield f"attributes {' '.join(sorted(query.attributes))}"


def ticket(text: str) -> str:
    """The ticket that asked for it."""
    fields.check(text_problem(text, SHORT_BYTES_MAX), "ticket", "name the ticket that asked for it")
    return text
