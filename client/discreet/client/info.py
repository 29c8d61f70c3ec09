"""What the server says of itself, and the one error that asking for it can raise. This module does no I/O."""

from dataclasses import dataclass

from discreet.client.result import Failure
from discreet.client.talk import Response
from discreet.v1 import server_pb2


class ServerUnreachable(Exception):
    """The server did not say what it is. Checks and commits never raise this: they withhold."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """The server's version and API level, and who it takes the caller for."""

    version: str
    api_level: int
    instance: str
    caller_name: str
    caller_role: str
    # Tenants that the caller is entitled to; "*": all.
    tenants: tuple[str, ...]


def server_info(reply: Response | Failure) -> ServerInfo:
    """The server's word on itself, or ServerUnreachable."""
    if isinstance(reply, Failure):
        raise ServerUnreachable(reply)
    if not isinstance(reply, server_pb2.GetServerInfoResponse):
        raise ServerUnreachable(Failure("MALFORMED_ANSWER", "the answer is to another method"))
    return ServerInfo(
        reply.version, reply.api_level, reply.instance, reply.caller_name, reply.caller_role, tuple(reply.tenants)
    )
