"""Methods on messages, made into methods on bytes: parsed without unknown fields, answered as bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from google.protobuf.message import Message

from discreet.policy.codec import parse_message
from discreet.server.calls import Call, UnaryMethod

Q = TypeVar("Q", bound=Message)


def on_bytes(kind: type[Q], method: Callable[[Call, Q], Awaitable[Message]]) -> UnaryMethod:
    """The method as the edge calls it."""

    async def answer(call: Call, data: bytes) -> bytes:
        return (await method(call, parse_message(kind, data))).SerializeToString()

    return answer
