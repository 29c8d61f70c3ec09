"""The kind PolicyTest as pydantic models: records, grants and cases, each field as the index and a request know it.

Little is filled in for the author: a record without scopes is for nobody and one without an assessment is not assessed,
as in the index. Only what carries no meaning has a default: digests, the collector, the time of registration.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from discreet.policy.cel import EvaluationError, Timestamp
from discreet.policy.idents import EXACT_BYTES_MAX, digest_problem, exact_problem, name_problem, text_problem
from discreet.policy.model.fields import (
    CallerName,
    Duration,
    GroundingWord,
    Label,
    MomentWord,
    SegmentKind,
    Title,
    kind_name,
    word_of,
    wrong,
)
from discreet.policy.model.kinds import Kind, Strict
from discreet.policy.problems import Code, quoted
from discreet.policy.words import Gate, Grounding, Next, Origin, Reason, RecordKind, Verdict

VERSION_BYTES_MAX = 128
INT64 = range(-(2**63), 2**63)


def _exact(text: str) -> str:
    found = exact_problem(text, EXACT_BYTES_MAX)
    if found:
        raise wrong(f"{quoted(text)} {found}")
    return text


def _short(text: str) -> str:
    found = text_problem(text, VERSION_BYTES_MAX)
    if found:
        raise wrong(f"{quoted(text)} {found}")
    return text


def _digest(text: str) -> str:
    found = digest_problem(text)
    if found:
        raise wrong(f"the digest {found}")
    return text


def _time(value: object) -> int:
    if not isinstance(value, str):
        raise wrong(f"must be a time, not {kind_name(value)}", "write for example 2026-01-05T09:00:00Z")
    try:
        return Timestamp.from_text(value).ns // 1000
    except EvaluationError:
        hint = "write date, time and offset, for example 2026-01-05T09:00:00Z"
        raise wrong(f"{quoted(value)} is no time", hint) from None


def _values(given: dict[str, object]) -> dict[str, object]:
    for name, value in given.items():
        found = name_problem(name)
        if found:
            raise wrong(f"the name {quoted(name)} {found}")
        _finite(name, value)
    return given


def _finite(name: str, value: object) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(f"{name} is not a finite number", path=(name,))
    if isinstance(value, int) and not isinstance(value, bool) and value not in INT64:
        raise wrong(f"{name} is no 64-bit integer", "quote it if it is text", path=(name,))
    if isinstance(value, tuple):
        for item in value:
            _finite(name, item)
    if isinstance(value, dict):
        for below in value.values():
            _finite(name, below)


def _whose(value: object) -> object:
    return {"id": value} if isinstance(value, str) else value


Exact = Annotated[str, AfterValidator(_exact)]
Short = Annotated[str, AfterValidator(_short)]
Digest = Annotated[str, AfterValidator(_digest)]
Time = Annotated[int, BeforeValidator(_time)]
Values = Annotated[dict[str, object], AfterValidator(_values)]


class RefItem(Strict):
    """A record version."""

    record_id: Exact = Field(alias="record-id")
    version: Short


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
    unreachable: bool = False
    revoked: RevokedItem | None = None
    origin: Annotated[Origin, BeforeValidator(word_of(Origin, "origin"))] = Origin.COLLECTED
    own_source: bool = Field(False, alias="own-source")
    of: tuple[RefItem, ...] = ()
    fields_: Values = Field(default_factory=dict, alias="fields")
    formula: str = ""
    inputs: tuple[RefItem, ...] = ()


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


class BindingItem(RefItem):
    """A binding of the case's segment. `retrieved`: with the receipt and token of a RETRIEVE in the session."""

    digest: Digest | None = None
    locator: str = ""
    retrieved: Literal["now", "under-earlier-policy", "before-grants-changed"] | None = None
    claimed_label: str = Field("", alias="claimed-label")
    claimed_as_of: Time | None = Field(None, alias="claimed-as-of")
    claimed_basis: str = Field("", alias="claimed-basis")


class PeriodItem(Strict):
    """A period; both ends belong to it."""

    start: Time
    end: Time


class ClaimItem(Strict):
    """What the segment asserts."""

    basis: str = ""
    about: PeriodItem | None = None
    required_fields: tuple[str, ...] = Field((), alias="required-fields")


class ExpectItem(Strict):
    """What the decision must be. WITHHOLD and PURGE need a reason, or any mistake would do."""

    verdict: Annotated[Verdict, BeforeValidator(word_of(Verdict, "verdict"))]
    reason: Annotated[Reason, BeforeValidator(word_of(Reason, "reason"))] | None = None
    rule: str | None = None
    custom_reason: str | None = Field(None, alias="custom-reason")
    gate: Annotated[Gate, BeforeValidator(word_of(Gate, "gate"))] | None = None
    text: str | None = None
    next: Annotated[Next, BeforeValidator(word_of(Next, "next"))] | None = None

    @model_validator(mode="after")
    def _reasoned(self) -> Self:
        if self.verdict is not Verdict.ALLOW and self.reason is None:
            hint = "say why, for example reason: POLICY_RULE"
            raise wrong(f"an expected {self.verdict.name} needs a reason", hint, Code.MISSING_KEY)
        if self.verdict is Verdict.ALLOW and self.reason not in {None, Reason.NONE}:
            raise wrong("an expected ALLOW has no reason", "leave it out", path=("reason",))
        return self


class CaseItem(Strict):
    """One decision and what it must be. At REPLAY the segment is one that was released to the principal before."""

    name: Title
    moment: MomentWord
    principal: Annotated[PrincipalItem, BeforeValidator(_whose)]
    caller: CallerName = "agent"
    session: Short = "session-1"
    locale: Literal["en", "zh-Hans"] = "en"
    need_numbers: bool = Field(False, alias="need-numbers")
    need_advice: bool = Field(False, alias="need-advice")
    kind: SegmentKind = "answer"
    grounding: GroundingWord = Grounding.BOUND
    bindings: tuple[BindingItem, ...] = ()
    claim: ClaimItem | None = None
    now: Time | None = None
    policy_age: Duration | None = Field(None, alias="policy-age")
    expect: ExpectItem

    @model_validator(mode="after")
    def _unbound_rests_on_nothing(self) -> Self:
        if self.grounding is Grounding.UNBOUND and self.bindings:
            raise wrong("an UNBOUND segment has no bindings", "leave them out", path=("bindings",))
        return self


class PolicyTest(Kind):
    """A file of tests: one state of the index, one clock, and the cases to decide."""

    now: Time
    tenant: Label = "test"
    records: tuple[RecordItem, ...] = ()
    grants: tuple[GrantItem, ...] = ()
    cases: tuple[object, ...]
