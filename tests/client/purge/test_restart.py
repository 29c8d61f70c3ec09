"""A holder outlives the server: killed and started again, it goes on with what is open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discreet.client.purge import AsyncHolder, HolderKind, Outcome, PurgeItem
from discreet.v1 import index_pb2
from discreet.v1 import purge_pb2 as pb
from tests.server.support import TENANT, Spawned, commit, document, eventually, make_repo, ref, segment, spawn

FIRST, MANY = 3, 6


async def revoked(server: Spawned) -> str:
    """The order of a revoke under which some segments fall."""
    await server.lines.collector.put(document())
    await server.lines.agent.commit(commit(*(segment(f"s{number}") for number in range(MANY))))
    asked = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    answer = await server.lines.operator.call(asked)
    assert isinstance(answer, index_pb2.RevokeRetentionResponse)
    return answer.purge_order_id


@pytest.mark.parametrize("how", ["kill", "terminate"])
async def test_a_holder_goes_on_when_the_server_is_back(place: Path, how: str) -> None:
    """RET-08, F3: kill -9 or a drain in the middle: every item is answered in the end, by the same `run`."""
    policy = make_repo(place / "policy").path
    server = await spawn(place, policy)
    seen: list[PurgeItem] = []
    stopped, go_on = asyncio.Event(), asyncio.Event()

    async def purge(item: PurgeItem) -> Outcome:
        seen.append(item)
        if len(seen) == FIRST:
            stopped.set()
            await go_on.wait()
        return Outcome.PURGED

    sockets = server.ready["sockets"]
    assert isinstance(sockets, dict)
    async with AsyncHolder(f"unix:{sockets['holder']}", tenant=TENANT) as holder:
        await holder.register(HolderKind.SEGMENT_STORE)
        working = asyncio.create_task(holder.run(purge, lambda _: False))
        await revoked(server)
        await stopped.wait()
        if how == "kill":
            server.process.kill()
            await server.process.wait()
            await server.lines.close()
        else:
            assert await server.terminate() == 0
        again = await spawn(place, policy)
        go_on.set()

        async def done() -> bool:
            told = await again.lines.operator.call(pb.ListPurgeOrdersRequest(tenant=TENANT))
            assert isinstance(told, pb.ListPurgeOrdersResponse)
            return told.orders[0].done

        await eventually(done, 30)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    assert {item.item for item in seen} == set(range(1, MANY + 1))
    assert await again.terminate() == 0
