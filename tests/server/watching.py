"""What a probe asks of a server: its health, under the name of a service or of the whole."""

from __future__ import annotations

import grpc
from grpc_health.v1 import health_pb2  # type: ignore[import-untyped] # ships no types

from tests.server.support import CALL_S, Lines

HEALTH = "/grpc.health.v1.Health/Check"


async def health(lines: Lines, service: str = "") -> int:
    """The serving status."""
    call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = lines.agent.channel.unary_unary(HEALTH)
    answer = await call(health_pb2.HealthCheckRequest(service=service).SerializeToString(), timeout=CALL_S)
    return int(health_pb2.HealthCheckResponse.FromString(answer).status)
