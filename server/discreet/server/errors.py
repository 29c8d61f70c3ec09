"""What can go wrong in the server, classed by who must act: the caller (a status), or the operator (an exit code).

A malformed message is `Malformed`, of the policy package. Messages name fields, files and what would be right; they
never repeat what a request held. `CallRefused.status` is the gRPC status, and nothing else in the server chooses one;
how a process ends whose start was refused is said by the command line, in its own table.
"""

from __future__ import annotations

from typing import ClassVar

import grpc

from discreet.policy.words import Reason


class ServerError(Exception):
    """The root of the tree."""


class StartRefused(ServerError):
    """The server cannot serve what it was asked to. The operator must act."""


class ConfigRefused(StartRefused):
    """The configuration is wrong."""


class PolicyRefused(StartRefused):
    """There is no policy revision to serve, and waiting would not mend it."""


class StoreRefused(StartRefused):
    """The database cannot be used."""


class SpoolRefused(StartRefused):
    """What an earlier server left in the audit spool cannot be taken over, or another server has it."""


class InstanceTaken(StartRefused):
    """Another server of the database lives under the same name."""


class ListenRefused(StartRefused):
    """A socket cannot be bound, or its place is not safe."""


class CallRefused(ServerError):
    """A call that is answered with a status instead of a response."""

    status: ClassVar[grpc.StatusCode] = grpc.StatusCode.INTERNAL


class BadMessage(CallRefused):
    """A malformed message; the text is that of the policy package's `Malformed`: field path, problem, hint."""

    status = grpc.StatusCode.INVALID_ARGUMENT


class Denied(CallRefused):
    """The caller's identity has no right to this; audited by the edge.

    `tenant` only where the caller is entitled to it.
    """

    status = grpc.StatusCode.PERMISSION_DENIED

    def __init__(self, message: str, *, tenant: str = "", reason: Reason | None = None) -> None:
        self.tenant = tenant
        self.reason = reason
        super().__init__(message)


class NotFound(CallRefused):
    """An operator or collector named something that the index does not hold."""

    status = grpc.StatusCode.NOT_FOUND


class Precondition(CallRefused):
    """Well-formed, but the state of the index stands against it."""

    status = grpc.StatusCode.FAILED_PRECONDITION


class TooMuch(CallRefused):
    """Well-formed, but more at once than a call may do."""

    status = grpc.StatusCode.RESOURCE_EXHAUSTED


class AlreadyExists(CallRefused):
    """A natural key that stands for something else already."""

    status = grpc.StatusCode.ALREADY_EXISTS


class Unavailable(CallRefused):
    """A dependency of the server is missing; the message says whether the outcome is known."""

    status = grpc.StatusCode.UNAVAILABLE


class DeadlinePassed(CallRefused):
    """The caller's deadline passed before there was an answer."""

    status = grpc.StatusCode.DEADLINE_EXCEEDED
