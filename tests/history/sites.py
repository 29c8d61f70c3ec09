"""Lines to one server: the real client for agents, plain calls for everybody else. Must know nothing of histories."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from discreet.client import AsyncClient
from discreet.v1 import authority_pb2, disclosure_pb2, index_pb2, purge_pb2
from tests.history.world import TENANT

DEADLINE_S = 4.0
WATCH_S = 0.5
OPTIONS = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_reconnect_backoff_ms", 500),
           ("grpc.initial_reconnect_backoff_ms", 50))  # fmt: skip


def _methods(*modules: ModuleType) -> dict[str, tuple[str, type[Message]]]:
    """Full method name and answer by the request's type."""
    found = {}
    for module in modules:
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                name = f"/{service.full_name}/{method.name}"
                found[method.input_type.name] = (name, GetMessageClass(method.output_type))
    return found


METHODS = _methods(authority_pb2, disclosure_pb2, index_pb2, purge_pb2)


class Site:
    """One server. `sockets`: its address for each identity."""

    def __init__(self, sockets: Mapping[str, str]) -> None:
        self._sockets = sockets
        self._channels: dict[str, grpc.aio.Channel] = {}
        self.agent = AsyncClient(sockets["agent"], tenant=TENANT, deadline_s=DEADLINE_S)

    async def call(self, identity: str, request: Message, within_s: float = DEADLINE_S) -> Message:
        """The answer to a plain call. Raises grpc.aio.AioRpcError."""
        name, answer = METHODS[type(request).__name__]
        ask: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self._channel(identity).unary_unary(name)
        return answer.FromString(await ask(request.SerializeToString(), timeout=within_s))

    async def watched(self, holder: str, resume_token: str = "") -> purge_pb2.WatchPurgeOrdersResponse | None:
        """The first message of a holder's stream; None where there is none soon."""
        ask: grpc.aio.UnaryStreamMultiCallable[bytes, bytes] = self._channel(holder).unary_stream(
            "/discreet.v1.PurgeService/WatchPurgeOrders"
        )
        request = purge_pb2.WatchPurgeOrdersRequest(tenant=TENANT, resume_token=resume_token)
        stream = ask(request.SerializeToString(), timeout=WATCH_S)
        try:
            message = await stream.read()
        except grpc.aio.AioRpcError:
            return None
        stream.cancel()
        return purge_pb2.WatchPurgeOrdersResponse.FromString(message) if isinstance(message, bytes) else None

    def _channel(self, identity: str) -> grpc.aio.Channel:
        if identity not in self._channels:
            self._channels[identity] = grpc.aio.insecure_channel(self._sockets[identity], options=OPTIONS)
        return self._channels[identity]

    async def close(self) -> None:
        """Ends all lines."""
        await self.agent.close()
        for channel in self._channels.values():
            await channel.close()
