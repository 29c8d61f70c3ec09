"""Why a recorded decision cannot be decided again: a closed set. What has a cause never counts as unchanged."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from discreet.policy.codec.recorded import RecordedCall, RecordedDecision
from discreet.policy.words import Gate, Reason


class Cause(StrEnum):
    """A cause, in the order in which they are looked for."""

    UNREADABLE = "unreadable"
    NO_POLICY = "no-policy"
    UNAVAILABLE = "unavailable"
    POLICY_CHANGED = "policy-changed"
    OVERTAKEN = "overtaken"
    OLDER_ROW = "older-row"
    REVISION_MISSING = "revision-missing"
    MASKED_ATTRIBUTE = "masked-attribute"
    CLAIMED_SCOPES = "claimed-scopes"
    POLICY_AGE = "policy-age"
    FACTS_MISSING = "facts-missing"
    NOT_REPRODUCED = "not-reproduced"


MEANINGS: Final[dict[Cause, str]] = {
    Cause.UNREADABLE: "the row is damaged, or of a form that this program does not know",
    Cause.NO_POLICY: "no policy revision was in force",
    Cause.UNAVAILABLE: "nothing was decided: the store or the audit did not answer",
    Cause.POLICY_CHANGED: "nothing was decided: the policy changed between two reads",
    Cause.OVERTAKEN: "a commit gave up on it: what it rested on kept changing",
    Cause.OLDER_ROW: "the row is from before it held what a repeated commit was judged on",
    Cause.REVISION_MISSING: "the policy revision that decided is gone, or this program does not take it",
    Cause.MASKED_ATTRIBUTE: "a rule reads an attribute whose value the audit masks",
    Cause.CLAIMED_SCOPES: "it turns on scopes that the caller claimed and that are not on record",
    Cause.POLICY_AGE: "it turns on how old the policy was, which the row does not say",
    Cause.FACTS_MISSING: "a fact that the row names is not in the database any more, or is another one",
    Cause.NOT_REPRODUCED: "under the revision that made it, it is decided otherwise than recorded",
}
"""Each cause in words."""


def early_cause(call: RecordedCall, decision: RecordedDecision) -> Cause | None:
    """The cause that the row itself tells, before anything is decided again."""
    if not call.policy.number:
        return Cause.NO_POLICY
    if decision.gate is Gate.DEPENDENCY or call.read is None:
        changed = decision.reason is Reason.POLICY_REVISION_CHANGED
        return Cause.POLICY_CHANGED if changed else Cause.UNAVAILABLE
    if call.request.commit and any(one.segment is None for one in call.decisions):
        return Cause.UNAVAILABLE  # the question is not on record as a whole: a repeated segment could not be read
    if decision.overtaken:
        return Cause.OVERTAKEN
    return Cause.OLDER_ROW if decision.repeated and call.repeated_under is None else None
