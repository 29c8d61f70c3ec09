"""Health: NOT_SERVING until decisions can be made, while they cannot, and from the first moment of a drain (RPC-09).

A revision that was refused takes nothing out of service: the one in force goes on. Health says it under a name of its
own.
"""

from __future__ import annotations

from grpc_health.v1 import health, health_pb2  # type: ignore[import-untyped]  # ships no types

SERVICES = (
    "",
    "discreet.v1.DisclosureService",
    "discreet.v1.IndexService",
    "discreet.v1.AuthorityService",
    "discreet.v1.PurgeService",
    "discreet.v1.PolicyService",
    "discreet.v1.AuditService",
    "discreet.v1.ServerService",
)

NEWEST_POLICY = "discreet.policy"
"""NOT_SERVING while what the policy's source holds is not in force: refused, or the source cannot be read."""


class Health:
    """The health of all services, shared by all listeners."""

    def __init__(self) -> None:
        self.servicer = health.aio.HealthServicer()
        self._serving: bool | None = None
        self._draining = False
        self._newest: bool | None = None

    @property
    def serving(self) -> bool:
        """Whether health says SERVING."""
        return bool(self._serving)

    async def set(self, *, serving: bool) -> bool:
        """Says whether the services serve; True where that is news. During a drain nothing serves any more."""
        serving = serving and not self._draining
        if serving == self._serving:
            return False
        self._serving = serving
        for service in SERVICES:
            await self.servicer.set(service, _status(good=serving))
        return True

    async def set_newest_policy(self, *, in_force: bool) -> None:
        """Says whether what the policy's source holds is in force."""
        in_force = in_force and not self._draining
        if in_force != self._newest:
            self._newest = in_force
            await self.servicer.set(NEWEST_POLICY, _status(good=in_force))

    async def drain(self) -> None:
        """NOT_SERVING for good."""
        self._draining = True
        await self.set(serving=False)
        await self.set_newest_policy(in_force=False)


def _status(*, good: bool) -> health_pb2.HealthCheckResponse.ServingStatus:
    return health_pb2.HealthCheckResponse.SERVING if good else health_pb2.HealthCheckResponse.NOT_SERVING
