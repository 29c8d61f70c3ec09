"""Whether a source label is one: an operator in an incident must not believe that a misspelt source is frozen.

Knows no call; what is refused here is refused before anything is written.
"""

from __future__ import annotations

from discreet.policy.problems import did_you_mean
from discreet.policy.snapshot import Snapshot
from discreet.server.errors import NotFound, Unavailable
from discreet.server.ports import Work


def require_known(index: Work, tenant: str, label: str, snapshot: Snapshot | None) -> None:
    """Raises NotFound for a label that no SourceList in force declares, no record of the tenant has, nothing revokes.

    Records decide where no policy is in force. Unavailable where a later revision is in force than the one at hand and
    only that one could tell: nothing is refused for good, and nothing accepted, on what may be out of date.
    """
    declared = snapshot.sources if snapshot is not None else {}
    if label in declared or index.authority.has_label(tenant, label):
        return
    if label in index.authority.standing(tenant).revoked_sources:
        return
    if snapshot is None:
        raise NotFound(
            "source_label: no record of this tenant has it, and this server has no policy in force to declare it"
        )
    if snapshot.number < index.head.policy_revision:
        raise Unavailable("source_label: no record of this tenant has it, and the policy changed; repeat the call")
    hint = did_you_mean(label, declared)
    said = "source_label: no SourceList in force declares it, and no record of this tenant has it"
    raise NotFound(f"{said}; {hint}" if hint else said)
