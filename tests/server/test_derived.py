"""Segments made from others, and exports, on a real server: what is made from others rests on all that they do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from discreet.policy.parents import ROOTS_PER_CALL_MAX
from discreet.v1 import audit_pb2, common_pb2, disclosure_pb2, index_pb2
from tests.server.support import (
    POLICY,
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
    ref,
    segment,
    verdicts,
)

RULES = """apiVersion: discreet/v1
kind: DisclosurePolicy
name: rules
rules:
  - {id: read, effect: ALLOW, moments: [RETRIEVE, PUBLISH, REPLAY], sources: [handbook]}
  - {id: take, effect: ALLOW, moments: [EXPORT], sources: [handbook], kinds: [summary]}
"""


@pytest.fixture
async def library(place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """A server on whose policy only summaries may be taken away, with three documents, one of them for staff."""
    repo.commit({**POLICY, "rules.yaml": RULES})
    async with in_process(config_of(place, repo.path)) as running:
        staff = document("handbook/pay", scopes=["staff"])
        await running.lines.collector.put(document(), document("handbook/travel"), staff)
        yield running


def made_from(*parents: str, name: str = "sum") -> disclosure_pb2.Segment:
    """A summary that binds nothing itself."""
    made = segment(name, kind="summary", parents=parents)
    made.ClearField("bindings")
    return made


async def ids(running: Running, request: disclosure_pb2.CommitRequest) -> list[str]:
    """Ledger ids of what a commit let through."""
    answer = await running.lines.agent.commit(request)
    assert commit_verdicts(answer) == [("ALLOW", "NONE")] * len(answer.results)
    return [one.ledger_id for one in answer.results]


async def two_answers_and_a_summary(running: Running) -> tuple[str, str, str]:
    """Two answers on a document each, and a summary of both."""
    travel = index_record("handbook/travel")
    first, second = await ids(running, commit(segment("a"), segment("b", travel)))
    (summary,) = await ids(running, commit(made_from(first, second), answer="answer-2"))
    return first, second, summary


def index_record(record_id: str) -> disclosure_pb2.Binding:
    """A binding to a document."""
    return binding(record_id)


def exported(*ledger_ids: str, principal: str = "ana") -> disclosure_pb2.CheckRequest:
    """A check at EXPORT."""
    request = check(ledger_ids=ledger_ids, principal=principal)
    request.moment = common_pb2.MOMENT_EXPORT
    return request


async def test_a_summary_falls_with_any_source_of_its_parents(library: Running) -> None:
    """F6, B10: hidden with one of them, at REPLAY and EXPORT, while the other answer stays; shown again after it."""
    first, second, summary = await two_answers_and_a_summary(library)
    replay = check(ledger_ids=[first, second, summary])
    assert verdicts(await library.lines.agent.check(replay)) == [("ALLOW", "NONE")] * 3
    await library.lines.operator.call(
        index_pb2.SuspendRequest(tenant=TENANT, record=ref("handbook/travel"), reason="x")
    )
    hidden = ("WITHHOLD", "SUSPENDED")
    assert verdicts(await library.lines.agent.check(replay)) == [("ALLOW", "NONE"), hidden, hidden]
    assert verdicts(await library.lines.agent.check(exported(summary))) == [hidden]
    await library.lines.operator.call(index_pb2.ResumeRequest(tenant=TENANT, record=ref("handbook/travel"), reason="x"))
    assert verdicts(await library.lines.agent.check(replay)) == [("ALLOW", "NONE")] * 3


async def test_a_revoke_purges_the_summary_under_its_order(library: Running) -> None:
    """B7, F3: the order of the document's revoke is named for the answer and for the summary, and by the auditor."""
    first, second, summary = await two_answers_and_a_summary(library)
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref("handbook/travel"), reason="x", ticket="T-1")
    await library.lines.operator.call(revoke)
    orders: list[str] = []
    for request in (check(ledger_ids=[first, second, summary]), exported(first, second, summary)):
        answer = await library.lines.agent.check(request)
        assert verdicts(answer)[1:] == [("PURGE", "RETENTION_REVOKED")] * 2
        orders = [one.purge_order_id for one in answer.results]
        assert orders[0] == ""
        assert orders[1] == orders[2] != ""
    newest = next(d for d in await library.lines.auditor.decisions() if d.decision.ledger_id == summary)
    assert newest.decision.purge_order_id == orders[2]
    assert list(newest.decision.parents) == [first, second]
    explain = audit_pb2.ExplainRequest(tenant=TENANT, decision_id=newest.decision.decision_id)
    explained = await library.lines.auditor.call(explain)
    assert isinstance(explained, audit_pb2.ExplainResponse)
    assert any(f"to be deleted under order {orders[2]}" in line for line in explained.lines)


async def test_what_may_be_read_again_may_not_be_taken_away_for_that(library: Running) -> None:
    """B1, B10: EXPORT has rules of its own; here summaries alone leave."""
    first, _, summary = await two_answers_and_a_summary(library)
    answer = await library.lines.agent.check(exported(first, summary))
    assert verdicts(answer) == [("WITHHOLD", "POLICY_RULE"), ("ALLOW", "NONE")]
    assert verdicts(await library.lines.agent.check(exported(summary, principal="bo"))) == [
        ("WITHHOLD", "NOT_AVAILABLE")
    ]


async def test_who_may_not_see_a_source_cannot_build_on_it(library: Running) -> None:
    """F11, DSC-03: a parent on a document that is not for this reader, and one that never was, are one answer."""
    grant = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="x")
    await library.lines.operator.call(grant)
    (pay,) = await ids(library, commit(segment("p", index_record("handbook/pay"))))
    (leave,) = await ids(library, commit(segment("l"), answer="answer-3"))
    for principal, parent, told in (
        ("ana", pay, ("ALLOW", "NONE")),
        ("bo", pay, ("WITHHOLD", "PARENT_UNUSABLE")),
        ("bo", "made-up", ("WITHHOLD", "PARENT_UNUSABLE")),
        ("bo", leave, ("ALLOW", "NONE")),
    ):
        request = commit(made_from(parent), answer=f"{principal}-{parent}", principal=principal)
        answer = await library.lines.agent.commit(request)
        assert commit_verdicts(answer) == [told]
        again = await library.lines.agent.commit(request)
        assert commit_verdicts(again) == [told]
    causes = [d.decision.detail for d in await library.lines.auditor.decisions(principal_id="bo", tenant=TENANT)]
    assert f"parent {pay}: SCOPE_DENIED of handbook/pay version 1" in causes
    assert "parent made-up: not in the ledger" in causes


async def test_the_same_segment_with_other_parents_is_another_commit(library: Running) -> None:
    """B6, RFR-03: what it was made from is part of what was committed under its key."""
    first, second, _ = await two_answers_and_a_summary(library)
    refused = await library.lines.agent.refused(commit(made_from(second, first), answer="answer-2"))
    assert "committed before" in str(refused.details())


async def test_a_summary_of_a_summary_holds_every_root(library: Running) -> None:
    """F6: retold twice, it still falls with the first document."""
    _, _, summary = await two_answers_and_a_summary(library)
    (again,) = await ids(library, commit(made_from(summary, name="sum2"), answer="answer-4"))
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="x", ticket="T-1")
    await library.lines.operator.call(revoke)
    assert verdicts(await library.lines.agent.check(check(ledger_ids=[again]))) == [("PURGE", "RETENTION_REVOKED")]


async def test_a_call_rests_on_so_many_records_and_no_more(library: Running) -> None:
    """B3, F4: what one commit writes while all others wait has an end; what is too much for it is said, and hidden.

    Another agent commits meanwhile as ever; what did not fit is committed by a call of its own.
    """
    names = [f"handbook/page-{number}" for number in range(320)]
    await library.lines.collector.put(*[document(name) for name in names])
    bound = [
        segment(f"p{start}", *[binding(name) for name in names[start : start + 32]]) for start in range(0, 320, 32)
    ]
    parents = await ids(library, commit(*bound, answer="pages"))
    drafts = [made_from(*parents, name=f"s{number}") for number in range(40)]
    big = asyncio.create_task(library.lines.agent.commit(commit(*drafts, answer="sums")))
    others = [await library.lines.agent.commit(commit(segment("o"), answer=f"other-{number}")) for number in range(5)]
    assert [told for one in others for told in commit_verdicts(one)] == [("ALLOW", "NONE")] * 5
    fit = ROOTS_PER_CALL_MAX // len(names)
    answer = await big
    assert commit_verdicts(answer) == [("ALLOW", "NONE")] * fit + [("WITHHOLD", "COST_EXCEEDED")] * (40 - fit)
    (late,) = await ids(library, commit(drafts[-1], answer="sums"))
    everything = [*(one.ledger_id for one in answer.results[:fit]), late]
    assert verdicts(await library.lines.agent.check(check(ledger_ids=everything))) == [("ALLOW", "NONE")] * (fit + 1)
