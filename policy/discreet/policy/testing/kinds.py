"""The kind PolicyTest as pydantic models: records, grants and cases, each field as the index and a request know it.

Little is filled in for the author: a record without scopes is for nobody and one without an assessment is not assessed,
as in the index. Only what carries no meaning has a default: digests, the collector, the time of registration.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from discreet.policy.model.fields import (
    CallerName,
    FixedDuration,
    GroundingWord,
    Label,
    MomentWord,
    SegmentKind,
    Time,
    Title,
    word_of,
    wrong,
)
from discreet.policy.model.kinds import Kind, Strict
from discreet.policy.problems import Code
from discreet.policy.testing.expectations import ExpectItem, Nevers
from discreet.policy.testing.scalars import Digest, Exact, Short, Values, named, of_record, record_named
from discreet.policy.words import Grounding, Origin, RecordKind


class RefItem(Strict):
    """A record version."""

    record_id: Exact = Field(alias="record-id")
    version: Short


class NamedItem(Strict):
    """A record version of the test; in short the record's id alone, which means its current version."""

    record_id: Exact = Field(alias="record-id")
    version: Short | None = None


RecordName = Annotated[NamedItem, BeforeValidator(record_named)]


class RevokedItem(Strict):
    """A retention revoke; `purge-not-before` left out: due at once."""

    at: Time
    purge_not_before: Time | None = Field(None, alias="purge-not-before")


class RecordItem(RefItem):
    """A record version as the index holds it."""

    kind: Annotated[RecordKind, BeforeValidator(word_of(RecordKind, "kind of record"))] = RecordKind.DOCUMENT
    source_label: Label = Field(alias="source-label")
    digest: Digest | None = None
    collector: CallerName | None = None
    recorded_at: Time | None = Field(None, alias="recorded-at")
    as_of: Time | None = Field(None, alias="as-of")
    basis: str = ""
    scopes: tuple[Exact, ...] = ()
    attributes: Values = Field(default_factory=dict)
    assessment_expires_at: Time | None = Field(None, alias="assessment-expires-at")
    current: bool = True
    superseded_by: RefItem | None = Field(None, alias="superseded-by")
    suspended: bool = False
    suspended_until: Time | None = Field(None, alias="suspended-until")
    unreachable: bool = False
    revoked: RevokedItem | None = None
    origin: Annotated[Origin, BeforeValidator(word_of(Origin, "origin"))] = Origin.COLLECTED
    own_source: bool = Field(False, alias="own-source")
    of: tuple[RefItem, ...] = ()
    fields_: Values = Field(default_factory=dict, alias="fields")
    formula: str = ""
    inputs: tuple[RefItem, ...] = ()


class HeldItem(Strict):
    """What is under a legal hold: a record (without a version: all versions) or a source; in short a record's id."""

    record: RecordName | None = None
    source: Label | None = None
    name: Title | None = Field(None, alias="as")

    @property
    def called(self) -> str:
        """The name that it has in later steps."""
        return self.name or self.source or (self.record.record_id if self.record is not None else "")

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if (self.record is None) == (self.source is None):
            raise wrong("a hold is on a record or on a source", "name one of the two")
        return self


class FrozenItem(Strict):
    """A freeze that stands; without a source it is of everything."""

    source: Label | None = None
    until: Time


class RevokedSourceItem(Strict):
    """A source whose retention is revoked; `purge-not-before` left out: due at once."""

    source: Label
    at: Time
    purge_not_before: Time | None = Field(None, alias="purge-not-before")


class GrantItem(Strict):
    """A scope that a principal was given."""

    principal: Exact
    scope: Exact
    not_before: Time | None = Field(None, alias="not-before")
    expires_at: Time | None = Field(None, alias="expires-at")


class PrincipalItem(Strict):
    """The end user with what the caller claims of it; in short its id alone."""

    id: Exact
    claimed_scopes: tuple[Exact, ...] = Field((), alias="claimed-scopes")
    attributes: Values = Field(default_factory=dict)


Whose = Annotated[PrincipalItem, BeforeValidator(named)]


class BoundItem(NamedItem):
    """A binding of a segment. What it claims is compared with the record, never believed."""

    digest: Digest | None = None
    locator: str = ""
    claimed_label: str = Field("", alias="claimed-label")
    claimed_as_of: Time | None = Field(None, alias="claimed-as-of")
    claimed_basis: str = Field("", alias="claimed-basis")
    unregistered: bool = False
    """That the test does not hold the record is meant."""


class BindingItem(BoundItem):
    """A binding of a case's segment. `retrieved`: with the receipt and token of a RETRIEVE in the session.

    `without-receipt`: with the token of the present state alone.
    """

    retrieved: Literal["now", "under-earlier-policy", "before-grants-changed", "without-receipt"] | None = None


class PeriodItem(Strict):
    """A period; both ends belong to it."""

    start: Time
    end: Time


class ClaimItem(Strict):
    """What the segment asserts."""

    basis: str = ""
    about: PeriodItem | None = None
    required_fields: tuple[str, ...] = Field((), alias="required-fields")


class QuestionItem(Strict):
    """What cases and steps say of a question alike, and what its decision must be and must never be."""

    locale: Literal["en", "zh-Hans"] = "en"
    need_numbers: bool = Field(False, alias="need-numbers")
    need_advice: bool = Field(False, alias="need-advice")
    kind: SegmentKind = "answer"
    grounding: GroundingWord = Grounding.BOUND
    claim: ClaimItem | None = None
    policy_age: FixedDuration | None = Field(None, alias="policy-age")
    expect: ExpectItem | None = None
    never: Nevers = ()


class CaseItem(QuestionItem):
    """One decision and what it must be. At REPLAY and EXPORT the segment is one released to the principal before."""

    name: Title
    moment: MomentWord
    principal: Whose
    caller: CallerName = "agent"
    session: Short = "session-1"
    now: Time | None = None
    bindings: tuple[Annotated[BindingItem, BeforeValidator(record_named)], ...] = ()

    @model_validator(mode="after")
    def _unbound_rests_on_nothing(self) -> Self:
        if self.grounding is Grounding.UNBOUND and self.bindings:
            raise wrong("an UNBOUND segment has no bindings", "leave them out", path=("bindings",))
        return self

    @model_validator(mode="after")
    def _expects(self) -> Self:
        if self.expect is None and not self.never:
            hint = "say what must come of it, or with `never` what must not"
            raise wrong('the key "expect" is missing', hint, Code.MISSING_KEY)
        return self


class PolicyTest(Kind):
    """A file of tests: one state of the index, one clock, and the cases to decide.

    Where `principals` are declared, cases name them, and no others. A test without an environment is run in each that
    the set declares. `cases` are CaseItem, with or without a matrix; `sequences` are SequenceItem.
    """

    now: Time
    tenant: Label = "test"
    environment: Label | None = None
    records: tuple[RecordItem, ...] = ()
    holds: tuple[Annotated[HeldItem, BeforeValidator(of_record)], ...] = ()
    freezes: tuple[FrozenItem, ...] = ()
    revoked_sources: tuple[RevokedSourceItem, ...] = Field((), alias="revoked-sources")
    grants: tuple[GrantItem, ...] = ()
    principals: tuple[PrincipalItem, ...] = ()
    cases: tuple[object, ...] = ()
    sequences: tuple[object, ...] = ()
