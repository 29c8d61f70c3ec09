"""A policy whose conditions take long holds up the calls that they are evaluated for, and no other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import grpc
import pytest

from discreet.v1 import common_pb2, disclosure_pb2
from tests.server.support import (
    POLICY,
    Running,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    in_process,
    make_repo,
    segment,
    verdicts,
)

COSTLY = """  - id: costly
    effect: WITHHOLD
    moments: [PUBLISH]
    when: principal.attributes.n.all(x, principal.attributes.n.all(y, x + y >= 0 && x * y >= 0))
"""
SEGMENTS = 100


@pytest.fixture
async def costly(place: Path) -> AsyncIterator[Running]:
    """A server whose policy takes as many steps at PUBLISH as it may; with a document."""
    repo = make_repo(place / "policy", {**POLICY, "rules.yaml": POLICY["rules.yaml"] + COSTLY})
    async with in_process(config_of(place, repo.path, lease_s=60.0)) as running:
        await running.lines.collector.put(document())
        yield running


Asking = TypeVar("Asking", disclosure_pb2.CheckRequest, disclosure_pb2.CommitRequest)


def with_numbers(request: Asking) -> Asking:
    """The request with a list of numbers that the condition goes through, and through again for each."""
    for number in range(100):
        request.principal.attributes["n"].list_value.values.add().int_value = number
    return request


def segments() -> list[disclosure_pb2.Segment]:
    """Far fewer than a call may have."""
    return [segment(f"s{number}") for number in range(SEGMENTS)]


def _under_way(costly: Running) -> Callable[[], Awaitable[bool]]:
    async def under_way() -> bool:
        return costly.server.edge.running > 0

    return under_way


async def test_a_costly_call_leaves_the_others_their_time(costly: Running) -> None:
    """POL-09: its segments are COST_EXCEEDED in the end; the checks beside it do not wait for that."""
    agent, under_way = costly.lines.agent, _under_way(costly)
    big = asyncio.create_task(agent.check(with_numbers(check(*segments())), within=60))
    await eventually(under_way)
    slowest, asked = 0.0, 0
    while not big.done() and asked < 20:
        began = time.monotonic()
        assert verdicts(await agent.check(check(moment=common_pb2.MOMENT_RETRIEVE))) == [("ALLOW", "NONE")]
        slowest, asked = max(slowest, time.monotonic() - began), asked + 1
    assert asked > 1
    assert slowest < 0.5
    assert set(verdicts(await big)) == {("WITHHOLD", "COST_EXCEEDED")}


async def test_a_commit_is_judged_beside_the_others_too(costly: Running) -> None:
    """POL-09: as a check is."""
    agent, under_way = costly.lines.agent, _under_way(costly)
    big = asyncio.create_task(agent.commit(with_numbers(commit(*segments()[:30]))))
    await eventually(under_way)
    began = time.monotonic()
    await agent.check(check(moment=common_pb2.MOMENT_RETRIEVE))
    assert time.monotonic() - began < 0.5
    assert set(commit_verdicts(await big)) == {("WITHHOLD", "COST_EXCEEDED")}


async def test_work_ends_with_the_call_that_it_is_for(costly: Running) -> None:
    """RPC-03: once its caller has given up, no further segment is judged."""
    with pytest.raises(grpc.aio.AioRpcError) as refusal:
        await costly.lines.agent.check(with_numbers(check(*segments())), within=0.3)
    assert refusal.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED

    used = [time.process_time()]

    async def at_rest() -> bool:
        used.append(time.process_time())
        return len(used) > 10 and used[-1] - used[-10] < 0.1

    await eventually(at_rest, 2)
