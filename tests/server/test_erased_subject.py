"""Who is erased: every right of a principal is withdrawn, while all that they were given before is still in hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from discreet.server.stores import open_store
from discreet.v1 import audit_pb2, common_pb2, disclosure_pb2, index_pb2
from tests.server.faults import FaultyStore
from tests.server.support import (
    TENANT,
    PolicyRepo,
    Running,
    binding,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    in_process,
    segment,
    verdicts,
)
from tests.server.test_stream import frame, opened

SCOPES = ("desk", "traders")
SHOWN, HIDDEN = [("ALLOW", "NONE")] * 2, [("WITHHOLD", "NOT_AVAILABLE")] * 2


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store before whose methods something can happen."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def staged(place: Path, repo: PolicyRepo, store: FaultyStore) -> AsyncIterator[Running]:
    """A server on it, with a document for each scope; ana holds both, bo one."""
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(*[document(f"handbook/{scope}", scopes=[scope]) for scope in SCOPES])
        for who, scope in (("ana", "desk"), ("ana", "traders"), ("bo", "desk")):
            granted = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id=who, scope=scope, reason="joined")
            await running.lines.operator.call(granted)
        yield running


def drafts(*receipts: str) -> list[disclosure_pb2.Segment]:
    """A segment on each document, with its receipt if there is one."""
    made = [segment(scope, binding(f"handbook/{scope}")) for scope in SCOPES]
    for one, receipt in zip(made, receipts, strict=False):
        one.bindings[0].receipt = receipt
    return made


async def erase(running: Running) -> None:
    """Withdraws all of ana's scopes at once."""
    asked = [
        index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope=scope, reason="erased")
        for scope in SCOPES
    ]
    await asyncio.gather(*(running.lines.operator.call(one) for one in asked))


class Stream:
    """An open CheckStream, asked a frame at a time."""

    def __init__(self, running: Running) -> None:
        self._sending: asyncio.Queue[bytes] = asyncio.Queue()
        self._answers = opened(running.lines.agent)(self._endless(), timeout=20).__aiter__()
        self._frames = 0

    async def _endless(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._sending.get()

    async def ask(self) -> list[tuple[str, str]]:
        """What is said of both segments now."""
        self._frames += 1
        self._sending.put_nowait(frame(self._frames, check(*drafts())))
        answer = disclosure_pb2.CheckStreamResponse.FromString(await anext(self._answers))
        return verdicts(answer.response)


async def test_who_is_erased_is_refused_everywhere_at_once(staged: Running, store: FaultyStore) -> None:
    """RET-10, B3, B6: on an open stream, with receipts, in a commit under way, by ledger ids of a second before.

    Nobody else loses anything, and what was decided before is explained as ever.
    """
    agent = staged.lines.agent
    read = await agent.check(check(*drafts(), moment=common_pb2.MOMENT_RETRIEVE))
    receipts = [one.receipts[0] for one in read.results]
    before = await agent.commit(commit(*drafts(*receipts), answer="before"))
    assert commit_verdicts(before) == SHOWN
    names = [one.ledger_id for one in before.results]
    stream = Stream(staged)
    assert await stream.ask() == SHOWN
    store.before["record"] = lambda: erase(staged)
    under_way = await agent.commit(commit(*drafts(*receipts), answer="under-way"))
    assert commit_verdicts(under_way) == HIDDEN
    assert {one.order.kind for one in under_way.results} == {disclosure_pb2.CommitOrder.KIND_OVERTAKEN}
    assert await stream.ask() == HIDDEN
    for moment in (common_pb2.MOMENT_RETRIEVE, common_pb2.MOMENT_PUBLISH):
        assert verdicts(await agent.check(check(*drafts(*receipts), moment=moment))) == HIDDEN
    for moment in (common_pb2.MOMENT_REPLAY, common_pb2.MOMENT_EXPORT):
        again = check(ledger_ids=names)
        again.moment = moment
        assert verdicts(await agent.check(again)) == HIDDEN
    assert commit_verdicts(await agent.commit(commit(*drafts(*receipts), answer="before"))) == HIDDEN
    built = segment("sum", parents=names)
    built.ClearField("bindings")
    assert commit_verdicts(await agent.commit(commit(built, answer="sum"))) == [("WITHHOLD", "PARENT_UNUSABLE")]
    assert verdicts(await agent.check(check(*drafts(), principal="bo"))) == [SHOWN[0], HIDDEN[0]]


async def test_what_was_shown_to_who_is_erased_stays_explainable(staged: Running) -> None:
    """RET-10, F7: the audit knows the principal by the id that the callers gave, and why each was shown or refused."""
    await staged.lines.agent.commit(commit(*drafts()))
    await erase(staged)
    await staged.lines.agent.check(check(*drafts()))
    found = await staged.lines.auditor.decisions(tenant=TENANT, principal_id="ana")
    reasons = sorted(common_pb2.Reason.Name(one.decision.reason) for one in found)
    assert reasons == ["REASON_NONE"] * 2 + ["REASON_SCOPE_DENIED"] * 2
    for one in found:
        asked = audit_pb2.ExplainRequest(tenant=TENANT, decision_id=one.decision.decision_id)
        explained = await staged.lines.auditor.call(asked)
        assert isinstance(explained, audit_pb2.ExplainResponse)
        assert any("ana" in line for line in explained.lines)
