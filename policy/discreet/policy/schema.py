"""What conditions may read: the declared activation, and the values that a decision puts into it.

Rules for BOUND segments see request, principal, segment, now, and, for one record at a time, document, source and
binding. Rules for UNBOUND segments see no record, so naming one is an error when the policy is loaded. Everything here
comes from the index, the policy or the parsed request; `principal.attributes` and `principal.claimed_scopes` are the
caller's word.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple, Self

from discreet.policy import cel
from discreet.policy.cel import BOOL, DURATION, MAP_DYN, STRING, TIMESTAMP, Duration, Record, Schema, Timestamp
from discreet.policy.facts import Attributes, Micros, RecordFacts
from discreet.policy.request import Claim, Request, Segment
from discreet.policy.snapshot import Source
from discreet.policy.subject import Call, Root, Subject
from discreet.policy.words import Grounding

Declared = cel.Type | Record | cel.Optional

_TEXTS: Final = cel.list_of(STRING)

REQUEST: Final = Record(
    {
        "moment": STRING,
        "tenant": STRING,
        "session_id": STRING,
        "locale": STRING,
        "need_numbers": BOOL,
        "need_advice": BOOL,
    }
)
PRINCIPAL: Final = Record({"id": STRING, "scopes": _TEXTS, "attributes": MAP_DYN, "claimed_scopes": _TEXTS})
CLAIM: Final = Record(
    {
        "basis": STRING,
        "about_start": cel.optional(TIMESTAMP),
        "about_end": cel.optional(TIMESTAMP),
        "required_fields": _TEXTS,
    }
)
SEGMENT: Final = Record(
    {
        "id": STRING,
        "kind": STRING,
        "grounding": STRING,
        "need_numbers": BOOL,
        "need_advice": BOOL,
        "claim": cel.optional(CLAIM),
    }
)
DOCUMENT: Final = Record(
    {
        "record_id": STRING,
        "version": STRING,
        "kind": STRING,
        "as_of": cel.optional(TIMESTAMP),
        "basis": STRING,
        "scopes": _TEXTS,
        "attributes": MAP_DYN,
        "fields": MAP_DYN,
        "assessment_expires_at": cel.optional(TIMESTAMP),
        "recorded_at": TIMESTAMP,
        "collector": STRING,
        "origin": STRING,
        "current": BOOL,
        "suspended": BOOL,
        "unreachable": BOOL,
        "superseded": BOOL,
    }
)
SOURCE: Final = Record(
    {"label": STRING, "title": STRING, "duty": STRING, "listed": BOOL, "max_age": cel.optional(DURATION)}
)
BINDING: Final = Record({"record_id": STRING, "version": STRING, "locator": cel.optional(STRING)})

_ALWAYS: Final[dict[str, Declared]] = {"request": REQUEST, "principal": PRINCIPAL, "segment": SEGMENT, "now": TIMESTAMP}
UNBOUND: Final = Schema(_ALWAYS)
BOUND: Final = Schema({**_ALWAYS, "document": DOCUMENT, "source": SOURCE, "binding": BINDING})


def schema_for(grounding: Grounding) -> Schema:
    """Returns what a rule for segments of a grounding may read."""
    return BOUND if grounding is Grounding.BOUND else UNBOUND


def timestamp(us: Micros | None) -> Timestamp | None:
    """Returns a time of the facts as a condition sees it."""
    return None if us is None else Timestamp(us * 1000)


class RequestView(NamedTuple):
    """`request`."""

    moment: str
    tenant: str
    session_id: str
    locale: str
    need_numbers: bool
    need_advice: bool

    @classmethod
    def of(cls, request: Request) -> Self:
        """Returns the view of a request."""
        return cls(
            request.moment.short,
            request.tenant,
            request.session_id,
            request.locale,
            request.need_numbers,
            request.need_advice,
        )


class PrincipalView(NamedTuple):
    """`principal`. `scopes` are those that count; the other lists are the caller's word."""

    id: str
    scopes: frozenset[str]
    attributes: Attributes
    claimed_scopes: tuple[str, ...]


class ClaimView(NamedTuple):
    """`segment.claim`."""

    basis: str
    about_start: Timestamp | None
    about_end: Timestamp | None
    required_fields: tuple[str, ...]

    @classmethod
    def of(cls, claim: Claim | None) -> Self | None:
        """Returns the view of a claim, or None where none was made."""
        if claim is None:
            return None
        start, end = claim.about if claim.about is not None else (None, None)
        return cls(claim.basis, timestamp(start), timestamp(end), claim.required_fields)


class SegmentView(NamedTuple):
    """`segment`. At REPLAY and EXPORT the needs are those that it was committed with."""

    id: str
    kind: str
    grounding: str
    need_numbers: bool
    need_advice: bool
    claim: ClaimView | None

    @classmethod
    def of(cls, segment: Segment, *, need_numbers: bool, need_advice: bool) -> Self:
        """Returns the view of a segment."""
        claim = ClaimView.of(segment.claim)
        return cls(segment.id, segment.kind, segment.grounding.short, need_numbers, need_advice, claim)


class DocumentView(NamedTuple):
    """`document`: the record in question, a document or a piece of evidence."""

    record_id: str
    version: str
    kind: str
    as_of: Timestamp | None
    basis: str
    scopes: tuple[str, ...]
    attributes: Attributes
    fields: Attributes
    assessment_expires_at: Timestamp | None
    recorded_at: Timestamp | None
    collector: str
    origin: str
    current: bool
    suspended: bool
    unreachable: bool
    superseded: bool

    @classmethod
    def of(cls, record: RecordFacts, now: Micros) -> Self:
        """Returns the view of a record as it is now."""
        return cls(
            record.record_id,
            record.version,
            record.kind.short,
            timestamp(record.as_of),
            record.basis,
            record.scopes,
            record.attributes,
            record.fields,
            timestamp(record.assessment_expires_at),
            timestamp(record.recorded_at),
            record.collector,
            record.origin.short,
            record.current,
            record.suspended_at(now),
            record.unreachable,
            record.superseded_by is not None,
        )


class SourceView(NamedTuple):
    """`source`: the declared source of the record."""

    label: str
    title: str
    duty: str
    listed: bool
    max_age: Duration | None

    @classmethod
    def of(cls, source: Source) -> Self:
        """Returns the view of a source."""
        age = None if source.max_age_us is None else Duration(source.max_age_us * 1000)
        return cls(source.label, source.title, source.duty.short, source.listed, age)


class BindingView(NamedTuple):
    """`binding`: how the segment names the record; what it claims of it is compared by the gates and not shown here."""

    record_id: str
    version: str
    locator: str | None

    @classmethod
    def of(cls, root: Root) -> Self:
        """Returns the view of how a record is bound; what stands behind a bound record has no locator."""
        locator = root.binding.locator if root.binding is not None else None
        return cls(root.ref.record_id, root.ref.version, locator)


def unbound_activation(subject: Subject) -> dict[str, object]:
    """Returns what the rules for an UNBOUND segment are evaluated on; what a call's segments share is made once."""
    call = subject.call
    if not call.activation:
        call.activation.update(_call_activation(call))
    segment = SegmentView.of(subject.segment, need_numbers=subject.need_numbers, need_advice=subject.need_advice)
    return {**call.activation, "segment": segment}


def _call_activation(call: Call) -> dict[str, object]:
    principal = call.request.principal
    scopes = frozenset(call.reader.held)
    return {
        "request": RequestView.of(call.request),
        "principal": PrincipalView(principal.id, scopes, principal.attributes, principal.claimed_scopes),
        "now": timestamp(call.now),
    }


def bound_activation(shared: Mapping[str, object], root: Root, now: Micros) -> dict[str, object]:
    """Returns what the rules for a BOUND segment are evaluated on, for one record that it rests on.

    `shared` is what `unbound_activation` gave for the segment. What is unknown (an undeclared source, an absent
    record) is absent: a condition that reads it errs, and an error withholds.
    """
    return {
        **shared,
        "document": None if root.record is None else DocumentView.of(root.record, now),
        "source": None if root.source is None else SourceView.of(root.source),
        "binding": BindingView.of(root),
    }
