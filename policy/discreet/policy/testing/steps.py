"""The steps of a sequence as pydantic models: what happens to the index, what is asked, how time passes.

Each step is a mapping with one verb. What the server would refuse to do, a step is refused for, too: the sequence says
so with `refused: true`, or fails.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from discreet.policy.model.fields import (
    CallerName,
    FixedDuration,
    Label,
    Labels,
    Time,
    Title,
    distinct,
    filled,
    word_of,
    wrong,
)
from discreet.policy.model.kinds import Strict
from discreet.policy.problems import Code
from discreet.policy.testing.kinds import (
    BoundItem,
    HeldItem,
    NamedItem,
    QuestionItem,
    RecordItem,
    RecordName,
    RefItem,
    Whose,
)
from discreet.policy.testing.scalars import Exact, Short, of_record, one_or_more, record_named
from discreet.policy.words import Grounding, HolderKind, PurgeOutcome, PurgeState

PARENTS_MAX: Final = 32
Bound = Annotated[tuple[Annotated[BoundItem, BeforeValidator(record_named)], ...], BeforeValidator(one_or_more)]


class SuspendStep(NamedItem):
    """A record that is suspended; in short its id. `until` left out: only `resume` ends it."""

    until: Time | None = None


class SupersedeStep(Strict):
    """What is superseded, and by what; `by` left out: by nothing any more."""

    record: RecordName
    by: RecordName | None = None


class ScopesStep(Strict):
    """All scopes of a record from now on."""

    record: RecordName
    scopes: tuple[Exact, ...]


class AssessStep(Strict):
    """Until when a record is eligible; left out: it is not assessed any more."""

    record: RecordName
    expires_at: Time | None = Field(None, alias="expires-at")


class RevokeStep(Strict):
    """A retention revoke; in short the record's id. `purge-not-before` left out: due at once.

    It is of one version, of all versions of a record, or of a source with all that is under it, now or later.
    """

    record: RecordName | None = None
    all_versions_of: Exact | None = Field(None, alias="all-versions-of")
    source: Label | None = None
    purge_not_before: Time | None = Field(None, alias="purge-not-before")
    ticket: Short = "TEST-1"
    dry_run: bool = Field(False, alias="dry-run")
    name: Title | None = Field(None, alias="as")

    @property
    def called(self) -> str:
        """The name that its purge order has in later steps."""
        of_record = self.record.record_id if self.record is not None else ""
        return self.name or self.source or self.all_versions_of or of_record

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if sum(each is not None for each in (self.record, self.all_versions_of, self.source)) != 1:
            raise wrong("a revoke is of one thing", "name one of record, all-versions-of, source")
        return self


class HoldStep(HeldItem):
    """A legal hold that is placed; in short the record's id, for all its versions."""

    ticket: Short = "TEST-1"


class FreezeStep(Strict):
    """A source that is frozen, or without one everything, for a time or until one."""

    source: Label | None = None
    for_: FixedDuration | None = Field(None, alias="for")
    until: Time | None = None
    name: Title | None = Field(None, alias="as")

    @property
    def called(self) -> str:
        """The name that it has in later steps."""
        return self.name or self.source or "everything"

    @model_validator(mode="after")
    def _says_when(self) -> Self:
        if (self.for_ is None) == (self.until is None):
            raise wrong("a freeze has an end", "say one of for and until", Code.MISSING_KEY)
        return self


class HolderStep(Strict):
    """A holder of copies that is registered, or changed."""

    holder: CallerName
    kind: Annotated[HolderKind, BeforeValidator(word_of(HolderKind, "kind of holder"))]
    sources: Labels | None = None


class AcknowledgeStep(Strict):
    """A holder's answer to everything of an order that it is asked for now; refused where that is nothing."""

    holder: CallerName
    order: Title
    outcome: Annotated[PurgeOutcome, BeforeValidator(word_of(PurgeOutcome, "outcome"))] = PurgeOutcome.PURGED


State = Annotated[PurgeState, BeforeValidator(word_of(PurgeState, "state of an item"))]


class OrderStep(Strict):
    """Where a purge order must stand: how many items are in which state, of one holder or all; whether it is done."""

    order: Title
    holder: CallerName | None = None
    items: dict[State, int] | None = None
    done: bool | None = None

    @model_validator(mode="after")
    def _expects(self) -> Self:
        if self.items is None and self.done is None:
            raise wrong("nothing is expected of the order", "say items or done", Code.MISSING_KEY)
        if self.done is not None and self.holder is not None:
            raise wrong("an order is done as a whole", "leave one of them out", path=("done",))
        return self


class GrantStep(Strict):
    """A scope that a principal is given."""

    principal: Exact
    scope: Exact
    not_before: Time | None = Field(None, alias="not-before")
    expires_at: Time | None = Field(None, alias="expires-at")


class WithdrawStep(Strict):
    """A scope that is taken back from a principal."""

    principal: Exact
    scope: Exact


class PolicyStep(Strict):
    """A commit of the policy that came into force: the set of these tests, but for what is said here.

    In short the name of an environment. `{}` is the set as it is, under a new revision.
    """

    environment: Label | None = None
    parameters: dict[str, object] = Field(default_factory=dict)


class PutStep(Strict):
    """A record version that is registered; a new one becomes the record's current one."""

    record: RecordItem
    supersedes: RefItem | None = None

    @model_validator(mode="after")
    def _says_what_a_collector_can(self) -> Self:
        for name in ("current", "superseded_by", "suspended", "unreachable", "revoked", "recorded_at"):
            if name in self.record.model_fields_set:
                key = name.replace("_", "-")
                raise wrong("a registration does not say this", "use a step of its own", path=("record", key))
        return self


def _environment(value: object) -> object:
    return {"environment": value} if isinstance(value, str) else value


class ActStep(Strict):
    """A step that changes the index or the policy, or lets time pass. `refused`: the server would not do it."""

    refused: bool = False
    put: PutStep | None = None
    suspend: Annotated[SuspendStep, BeforeValidator(record_named)] | None = None
    resume: RecordName | None = None
    supersede: SupersedeStep | None = None
    set_scopes: ScopesStep | None = Field(None, alias="set-scopes")
    assess: AssessStep | None = None
    unreachable: RecordName | None = None
    reachable: RecordName | None = None
    revoke: Annotated[RevokeStep, BeforeValidator(of_record)] | None = None
    place_hold: Annotated[HoldStep, BeforeValidator(of_record)] | None = Field(None, alias="place-hold")
    lift_hold: Title | None = Field(None, alias="lift-hold")
    freeze: FreezeStep | None = None
    unfreeze: Title | None = None
    register_holder: HolderStep | None = Field(None, alias="register-holder")
    acknowledge: AcknowledgeStep | None = None
    purge_order: OrderStep | None = Field(None, alias="purge-order")
    grant: GrantStep | None = None
    withdraw: WithdrawStep | None = None
    policy: Annotated[PolicyStep, BeforeValidator(_environment)] | None = None
    wait: FixedDuration | None = None
    at: Time | None = None


class AskStep(QuestionItem):
    """A step that asks: RETRIEVE, PUBLISH, a commit under a name (`as`), the same again, or REPLAY or EXPORT of one.

    `parents` are the commits that the segment is made from; then `commit: []` is enough to bind.
    A binding carries the receipt and token of the principal's last RETRIEVE of it in the session, as an agent hands
    them on; `receipts: none` hands on none, and another word those of the retrieve that has it as its name.
    """

    retrieve: Bound | None = None
    publish: Bound | None = None
    commit: Bound | None = None
    commit_again: Title | None = Field(None, alias="commit-again")
    replay: Title | None = None
    export: Title | None = None
    parents: Annotated[tuple[Title, ...], AfterValidator(filled), AfterValidator(distinct)] = ()
    name: Title | None = Field(None, alias="as")
    receipts: Title = "own"
    principal: Whose | None = None
    caller: CallerName | None = None
    session: Short | None = None

    @property
    def bindings(self) -> tuple[BoundItem, ...]:
        """What the segment is bound to; by ledger id what was committed says it."""
        return self.retrieve or self.publish or self.commit or ()

    @property
    def recalled(self) -> str | None:
        """The commit that is asked about again."""
        return self.replay or self.export or self.commit_again

    @model_validator(mode="after")
    def _expects(self) -> Self:
        if self.expect is None and not self.never:
            hint = "say what must come of it, or with `never` what must not"
            raise wrong('the key "expect" is missing', hint, Code.MISSING_KEY)
        if self.commit is not None and self.name is None:
            raise wrong('the key "as" is missing', "name the commit, for a replay to name it", Code.MISSING_KEY)
        if self.name is not None and self.commit is None and self.retrieve is None:
            raise wrong("only a retrieve or a commit has a name", "leave it out", path=("as",))
        if self.grounding is Grounding.UNBOUND and self.bindings:
            raise wrong("an UNBOUND segment has no bindings", "write an empty list", path=("grounding",))
        if self.parents and (self.grounding is Grounding.UNBOUND or self.recalled is not None):
            raise wrong("only a BOUND segment that is asked about anew has parents", "leave it out", path=("parents",))
        if len(self.parents) > PARENTS_MAX:
            raise wrong(f"a segment has more than {PARENTS_MAX} parents", "leave some out", path=("parents",))
        return self

    @model_validator(mode="after")
    def _repeats_as_it_was(self) -> Self:
        said = self.model_fields_set - {"commit_again", "caller", "locale", "policy_age", "expect", "never"}
        if self.commit_again is not None and said:
            key = min(said).replace("_", "-")
            raise wrong("a repeated commit is as it was", "leave it out, or make another commit", path=(key,))
        return self


class SequenceItem(Strict):
    """What happens one thing after another, on an index of its own that begins as the file says."""

    name: Title
    principal: Whose | None = None
    caller: CallerName = "agent"
    session: Short = "session-1"
    steps: tuple[object, ...]


ASKING: Final = ("retrieve", "publish", "commit", "commit-again", "replay", "export")
ACTING: Final = (
    *("put", "suspend", "resume", "supersede", "set-scopes", "assess", "unreachable", "reachable", "revoke"),
    *("place-hold", "lift-hold", "freeze", "unfreeze", "register-holder", "acknowledge", "purge-order"),
    *("grant", "withdraw", "policy", "wait", "at"),
)
VERBS: Final = (*ASKING, *ACTING)
