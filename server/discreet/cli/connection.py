"""Calls to the server, each with a deadline and its failure as one of the command line's errors. Decides nothing."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from discreet.cli.errors import CliError, Unreachable, from_status
from discreet.cli.settings import Settings, quiet_transport

if TYPE_CHECKING:
    import grpc

Q = TypeVar("Q")
A = TypeVar("A")

MESSAGE_BYTES_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """An open connection to the server under one identity."""

    channel: "grpc.Channel"
    target: str
    deadline_s: float

    def call(self, method: "grpc.UnaryUnaryMultiCallable[Q, A]", request: Q) -> A:
        """The answer to one call. Raises CliError."""
        import grpc

        try:
            return method(request, timeout=self.deadline_s)
        except grpc.RpcError as error:
            raise self.failure(error) from None

    def failure(self, error: "grpc.RpcError") -> CliError:
        """The command line's error for a call that failed."""
        call = cast("grpc.Call", error)
        code = call.code()
        return from_status(code.value[0], code.name, call.details() or "", self.target)


@contextlib.contextmanager
def connect(settings: Settings, identity: str) -> Iterator[Line]:
    """A connection on which the server knows this process as `identity`. Raises Unreachable without such a socket."""
    target = settings.address(identity)
    _check_socket(target)
    quiet_transport()
    import grpc

    options = [
        ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX),
        ("grpc.max_send_message_length", MESSAGE_BYTES_MAX),
        ("grpc.enable_http_proxy", 0),
    ]
    with grpc.insecure_channel(target, options=options) as channel:
        yield Line(channel, target, settings.deadline_s)


def _check_socket(target: str) -> None:
    path = Path(target.removeprefix("unix:"))
    if not target.startswith("unix:") or path.exists():
        return
    raise Unreachable(
        f"no server at {path}",
        "start one with `discreet serve --policy DIR`, or name its directory with --socket-dir or DISCREET_SOCKET_DIR",
    )
