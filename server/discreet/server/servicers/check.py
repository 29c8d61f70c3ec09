"""Check: what would be allowed now.

One path for everything that is well-formed: unknown and denied take the same steps (F11).
"""

from __future__ import annotations

import asyncio

from discreet.policy.codec import Parsed, Reply, encode_check, parse_check
from discreet.policy.decide import withhold_all
from discreet.policy.words import AuditAct, AuditMode, Reason
from discreet.server.calls import Call, new_id
from discreet.server.servicers.asking import Asked, Asking, computed, evened


class Checking:
    """Answers Check, and every frame of a check stream."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def check(self, call: Call, data: bytes) -> bytes:
        """The bytes of a CheckResponse. Raises Malformed, Denied, Precondition; a lost store withholds instead."""
        began = asyncio.get_running_loop().time()
        parsed: Parsed = await computed(len(data), parse_check, data)
        request = self._asking.addressed(call, parsed.request)
        asked = await self._asking.gather(call, request, parsed.ids, bounded=parsed.bounded)
        return await self._answer(call, began, len(data), asked)

    async def _answer(self, call: Call, began: float, size: int, asked: Asked) -> bytes:
        request, size = asked.request, asked.size_with(size)
        if asked.reason is None:
            decided = await self._asking.decide(call, asked)
        else:
            decided = withhold_all(request, asked.snapshot, asked.reason)
        ids = [new_id() for _ in decided.results]
        if self._audited(asked):
            record = await computed(size, self._asking.record_of, call, AuditAct.CHECK, asked, decided, ids)
            mode = AuditMode.REQUIRED if asked.snapshot is None else asked.snapshot.audit_checks
            if not await self._asking.record(call, record, spooled=mode is AuditMode.SPOOLED):
                decided = withhold_all(request, asked.snapshot, Reason.AUDIT_UNAVAILABLE)
                self._asking.lease.end(call.rest)
                # Should the row be written after all, it is of an answer that nobody got: this one has other ids.
                ids = [new_id() for _ in decided.results]
        self._asking.tally.told(request.moment, decided.results)
        reply = Reply(request, call.request_id, asked.token, asked.snapshot, self._asking.instance, ids)
        answer = await computed(size, encode_check, decided, reply)
        await evened(call, began, decided.results)
        return answer

    def _audited(self, asked: Asked) -> bool:
        """Where the store just failed to answer, nothing is disclosed and its audit is not waited for."""
        if asked.reason is Reason.DEPENDENCY_UNAVAILABLE:
            return False
        return asked.snapshot is None or asked.snapshot.audit_checks is not AuditMode.NONE
