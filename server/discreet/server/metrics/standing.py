"""How a server stands, as a source of metrics: health, policy, store, audit, and what its answers said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from discreet.server.metrics.collecting import Gathered
from discreet.server.policies.follower import Policies
from discreet.server.reading.heads import SharedHeads
from discreet.server.servicers.asking import Tally
from discreet.server.servicers.server_info import server_version
from discreet.server.wire.edge import Edge
from discreet.server.wire.health import Health

_VERDICTS_HELP: Final = "Verdicts that were given, by moment, verdict and the reason that the reader is told."
_REFUSED_HELP: Final = "Commits of the policy that did not come into force, by what was wrong."


class Standing:
    """A source of metrics over the parts of a running server."""

    def __init__(
        self,
        health: Health,
        policies: Policies,
        heads: SharedHeads,
        edge: Edge,
        tally: Tally,
        store_answers: Callable[[], bool],
    ) -> None:
        self._health = health
        self._policies = policies
        self._heads = heads
        self._edge = edge
        self._tally = tally
        self._store_answers = store_answers

    def __call__(self) -> list[Gathered]:
        """What there is to tell now."""
        return [*self._server(), *self._policy(), *self._verdicts()]

    def _server(self) -> Iterator[Gathered]:
        tally = self._tally
        yield Gathered("build_info", "The version that runs; the value is 1.", {"version": server_version()}, 1)
        yield Gathered("serving", "1 while health says SERVING.", {}, self._health.serving)
        yield Gathered("calls_under_way", "Calls, and streams, that have not ended.", {}, self._edge.running)
        yield Gathered("store_answers", "1 while the store answers; 0: all is withheld.", {}, self._store_answers())
        yield Gathered(
            "store_failures_total", "Questions withheld since the store did not answer.", {}, tally.dependency_failures
        )
        yield Gathered(
            "audit_failures_total", "Answers withheld since their audit could not be written.", {}, tally.audit_failures
        )
        yield Gathered(
            "refusals_unrecorded_total", "Refused calls that the audit does not hold.", {}, self._edge.refusals_lost
        )
        yield Gathered("index_seq", "The highest number of the index's order that was seen.", {}, self._heads.last.seq)

    def _policy(self) -> Iterator[Gathered]:
        policies, following = self._policies, self._policies.following
        number = policies.snapshot.number if policies.snapshot is not None else 0
        yield Gathered("policy_revision", "Number of the policy revision in force; 0: none yet.", {}, number)
        yield Gathered(
            "policy_lag_seconds",
            "For how long the revision in force may have been outdated.",
            {},
            policies.age_us() / 1e6,
        )
        yield Gathered(
            "policy_stale", "1 while the lag is beyond policy-max-age: all is withheld.", {}, policies.stale()
        )
        unreachable = bool(following.unreachable)
        yield Gathered("policy_source_unreachable", "1 while the policy's source cannot be read.", {}, unreachable)
        refused = bool(following.error)
        yield Gathered("policy_refused_commit", "1 while the newest commit of the policy is refused.", {}, refused)
        for cause, count in policies.refused.items():
            yield Gathered("policy_refused_commits_total", _REFUSED_HELP, {"cause": cause.value}, count)

    def _verdicts(self) -> Iterator[Gathered]:
        for (moment, verdict, reason), count in sorted(self._tally.verdicts.items()):
            labels = {"moment": moment.short, "verdict": verdict.short, "reason": reason.short}
            yield Gathered("verdicts_total", _VERDICTS_HELP, labels, count)
