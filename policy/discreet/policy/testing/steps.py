"""The steps of a sequence as pydantic models: what happens to the index, what is asked, how time passes.

Each step is a mapping with one verb. What the server would refuse to do, a step is refused for, too: the sequence says
so with `refused: true`, or fails.
"""

from __future__ import annotations

from typing import Annotated, Final, Self

from pydantic import BeforeValidator, Field, model_validator

from discreet.policy.model.fields import CallerName, FixedDuration, Label, Time, Title, wrong
from discreet.policy.model.kinds import Strict
from discreet.policy.problems import Code
from discreet.policy.testing.kinds import BoundItem, QuestionItem, RecordItem, RecordName, RefItem, Whose
from discreet.policy.testing.scalars import Exact, Short, one_or_more, record_named
from discreet.policy.words import Grounding

Bound = Annotated[tuple[Annotated[BoundItem, BeforeValidator(record_named)], ...], BeforeValidator(one_or_more)]


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
    """A retention revoke; in short the record's id. `purge-not-before` left out: due at once."""

    record: RecordName
    purge_not_before: Time | None = Field(None, alias="purge-not-before")
    ticket: Short = "TEST-1"


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


def _revoked(value: object) -> object:
    return {"record": value} if isinstance(value, str) else value


class ActStep(Strict):
    """A step that changes the index or the policy, or lets time pass. `refused`: the server would not do it."""

    refused: bool = False
    put: PutStep | None = None
    suspend: RecordName | None = None
    resume: RecordName | None = None
    supersede: SupersedeStep | None = None
    set_scopes: ScopesStep | None = Field(None, alias="set-scopes")
    assess: AssessStep | None = None
    unreachable: RecordName | None = None
    reachable: RecordName | None = None
    revoke: Annotated[RevokeStep, BeforeValidator(_revoked)] | None = None
    grant: GrantStep | None = None
    withdraw: WithdrawStep | None = None
    policy: Annotated[PolicyStep, BeforeValidator(_environment)] | None = None
    wait: FixedDuration | None = None
    at: Time | None = None


class AskStep(QuestionItem):
    """A step that asks: RETRIEVE, PUBLISH, a commit under a name (`as`), the same commit again, or REPLAY of one.

    A binding carries the receipt and token of the principal's last RETRIEVE of it in the session, as an agent hands
    them on; `receipts: none` hands on none, and another word those of the retrieve that has it as its name.
    """

    retrieve: Bound | None = None
    publish: Bound | None = None
    commit: Bound | None = None
    commit_again: Title | None = Field(None, alias="commit-again")
    replay: Title | None = None
    name: Title | None = Field(None, alias="as")
    receipts: Title = "own"
    principal: Whose | None = None
    caller: CallerName | None = None
    session: Short | None = None

    @property
    def bindings(self) -> tuple[BoundItem, ...]:
        """What the segment is bound to; at REPLAY what was committed says it."""
        return self.retrieve or self.publish or self.commit or ()

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


ASKING: Final = ("retrieve", "publish", "commit", "commit-again", "replay")
ACTING: Final = (
    *("put", "suspend", "resume", "supersede", "set-scopes", "assess", "unreachable", "reachable", "revoke"),
    *("grant", "withdraw", "policy", "wait", "at"),
)
VERBS: Final = (*ASKING, *ACTING)
