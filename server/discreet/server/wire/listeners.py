"""One gRPC server a listener, since the listener is the caller's identity.

A Unix socket, or a loopback port that stands for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc  # type: ignore[import-untyped]  # ships no types
from grpc_reflection.v1alpha import reflection  # type: ignore[import-untyped]  # ships no types

from discreet.server.calls import StreamMethod, UnaryMethod
from discreet.server.config import MESSAGE_BYTES_MAX, ServerConfig, TcpListen
from discreet.server.errors import ListenRefused
from discreet.server.identity.callers import Identity
from discreet.server.identity.sockets import HeldSocket, hold, private_directory, release_all
from discreet.server.logs import Log
from discreet.server.wire.edge import Edge
from discreet.server.wire.health import SERVICES, Health

OPTIONS = (
    # Off, or a forgotten server would share the port with this one without a word (RPC-07).
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
    ("grpc.max_send_message_length", -1),
    # Clients may ping every 10 s, calls or none, without being sent away (RPC-08).
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_ping_strikes", 0),
)


class Listeners:
    """All listeners of a server."""

    def __init__(self, config: ServerConfig, log: Log) -> None:
        self._config = config
        self._log = log
        self._held: tuple[HeldSocket, ...] = ()
        self._servers: list[grpc.aio.Server] = []
        self.sockets: dict[str, str] = {}
        """Identity to socket path."""
        self.ports: dict[str, str] = {}
        """Identity to HOST:PORT."""

    def hold(self) -> None:
        """Takes the sockets' places, or raises ListenRefused; nothing is bound yet."""
        directory = private_directory(self._config.socket_dir.absolute())
        self._held = hold(directory, (identity.name for identity in self._config.identities))

    async def start(
        self, edge: Edge, health: Health, unary: Mapping[str, UnaryMethod], streams: Mapping[str, StreamMethod]
    ) -> None:
        """Binds and serves every listener."""
        identities = {identity.name: identity for identity in self._config.identities}
        for identity, held in zip(self._config.identities, self._held, strict=True):
            server = self._server(edge, health, identity, unary, streams)
            _bind(server, held.address, str(held.path))
            held.secure()
            await server.start()
            self.sockets[identity.name] = str(held.path)
        for listener in self._config.listen:
            server = self._server(edge, health, identities[listener.identity], unary, streams)
            await self._listen(server, listener)

    async def _listen(self, server: grpc.aio.Server, listener: TcpListen) -> None:
        port = _bind(server, f"{listener.host}:{listener.port}", f"{listener.host}:{listener.port}")
        await server.start()
        self.ports[listener.identity] = f"{listener.host}:{port}"
        self._log.warning(
            "a loopback port has no identity of its own: every process of this machine may call as this one",
            identity=listener.identity, address=f"{listener.host}:{port}",
        )  # fmt: skip

    def _server(
        self,
        edge: Edge,
        health: Health,
        identity: Identity,
        unary: Mapping[str, UnaryMethod],
        streams: Mapping[str, StreamMethod],
    ) -> grpc.aio.Server:
        server = grpc.aio.server(options=OPTIONS, maximum_concurrent_rpcs=self._config.calls_max)
        server.add_generic_rpc_handlers((edge.handlers(identity.caller(), unary, streams),))
        health_pb2_grpc.add_HealthServicer_to_server(health.servicer, server)
        names = [name for name in SERVICES if name]
        health_name = health_pb2.DESCRIPTOR.services_by_name["Health"].full_name
        reflection.enable_server_reflection([*names, health_name, reflection.SERVICE_NAME], server)
        self._servers.append(server)
        return server

    async def stop(self, grace_s: float) -> None:
        """Takes no new calls, lets those under way finish within the grace, and ends the rest."""
        await asyncio.gather(*(server.stop(grace_s) for server in self._servers))

    def release(self) -> None:
        """Removes the sockets and lets go of their places."""
        release_all(self._held)
        self._held = ()


def _bind(server: grpc.aio.Server, address: str, shown: str) -> int:
    try:
        return server.add_insecure_port(address)
    except RuntimeError:
        raise ListenRefused(f"{shown}: cannot be bound; does another server listen there?") from None
