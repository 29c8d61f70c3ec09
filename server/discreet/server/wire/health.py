"""Health: NOT_SERVING until decisions can be made, while they cannot, and from the first moment of a drain (RPC-09)."""

from __future__ import annotations

from grpc_health.v1 import health, health_pb2  # type: ignore[import-untyped]  # ships no types

SERVICES = (
    "",
    "discreet.v1.DisclosureService",
    "discreet.v1.IndexService",
    "discreet.v1.AuditService",
    "discreet.v1.ServerService",
)


class Health:
    """The health of all services, shared by all listeners."""

    def __init__(self) -> None:
        self.servicer = health.aio.HealthServicer()
        self._serving: bool | None = None
        self._draining = False

    async def set(self, *, serving: bool) -> bool:
        """Says whether the services serve; True where that is news. During a drain nothing serves any more."""
        serving = serving and not self._draining
        if serving == self._serving:
            return False
        self._serving = serving
        status = health_pb2.HealthCheckResponse.SERVING if serving else health_pb2.HealthCheckResponse.NOT_SERVING
        for service in SERVICES:
            await self.servicer.set(service, status)
        return True

    async def drain(self) -> None:
        """NOT_SERVING for good."""
        self._draining = True
        await self.set(serving=False)
