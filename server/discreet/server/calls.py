"""One call as the servicers see it: who, which method, under which id, until when. Knows nothing of gRPC."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

import uuid_utils

from discreet.policy.facts import Caller


class Rest:
    """Which read of the head the answer to one call, or to one frame of a stream, rests on. Kept by the lease."""

    __slots__ = ("began_ns", "lasts_ns", "under_way")

    def __init__(self) -> None:
        self.under_way: object | None = None
        """What the call is counted under; None: what it answers rests on no read of the head."""
        self.began_ns = 0
        self.lasts_ns = 0
        """For how long that read counts."""


@dataclass(frozen=True, slots=True)
class Call:
    """What the edge knows of a call before its bytes are read.

    `deadline` is on the event loop's clock; None: none was set.
    """

    caller: Caller
    method: str
    request_id: str
    deadline: float | None = None
    rest: Rest = field(default_factory=Rest, compare=False, repr=False)

    @property
    def name(self) -> str:
        """The method without its service."""
        return self.method.rpartition("/")[2]

    def time_left_s(self, limit_s: float) -> float:
        """Seconds that may be spent waiting.

        What is left until shortly before the caller's deadline, at most the limit.
        """
        if self.deadline is None:
            return limit_s
        left = self.deadline - asyncio.get_running_loop().time()
        return max(0.0, min(limit_s, left - min(0.05, left / 5)))


UnaryMethod = Callable[[Call, bytes], Awaitable[bytes]]
StreamMethod = Callable[[Call, AsyncIterator[bytes]], AsyncIterator[bytes]]


def new_id() -> str:
    """A fresh id of 128 bits whose order is that of time (UUIDv7)."""
    return str(uuid_utils.uuid7())
