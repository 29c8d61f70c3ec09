"""The kinds of documents that a policy set is made of, as pydantic models: strict, and closed to unknown keys.

Lists whose items are judged one by one (sources, rules) are `object`s here: their items have models of their own, so
that one bad item hides no other. Cross-file rules are not known here.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from discreet.policy.model.fields import (
    Age,
    AttributeNames,
    AuditWord,
    CallerNames,
    Condition,
    Count,
    CustomReason,
    Duration,
    DutyWord,
    EffectWord,
    Flag,
    GroundingWord,
    Label,
    Labels,
    Moments,
    RuleId,
    SegmentKinds,
    SpanOrNever,
    TextId,
    Time,
    Title,
    between,
    between_or_never,
    wrong,
)
from discreet.policy.problems import Code
from discreet.policy.words import AuditMode, Duty, Effect, Grounding, Moment

API_VERSION = "discreet/v1"


class Strict(BaseModel):
    """A mapping of a policy file: no coercion, no unknown key. Keys without a value are refused by the loader."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Kind(Strict):
    """What every document says first."""

    api_version: Literal["discreet/v1"] = Field(alias="apiVersion")
    kind: str
    name: Label
    description: Title = ""


class Audit(Strict):
    """Whether the audit rows of a Check must be durable before its answer leaves, and what no row may hold."""

    checks: AuditWord = AuditMode.REQUIRED
    mask: AttributeNames = ()


class PolicySet(Kind):
    """`discreet.yaml`: what holds for the whole set."""

    audit: Audit = Audit()
    policy_max_age: Age = Field(default=None, alias="policy-max-age")
    read_max_staleness: Annotated[Age, AfterValidator(between_or_never("100ms", "1m"))] = Field(
        default=None, alias="read-max-staleness"
    )
    use_within: Annotated[Duration, AfterValidator(between("50ms", "1m"))] = Field(2_000_000, alias="use-within")
    store_within: Annotated[Duration, AfterValidator(between("1s", "7d"))] = Field(600_000_000, alias="store-within")
    parameters: dict[str, object] = Field(default_factory=dict)


class Environment(Kind):
    """The values of the set's parameters where it is served under this name."""

    parameters: dict[str, object] = Field(default_factory=dict)


class Definitions(Kind):
    """Constants and named conditions that any condition may use."""

    constants: dict[str, object] = Field(default_factory=dict)
    conditions: dict[str, object] = Field(default_factory=dict)


class Owners(Kind):
    """Who answers for which folder: folders of the set, as patterns, to lists of teams."""

    owners: dict[str, object]


class SourceList(Kind):
    """Sources, declared."""

    sources: tuple[object, ...]


class SourceItem(Strict):
    """One source. `listed: false`: declared, not on the allowlist."""

    label: Label
    title: Title
    duty: DutyWord
    collectors: CallerNames
    max_age: Age = Field(default=None, alias="max-age")
    record_ids: Literal["lower-case", "case-sensitive"] = Field("lower-case", alias="record-ids")
    listed: Flag = True

    @model_validator(mode="after")
    def _data_ages(self) -> Self:
        if self.duty is Duty.DATA_CHANNEL and self.max_age is None:
            if "max_age" in self.model_fields_set:
                raise wrong(
                    "what comes over a DATA_CHANNEL ages", "give a duration, for example 36h", path=("max-age",)
                )
            raise wrong("a DATA_CHANNEL needs max-age", "for example max-age: 36h", Code.MISSING_KEY)
        return self


class RequiresItem(Strict):
    """Demands on every binding."""

    retrieved_in_session: bool = Field(False, alias="retrieved-in-session")
    same_policy_revision: bool = Field(False, alias="same-policy-revision")
    same_grant_revision: bool = Field(False, alias="same-grant-revision")


class PrincipalScopes(Strict):
    """Whose word counts for the scopes of a principal, besides the grants."""

    claimed_from: CallerNames = Field(alias="claimed-from")


class DisclosurePolicy(Kind):
    """Rules, and what is required of bindings. `empty: true` says that the absence of rules is meant."""

    requires: RequiresItem = RequiresItem()
    principal_scopes: PrincipalScopes | None = Field(default=None, alias="principal-scopes")
    rules: tuple[object, ...] = ()
    empty: bool = False

    @model_validator(mode="after")
    def _rules_or_empty(self) -> Self:
        if not self.rules and not self.empty:
            raise wrong("there are no rules", "add rules, or say `empty: true`", Code.MISSING_KEY)
        if self.rules and self.empty:
            raise wrong("`empty: true` stands beside rules", "take one of them out", path=("empty",))
        return self


def check_times(begin: int | None, end: int | None) -> None:
    """Refuses an end that is not after the beginning."""
    if begin is not None and end is not None and end <= begin:
        raise wrong("until is not after from, so this never holds", "swap or mend them", path=("until",))


class RuleItem(Strict):
    """One rule. Sources or kinds left out: any."""

    id: RuleId
    effect: EffectWord
    moments: Moments
    sources: Labels | None = None
    kinds: SegmentKinds | None = None
    grounding: GroundingWord = Grounding.BOUND
    when: Condition | None = None
    custom_reason: CustomReason = Field("", alias="custom-reason")
    text: TextId = ""
    advice: bool = False
    from_: Time | None = Field(default=None, alias="from")
    until: Time | None = None
    mode: Literal["enforce", "observe"] = "enforce"

    @model_validator(mode="after")
    def _fits_its_effect(self) -> Self:
        if self.effect is Effect.ALLOW:
            for key, value in (("custom-reason", self.custom_reason), ("text", self.text)):
                if value:
                    hint = "leave it out; it is what a withheld segment says"
                    raise wrong(f"an ALLOW rule has no {key}", hint, path=(key,))
        elif self.advice:
            raise wrong("a WITHHOLD rule cannot lean towards advice", "leave it out", path=("advice",))
        if self.effect is Effect.ALLOW and self.mode == "observe":
            hint = "leave mode out; only a new WITHHOLD rule can be watched before it counts"
            raise wrong("an ALLOW rule cannot be observed", hint, path=("mode",))
        return self

    @model_validator(mode="after")
    def _ends_after_it_begins(self) -> Self:
        check_times(self.from_, self.until)
        return self

    @model_validator(mode="after")
    def _fits_its_grounding(self) -> Self:
        if self.grounding is Grounding.UNBOUND:
            if self.sources is not None:
                hint = "leave sources out, or say grounding: BOUND"
                raise wrong("an UNBOUND segment rests on no source", hint, path=("sources",))
            if self.effect is Effect.ALLOW and self.kinds is None:
                hint = "for example kinds: [small-talk]"
                raise wrong("a rule that allows UNBOUND segments must name their kinds", hint, Code.MISSING_KEY)
        return self


class Embargo(Kind):
    """A time until which nothing that it fits is shown: a WITHHOLD rule named `embargo.NAME`, as a file of its own."""

    from_: Time | None = Field(default=None, alias="from")
    until: Time
    moments: Moments = (Moment.RETRIEVE, Moment.PUBLISH, Moment.REPLAY, Moment.EXPORT)
    sources: Labels | None = None
    kinds: SegmentKinds | None = None
    when: Condition | None = None
    custom_reason: CustomReason = Field("UNDER_EMBARGO", alias="custom-reason")
    text: TextId = ""

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        check_times(self.from_, self.until)
        if self.sources is None and self.when is None:
            hint = "name sources, or records by a condition: when: document.record_id in [...]"
            raise wrong("an embargo must say on what", hint, Code.MISSING_KEY)
        return self

    def rule(self) -> RuleItem:
        """Returns the rule that it stands for."""
        given = self.model_dump(include={"moments", "sources", "kinds", "when", "custom_reason", "text"})
        return RuleItem.model_construct(
            id=f"embargo.{self.name}", effect=Effect.WITHHOLD, from_=self.from_, until=self.until, **given
        )


class RetentionPolicy(Kind):
    """What is asked of who revokes and of who holds copies; a set has one at most."""

    dry_run_above: Count = Field(100, alias="dry-run-above")
    purge_within: Annotated[Duration, AfterValidator(between("1s", "90d"))] = Field(
        86_400_000_000, alias="purge-within"
    )
    recheck_after: Annotated[SpanOrNever, AfterValidator(between_or_never("1s", "90d"))] = Field(
        default=None, alias="recheck-after"
    )


class Texts(Kind):
    """Disclosure texts of one locale: by reason, or by a name that rules use."""

    locale: Literal["en", "zh-Hans"]
    texts: dict[str, str]
