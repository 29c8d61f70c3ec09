"""A holder of either kind at work beside a test: the same handlers, waited for in the same way. Tests nothing."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from discreet.client.purge import AsyncHolder, Holder
from discreet.client.purge_lines import SILENCE_S
from discreet.client.purging import HolderKind, Outcome, PurgeItem
from tests.server.purge.orders import Scene
from tests.server.support import TENANT

Purge = Callable[[PurgeItem], Outcome]
Has = Callable[[str], bool]
Recalled = Callable[[str, int], None]


def target(stage: Scene, holder: str) -> str:
    """Where a holder finds the server."""
    return f"unix:{stage.running.server.listeners.sockets[holder]}"


def nothing_there(_digest: str) -> bool:
    """Has nothing."""
    return False


@asynccontextmanager
async def at_work(
    kind: str, stage: Scene, purge: Purge, has: Has = nothing_there, recalled: Recalled | None = None,
    *, resume_token: str = "", where: str = "", silence_s: float = SILENCE_S,
) -> AsyncIterator[AsyncHolder | Holder]:  # fmt: skip
    """The holder `threads`, registered and working until the block ends; `kind`: "async" or "blocking"."""
    where = where or target(stage, "threads")
    if kind == "async":
        async with AsyncHolder(where, tenant=TENANT, resume_token=resume_token, silence_s=silence_s) as holder:
            await holder.register(HolderKind.SEGMENT_STORE)
            working = asyncio.create_task(holder.run(purge, has, recalled))
            yield holder
            working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await working
        return
    blocking = Holder(where, tenant=TENANT, resume_token=resume_token, silence_s=silence_s)
    await asyncio.to_thread(blocking.register, HolderKind.SEGMENT_STORE)
    running = asyncio.create_task(asyncio.to_thread(blocking.run, purge, has, recalled))
    try:
        yield blocking
    finally:
        blocking.close()
        await running
