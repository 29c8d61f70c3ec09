"""Commit: one order with the index, repeats by natural key, bounded rounds, everything in one transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from discreet.policy.token import decode
from discreet.server.stores import open_store
from discreet.v1 import audit_pb2, authority_pb2, common_pb2, disclosure_pb2, index_pb2
from tests.server.faults import FaultyStore
from tests.server.support import (
    POLICY,
    TENANT,
    PolicyRepo,
    Running,
    audit_rows,
    binding,
    check,
    commit,
    commit_verdicts,
    config_of,
    digest,
    document,
    eventually,
    in_process,
    ref,
    segment,
    verdicts,
)

Kind = disclosure_pb2.CommitOrder.Kind


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store before whose methods something can happen."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def staged(place: Path, repo: PolicyRepo, store: FaultyStore) -> AsyncIterator[Running]:
    """A server on it, with two documents."""
    async with in_process(config_of(place, repo.path), store=store) as running:
        await running.lines.collector.put(document(), document("handbook/other"))
        yield running


def kinds(response: disclosure_pb2.CommitResponse) -> list[str]:
    """Where each result stands in the order."""
    return [Kind.Name(one.order.kind).removeprefix("KIND_") for one in response.results]


async def test_a_commit_is_in_the_ledger_with_its_order_and_its_time(running: Running) -> None:
    """B6: the answer names the state after the commit, the ledger id, and until when the segment may be stored."""
    await running.lines.collector.put(document())
    made = await running.lines.agent.commit(commit())
    one = made.results[0]
    assert (kinds(made), one.order.token, bool(one.ledger_id)) == (["COMMITTED"], made.token, True)
    assert one.store_by.seconds > 0
    later = await running.lines.agent.check(check(ledger_ids=[one.ledger_id]))
    assert decode(later.token).seq >= decode(made.token).seq


async def test_segments_stand_alone(running: Running) -> None:
    """B4: what may be shown is committed, what may not is refused, and neither takes the other with it."""
    await running.lines.collector.put(document(), document("notes/plan", source_label="notes"))
    both = segment("both", binding(), binding("notes/plan"))
    made = await running.lines.agent.commit(commit(segment("a"), segment("b", binding("notes/plan")), both))
    assert commit_verdicts(made) == [
        ("ALLOW", "NONE"),
        ("WITHHOLD", "UNTRUSTED_SOURCE"),
        ("WITHHOLD", "UNTRUSTED_SOURCE"),
    ]
    assert kinds(made) == ["COMMITTED", "REFUSED", "REFUSED"]
    assert [bool(one.ledger_id) for one in made.results] == [True, False, False]


async def test_a_repeat_gives_the_same_entry_and_a_fresh_verdict(running: Running) -> None:
    """A repeat writes nothing again; its verdict is as at REPLAY, so a revoke in between is seen."""
    await running.lines.collector.put(document())
    first = await running.lines.agent.commit(commit())
    again = await running.lines.agent.commit(commit())
    assert (kinds(again), commit_verdicts(again)) == (["REPEATED"], [("ALLOW", "NONE")])
    assert again.results[0].ledger_id == first.results[0].ledger_id
    assert again.results[0].store_by == first.results[0].store_by
    assert again.results[0].result.segment_id == "s1"
    await running.lines.operator.call(
        index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    )
    after = await running.lines.agent.commit(commit())
    assert (kinds(after), commit_verdicts(after)) == (["REPEATED"], [("PURGE", "RETENTION_REVOKED")])


async def test_a_repeat_with_new_segments_commits_those_alone(running: Running) -> None:
    """Some of a call may be repeats."""
    await running.lines.collector.put(document())
    first = await running.lines.agent.commit(commit(segment("a")))
    both = await running.lines.agent.commit(commit(segment("b"), segment("a")))
    assert kinds(both) == ["COMMITTED", "REPEATED"]
    assert both.results[1].ledger_id == first.results[0].ledger_id
    assert [one.result.segment_id for one in both.results] == ["b", "a"]


@pytest.mark.parametrize(
    "other",
    [
        commit(segment("new"), segment("s1", digest=digest("another text"))),
        commit(segment("new"), segment("s1", binding("handbook/other"))),
        commit(segment("new"), segment("s1"), principal="bo"),
        commit(segment("new"), segment("s1"), need_numbers=True),
        commit(segment("new"), segment("s1"), need_advice=True),
    ],
)
async def test_the_same_key_with_something_else_writes_nothing(
    staged: Running, other: disclosure_pb2.CommitRequest
) -> None:
    """A15: ALREADY_EXISTS names the segment; the new one beside it is not committed either."""
    await staged.lines.agent.commit(commit())
    before = await staged.server.store.head()
    error = await staged.lines.agent.refused(other)
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("ALREADY_EXISTS", "segments[1]")
    after = await staged.server.store.head()
    assert after.seq == before.seq
    assert kinds(await staged.lines.agent.commit(commit(segment("new")))) == ["COMMITTED"]


async def test_replay_is_for_the_same_principal_and_session(running: Running) -> None:
    """B1, F11: another's stored segment, another session's and one that never was are one text.

    The audit tells them apart.
    """
    await running.lines.collector.put(document())
    ledger_id = (await running.lines.agent.commit(commit())).results[0].ledger_id
    asked = [
        check(ledger_ids=[ledger_id], principal="bo"),
        check(ledger_ids=[ledger_id], session_id="session-2"),
        check(ledger_ids=["00000000-0000-4000-8000-000000000000"]),
    ]
    answers = [await running.lines.agent.check(one) for one in asked]
    assert [verdicts(one) for one in answers] == [[("WITHHOLD", "NOT_AVAILABLE")]] * 3
    outputs = [one.results[0].output for one in answers]
    for output in outputs:
        output.goal.segment_id = ""
    assert outputs[0] == outputs[1] == outputs[2]
    causes = [one.decision.reason for one in await running.lines.auditor.decisions(moment=common_pb2.MOMENT_REPLAY)]
    assert causes == [
        common_pb2.REASON_DOCUMENT_UNKNOWN,
        common_pb2.REASON_SESSION_MISMATCH,
        common_pb2.REASON_PRINCIPAL_MISMATCH,
    ]


def revoke(running: Running, record_id: str = "handbook/leave") -> Callable[[], Coroutine[Any, Any, object]]:
    """What an operator does in the middle of something."""
    request = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(record_id), reason="asked to", ticket="T-1")
    return lambda: running.lines.operator.call(request)


async def test_a_revoke_between_check_and_commit_wins(staged: Running, store: FaultyStore) -> None:
    """B6: committed first, the revoke makes the publication fail.

    The outcome names the order, and the other segment goes through.
    """
    store.before["record"] = revoke(staged)
    made = await staged.lines.agent.commit(commit(segment("a"), segment("b", binding("handbook/other"))))
    assert commit_verdicts(made) == [("PURGE", "RETENTION_REVOKED"), ("ALLOW", "NONE")]
    assert kinds(made) == ["OVERTAKEN", "COMMITTED"]
    row = audit_rows(staged.server.config.db)[-1]
    assert [one.order.kind for one in row.decisions] == [Kind.KIND_OVERTAKEN, Kind.KIND_COMMITTED]


async def test_a_grant_withdrawn_between_check_and_commit_wins(staged: Running, store: FaultyStore) -> None:
    """B6: the grants are read again inside the lock."""
    lines = staged.lines
    await lines.collector.put(document("handbook/staff", scopes=["staff"]))
    await lines.operator.call(
        index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="joined")
    )
    gone = index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="left")
    store.before["record"] = lambda: lines.operator.call(gone)
    made = await lines.agent.commit(commit(segment("a", binding("handbook/staff"))))
    assert (commit_verdicts(made), kinds(made)) == ([("WITHHOLD", "NOT_AVAILABLE")], ["OVERTAKEN"])


async def test_a_policy_published_between_check_and_commit_wins(
    staged: Running, store: FaultyStore, repo: PolicyRepo
) -> None:
    """B6, F2: the policy revision is compared inside the lock; the segment is decided again under the one in force."""
    strict = POLICY["rules.yaml"].replace("sources: [handbook, prices", "sources: [prices")

    async def publish() -> None:
        newest = repo.commit({"rules.yaml": strict})

        async def holds() -> bool:
            snapshot = staged.server.policies.snapshot
            return snapshot is not None and snapshot.commit == newest

        await eventually(holds)

    store.before["record"] = publish
    made = await staged.lines.agent.commit(commit())
    assert (commit_verdicts(made), kinds(made)) == ([("WITHHOLD", "POLICY_RULE")], ["OVERTAKEN"])
    assert made.policy.number == 2


async def test_what_keeps_changing_is_withheld_after_bounded_rounds_and_the_rest_is_committed(
    staged: Running, store: FaultyStore
) -> None:
    """B2: repeats are bounded; only what rests on the changing record is given up."""
    flips = 0
    operator = staged.lines.operator

    async def flip() -> None:
        nonlocal flips
        flips += 1
        kind = index_pb2.SetScopesRequest
        scopes = ["public"] if flips % 2 else ["public", "staff"]
        await operator.call(kind(tenant=TENANT, record=ref(), scopes=scopes, reason="why"))
        store.before["record"] = flip

    await flip()
    made = await staged.lines.agent.commit(commit(segment("a"), segment("b", binding("handbook/other"))))
    store.before.clear()
    assert commit_verdicts(made) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE"), ("ALLOW", "NONE")]
    assert kinds(made) == ["OVERTAKEN", "COMMITTED"]
    assert flips < 20
    assert commit_verdicts(await staged.lines.agent.commit(commit(segment("a")))) == [("ALLOW", "NONE")]


async def test_grants_that_keep_changing_give_their_own_code(staged: Running, store: FaultyStore) -> None:
    """B2: AUTH_REVISION_CHANGED where a commit's bounded repeats ran out over grants."""
    flips = 0

    async def flip() -> None:
        nonlocal flips
        flips += 1
        store.before["record"] = flip
        request = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope=f"s{flips}", reason="why")
        await staged.lines.operator.call(request)

    store.before["record"] = flip
    made = await staged.lines.agent.commit(commit())
    store.before.clear()
    assert (commit_verdicts(made), kinds(made)) == ([("WITHHOLD", "AUTH_REVISION_CHANGED")], ["OVERTAKEN"])


async def test_the_audit_says_that_what_stands_above_records_kept_changing(staged: Running, store: FaultyStore) -> None:
    """B2, B3: freezes of another source overtake a commit through all of its rounds: nothing is shown, and it says why.

    The reader is not told of a freeze, since none is on what was asked for.
    """

    async def flip() -> None:
        store.before["record"] = flip
        request = authority_pb2.FreezeRequest(tenant=TENANT, source_label="notes", reason="why")
        request.until.FromSeconds(int(time.time()) + 3_600)
        await staged.lines.operator.call(request)

    store.before["record"] = flip
    made = await staged.lines.agent.commit(commit())
    store.before.clear()
    assert (commit_verdicts(made), kinds(made)) == ([("WITHHOLD", "DEPENDENCY_UNAVAILABLE")], ["OVERTAKEN"])
    (found,) = await staged.lines.auditor.decisions(tenant=TENANT, record_id="handbook/leave")
    assert found.decision.detail == "what stands above the records kept changing"
    assert commit_verdicts(await staged.lines.agent.commit(commit())) == [("ALLOW", "NONE")]


async def test_the_audit_and_the_answer_name_the_same_decisions(running: Running) -> None:
    """Every result's decision id leads to its row, in the act of a commit, with the ledger id."""
    await running.lines.collector.put(document())
    made = await running.lines.agent.commit(commit(segment("a"), segment("b")))
    found = await running.lines.auditor.decisions(tenant=TENANT, record_id="handbook/leave")
    assert {one.decision.decision_id for one in found} == {one.result.decision_id for one in made.results}
    assert {one.decision.ledger_id for one in found} == {one.ledger_id for one in made.results}
    assert {one.act for one in found} == {audit_pb2.AUDIT_ACT_COMMIT}
    assert {one.answer_id for one in found} == {"answer-1"}


async def test_commits_and_a_revoke_side_by_side_stand_in_one_order(running: Running) -> None:
    """B6: of thirty commits around a revoke, those before it stand and those after it are refused.

    Tokens say which is which.
    """
    await running.lines.collector.put(document())

    async def one(number: int) -> disclosure_pb2.CommitResponse:
        return await running.lines.agent.commit(commit(answer=f"answer-{number}"))

    first = [asyncio.create_task(one(i)) for i in range(15)]
    await first[0]
    revoked = asyncio.create_task(revoke(running)())
    rest = [asyncio.create_task(one(i)) for i in range(15, 30)]
    made = await asyncio.gather(*first, *rest)
    response = await revoked
    assert isinstance(response, index_pb2.RevokeRetentionResponse)
    at = decode(response.token).seq
    for answer in made:
        if commit_verdicts(answer) == [("ALLOW", "NONE")]:
            assert decode(answer.results[0].order.token).seq < at
        else:
            assert commit_verdicts(answer) == [("PURGE", "RETENTION_REVOKED")]
            assert decode(answer.results[0].order.token).seq >= at
    for answer in made:
        if answer.results[0].ledger_id:
            replay = await running.lines.agent.check(check(ledger_ids=[answer.results[0].ledger_id]))
            assert verdicts(replay) == [("PURGE", "RETENTION_REVOKED")]


async def test_one_commit_sent_twice_at_once_stands_once(running: Running) -> None:
    """Whoever comes second gets the first one's entry."""
    await running.lines.collector.put(document())
    made = await asyncio.gather(*(running.lines.agent.commit(commit()) for _ in range(8)))
    assert len({one.results[0].ledger_id for one in made}) == 1
    assert sorted(kinds(one)[0] for one in made) == ["COMMITTED"] + ["REPEATED"] * 7


async def test_an_unbound_segment_is_committed_where_a_rule_allows_its_kind(running: Running) -> None:
    """B12: small talk rests on nothing and is allowed by kind; an unbound answer is not.

    A bound one without bindings neither.
    """
    talk = segment("t", kind="small-talk", grounding=common_pb2.GROUNDING_UNBOUND)
    talk.ClearField("bindings")
    answer = segment("a", grounding=common_pb2.GROUNDING_UNBOUND)
    answer.ClearField("bindings")
    bare = segment("b")
    bare.ClearField("bindings")
    made = await running.lines.agent.commit(commit(talk, answer, bare))
    assert commit_verdicts(made) == [("ALLOW", "NONE"), ("WITHHOLD", "POLICY_RULE"), ("WITHHOLD", "NO_BINDING")]
