"""Whether the servers of a database are told the same environment: one set, other parameters, other answers."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.policy.facts import Micros
from discreet.server.ports_policy import ServerRow

NAMED_MAX = 5
"""So many servers of each environment are named."""


def disagreement(now: Micros, rows: Sequence[ServerRow]) -> str:
    """What is wrong where live servers are told different environments; empty where they agree."""
    told: dict[str, list[str]] = {}
    for row in rows:
        if row.live(now):
            told.setdefault(row.beat.environment, []).append(row.beat.instance)
    if len(told) < 2:
        return ""
    said = "; ".join(f"{name or 'none'} by {_named(instances)}" for name, instances in sorted(told.items()))
    return f"servers: told different environments, so that they decide differently: {said}"


def _named(instances: list[str]) -> str:
    more = len(instances) - NAMED_MAX
    return ", ".join(instances[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
