"""WatchPurgeOrders: a holder's items as they become due, until the holder leaves or the server drains.

A round is made at the beginning, when something moved that concerns purges, when an item's time has come, and before
the stream says that the line is alive, which it does now and then.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from discreet.policy.codec import Malformed, parse_message
from discreet.policy.token import BadToken, decode
from discreet.server.calls import Call
from discreet.server.errors import Precondition
from discreet.server.ports import Head, Store
from discreet.server.reading.heads import SharedHeads
from discreet.server.servicers import fields
from discreet.server.servicers.index.messages import token_of
from discreet.server.servicers.purge.delivering import Delivery, Round
from discreet.server.servicers.purge.looking import Looks
from discreet.server.servicers.purge.tide import Tide
from discreet.v1 import purge_pb2 as pb

HEARTBEAT_S: Final = 20.0
WAIT_MIN_S: Final = 0.05
"""The shortest wait between two rounds, so that a busy index does not make a busy stream."""


class Watching:
    """Answers WatchPurgeOrders."""

    def __init__(
        self, store: Store, heads: SharedHeads, tide: Tide, timeout_s: float, heartbeat_s: float = HEARTBEAT_S
    ) -> None:
        self._store = store
        self._looks = Looks(store, timeout_s)
        self._heads = heads
        self._tide = tide
        self._timeout_s = timeout_s
        self.heartbeat_s = heartbeat_s

    async def watch(self, call: Call, frames: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Items, recalls and rechecks; ends by itself only when the server drains."""
        request = await _request(frames)
        tenant, holder = fields.tenant(call, request.tenant), call.caller.name
        head = await self._head()
        _require_same(request.resume_token, head)
        async with asyncio.timeout(self._timeout_s):
            holders = await self._store.look(lambda look: look.holders(tenant, removed=True))
        if holder not in {row.holder for row in holders}:
            raise Precondition("this identity is not registered as a holder for the tenant; call RegisterHolder first")
        line, delivery = (tenant, holder), Delivery(self._looks, tenant, holder)
        quiet_since, first = asyncio.get_running_loop().time(), True
        while not self._tide.drained:
            number = self._tide.number_of(line)
            head = await self._head()
            found = await delivery.round()
            now = asyncio.get_running_loop().time()
            if first or not found.empty or now - quiet_since >= self.heartbeat_s:
                yield _message(found, head).SerializeToString()
                quiet_since, first = now, False
            left = quiet_since + self.heartbeat_s - now
            wait = max(WAIT_MIN_S, min(left, left if found.next_s is None else found.next_s))
            await self._tide.after(number, wait, line)

    async def _head(self) -> Head:
        async with asyncio.timeout(self._timeout_s):
            return await self._heads.read()


async def _request(frames: AsyncIterator[bytes]) -> pb.WatchPurgeOrdersRequest:
    async for data in frames:
        return parse_message(pb.WatchPurgeOrdersRequest, data)
    raise Malformed("", "is missing", "send one WatchPurgeOrdersRequest")


def _require_same(text: str, head: Head) -> None:
    """Raises Precondition for a token of another database, or of a state that this one has lost."""
    if not text:
        return
    try:
        token = decode(text)
    except BadToken as error:
        raise Malformed("resume_token", str(error), "give one of this stream, or none") from None
    if token.epoch != head.epoch or token.seq > head.seq:
        raise Precondition(
            "resume_token: is of another database, or of a state that this one does not know: what was acknowledged"
            " there is not known here; watch without it, everything that is open comes again"
        )


def _message(found: Round, head: Head) -> pb.WatchPurgeOrdersResponse:
    return pb.WatchPurgeOrdersResponse(
        items=found.items, rechecks=found.rechecks, recalls=found.recalls, resume_token=token_of(head)
    )
