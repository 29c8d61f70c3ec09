"""What the retention policy in force asks of revokes; a revoke goes through while no policy can be loaded."""

from __future__ import annotations

from discreet.policy.snapshot import Retention
from discreet.server.policies.follower import Policies


def retention_of(policies: Policies) -> Retention:
    """The terms in force, or the built-in ones where there is no policy."""
    snapshot = policies.snapshot
    return Retention() if snapshot is None else snapshot.retention
