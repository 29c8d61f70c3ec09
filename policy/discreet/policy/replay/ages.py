"""How old the policy was when a recorded call was decided: as the row says, or as far as its decisions tell."""

from __future__ import annotations

from typing import NamedTuple

from discreet.policy.codec.recorded import Read, RecordedCall, RecordedDecision
from discreet.policy.words import Gate, Reason


class Age(NamedTuple):
    """`then` serves the revision that decided, `other` the other one; `unknown`: the latter may be wrong."""

    then: int
    other: int
    unknown: bool


class Ages(NamedTuple):
    """The ages of the two reads of a call; the second is that of a repeated commit."""

    first: Age
    second: Age

    def asked(self, *, then: bool) -> int:
        """For what the call asked about."""
        return self.first.then if then else self.first.other

    def repeated(self, *, then: bool) -> int:
        """For what an earlier call had committed."""
        return self.second.then if then else self.second.other

    @property
    def unknown(self) -> bool:
        """True where the other revision's limit asks for more than is known."""
        return self.first.unknown

    @property
    def unknown_repeated(self) -> bool:
        """The same of the second read."""
        return self.second.unknown


def ages_of(call: RecordedCall, limit: int | None, other_limit: int | None) -> Ages:
    """Limits: of the revision that decided, and of the other one; None: it has none."""
    asked = [one for one in call.decisions if not one.repeated]
    again = [one for one in call.decisions if one.repeated]
    return Ages(_age(call.read, asked, limit, other_limit), _age(call.repeated_under, again, limit, other_limit))


def _age(read: Read | None, decisions: list[RecordedDecision], limit: int | None, other_limit: int | None) -> Age:
    if read is not None and read.policy_age_us is not None:
        return Age(read.policy_age_us, read.policy_age_us, unknown=False)
    if limit is None:
        return Age(0, 0, unknown=other_limit is not None)
    if any(one.reason is Reason.POLICY_STALE for one in decisions):  # older than the limit, nobody knows by how much
        return Age(limit + 1, limit + 1, unknown=other_limit is not None and other_limit > limit)
    passed = any(Gate.POLICY_AGE in one.trace for one in decisions)
    return Age(0, 0, unknown=other_limit is not None and (other_limit < limit or not passed))
