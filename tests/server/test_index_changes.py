"""What changes of what may be shown: states of records, revokes, grants."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.v1 import common_pb2, index_pb2
from tests.server.support import (
    TENANT,
    Running,
    audit_rows,
    binding,
    check,
    commit,
    digest,
    document,
    ref,
    segment,
    verdicts,
)

FAR = Timestamp(seconds=4_000_000_000)
PAST = Timestamp(seconds=1_000_000_000)

HIDES: list[tuple[Any, dict[str, Any], str, Any, dict[str, Any]]] = [
    (index_pb2.SuspendRequest, {}, "SUSPENDED", index_pb2.ResumeRequest, {}),
    (
        index_pb2.MarkUnreachableRequest,
        {},
        "DOCUMENT_UNREACHABLE",
        index_pb2.MarkUnreachableRequest,
        {"reachable": True},
    ),
    (
        index_pb2.RecordAssessmentRequest,
        {"expires_at": PAST},
        "ASSESSMENT_EXPIRED",
        index_pb2.RecordAssessmentRequest,
        {"expires_at": FAR},
    ),
    (
        index_pb2.RecordAssessmentRequest,
        {},
        "ELIGIBILITY_UNKNOWN",
        index_pb2.RecordAssessmentRequest,
        {"expires_at": FAR},
    ),
    (
        index_pb2.SetScopesRequest,
        {"scopes": ["staff"]},
        "NOT_AVAILABLE",
        index_pb2.SetScopesRequest,
        {"scopes": ["public"]},
    ),
    (
        index_pb2.SupersedeRequest,
        {"successor": ref("handbook/other")},
        "SUPERSEDED",
        index_pb2.SupersedeRequest,
        {"clear": True},
    ),
]


def made(kind: type[Message], fields: dict[str, Any]) -> Message:
    """A request about the document, with a reason."""
    return kind(tenant=TENANT, record=ref(), reason="why", **fields)


@pytest.mark.parametrize("kind, fields, reason, back, back_fields", HIDES, ids=lambda v: getattr(v, "__name__", None))
async def test_each_state_hides_deletes_nothing_and_shows_again(
    running: Running,
    kind: type[Message],
    fields: dict[str, Any],
    reason: str,
    back: type[Message],
    back_fields: dict[str, Any],
) -> None:
    """B8: everything but an explicit revoke only hides, at RETRIEVE and at REPLAY, and shows again where it ends."""
    lines = running.lines
    await lines.collector.put(document(), document("handbook/other"))
    ledger_id = (await lines.agent.commit(commit())).results[0].ledger_id
    asked = [check(moment=common_pb2.MOMENT_RETRIEVE), check(ledger_ids=[ledger_id])]
    await lines.operator.call(made(kind, fields))
    for one in asked:
        assert verdicts(await lines.agent.check(one)) == [("WITHHOLD", reason)]
    await lines.operator.call(made(back, back_fields))
    for one in asked:
        assert verdicts(await lines.agent.check(one)) == [("ALLOW", "NONE")]


@pytest.mark.parametrize(
    "kind, fields", [(kind, fields) for kind, fields, *_ in HIDES], ids=lambda v: getattr(v, "__name__", None)
)
async def test_what_changes_nothing_writes_nothing(
    running: Running, kind: type[Message], fields: dict[str, Any]
) -> None:
    """A change that is there already leaves the token as it is."""
    await running.lines.collector.put(document(), document("handbook/other"))
    first = await running.lines.operator.call(made(kind, fields))
    again = await running.lines.operator.call(made(kind, fields))
    assert first == again


async def test_each_change_is_on_record_with_its_actor_reason_and_word(running: Running) -> None:
    """A14 in kind: who changed what, why, and to what; in the transaction of the change itself."""
    await running.lines.collector.put(document(), document("handbook/other"))
    for kind, fields, *_ in HIDES:
        await running.lines.operator.call(made(kind, fields))
    rows = audit_rows(running.server.config.db)[-len(HIDES) :]
    assert [row.change.method for row in rows] == [kind.__name__.removesuffix("Request") for kind, *_ in HIDES]
    assert {(row.caller.name, row.change.reason, row.change.record.record_id) for row in rows} == {
        ("operator", "why", "handbook/leave")
    }
    assert [row.change.detail for row in rows] == [
        "",
        "unreachable",
        "eligible until 2001-09-09T01:46:40Z",
        "not assessed",
        "staff",
        "successor handbook/other version 1",
    ]
    assert [row.change.seq for row in rows] == sorted({row.change.seq for row in rows})


async def test_an_unknown_record_is_not_found_and_an_unknown_successor_too(running: Running) -> None:
    """Operators are told what the index does not hold."""
    error = await running.lines.operator.refused(made(index_pb2.SuspendRequest, {}))
    assert error.code().name == "NOT_FOUND"
    await running.lines.collector.put(document())
    request = made(index_pb2.SupersedeRequest, {"successor": ref("handbook/nowhere")})
    error = await running.lines.operator.refused(request)
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("NOT_FOUND", "successor")


async def test_a_collector_changes_records_of_its_labels_alone(running: Running) -> None:
    """A16: the record's collector may supersede, scope and assess; suspending is an operator's."""
    await running.lines.collector.put(document())
    await running.lines.collector.call(made(index_pb2.SetScopesRequest, {"scopes": ["staff"]}))
    error = await running.lines.collector.refused(made(index_pb2.SuspendRequest, {}))
    assert error.code().name == "PERMISSION_DENIED"


async def test_a_dry_run_does_nothing_and_its_digest_binds_the_revoke(running: Running) -> None:
    """The digest of a dry run is refused once more segments rest on the version."""
    lines = running.lines
    await lines.collector.put(document())
    await lines.agent.commit(commit())
    revoke = index_pb2.RevokeRetentionRequest(
        tenant=TENANT, record=ref(), reason="asked to", ticket="T-1", dry_run=True
    )
    dry = await lines.operator.call(revoke)
    assert isinstance(dry, index_pb2.RevokeRetentionResponse)
    assert dry.affected_segments == 1
    assert verdicts(await lines.agent.check(check())) == [("ALLOW", "NONE")]
    await lines.agent.commit(commit(answer="answer-2"))
    real = index_pb2.RevokeRetentionRequest(
        tenant=TENANT, record=ref(), reason="asked to", ticket="T-1", dry_run_digest=dry.dry_run_digest
    )
    assert (await lines.operator.refused(real)).code().name == "FAILED_PRECONDITION"
    again = await lines.operator.call(revoke)
    assert isinstance(again, index_pb2.RevokeRetentionResponse)
    real.dry_run_digest = again.dry_run_digest
    await lines.operator.call(real)
    assert verdicts(await lines.agent.check(check())) == [("PURGE", "RETENTION_REVOKED")]


async def test_a_revoke_that_is_not_due_withholds_and_is_repeatable(running: Running) -> None:
    """B8: before purge_not_before copies are withheld, not purged.

    The same revoke again changes nothing, other terms are refused.
    """
    await running.lines.collector.put(document())
    revoke = index_pb2.RevokeRetentionRequest(
        tenant=TENANT, record=ref(), reason="asked to", ticket="T-1", purge_not_before=FAR
    )
    first = await running.lines.operator.call(revoke)
    assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "RETENTION_REVOKED")]
    again = await running.lines.operator.call(revoke)
    assert isinstance(first, index_pb2.RevokeRetentionResponse)
    assert isinstance(again, index_pb2.RevokeRetentionResponse)
    assert (again.token, again.purge_order_id) == (first.token, first.purge_order_id)
    assert (again.affected_versions, again.already_revoked) == (0, 1)
    revoke.ClearField("purge_not_before")
    assert (await running.lines.operator.refused(revoke)).code().name == "FAILED_PRECONDITION"


async def test_grants_open_and_withdrawals_close_at_once(running: Running) -> None:
    """TIM-03: a grant from now on holds at once; a withdrawal ends all grants of the scope.

    A new one has a new generation.
    """
    lines = running.lines
    await lines.collector.put(document(scopes=["staff"]))
    grant = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="joined")
    withdraw = index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="staff", reason="left")
    assert verdicts(await lines.agent.check(check())) == [("WITHHOLD", "NOT_AVAILABLE")]
    first = await lines.operator.call(grant)
    assert verdicts(await lines.agent.check(check())) == [("ALLOW", "NONE")]
    assert await lines.operator.call(grant) == first
    gone = await lines.operator.call(withdraw)
    assert isinstance(gone, index_pb2.WithdrawScopeResponse)
    assert gone.withdrawn == 1
    assert verdicts(await lines.agent.check(check())) == [("WITHHOLD", "NOT_AVAILABLE")]
    nothing = await lines.operator.call(withdraw)
    assert isinstance(nothing, index_pb2.WithdrawScopeResponse)
    assert (nothing.withdrawn, nothing.token) == (0, gone.token)
    second = await lines.operator.call(grant)
    assert isinstance(second, index_pb2.GrantScopeResponse)
    assert second.generation == 2
    listed = await lines.operator.call(index_pb2.ListGrantsRequest(tenant=TENANT, history=True))
    assert isinstance(listed, index_pb2.ListGrantsResponse)
    assert [(one.generation, one.withdrawn) for one in listed.grants] == [(1, True), (2, False)]


async def test_records_are_listed_a_page_at_a_time(running: Running) -> None:
    """AUD-04 in kind: a page token holds for its own query, and each record comes exactly once."""
    await running.lines.collector.put(*(document(f"handbook/p{i}") for i in range(7)))
    request = index_pb2.ListRecordsRequest(tenant=TENANT, page_size=3)
    found: list[str] = []
    while True:
        page = await running.lines.operator.call(request)
        assert isinstance(page, index_pb2.ListRecordsResponse)
        found += [one.record_id for one in page.records]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert found == [f"handbook/p{i}" for i in range(7)]
    request.source_label = "handbook"
    assert (await running.lines.operator.refused(request)).code().name == "INVALID_ARGUMENT"


async def test_revoked_content_is_refused_whatever_it_is_called(running: Running) -> None:
    """B7, RET-10: a tombstone by digest refuses new versions and records with the content, and touches no other one."""
    lines = running.lines
    same = digest("handbook/leave@1")
    await lines.collector.put(document(), document("handbook/copy", digest=same))
    await lines.operator.call(
        index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    )
    again = await lines.collector.put(
        document(version="2", digest=same),
        document("handbook/new", digest=same),
        document("handbook/copy", digest=same),
    )
    assert [(outcome.kind, outcome.reason) for outcome in again.outcomes] == [
        (index_pb2.PutOutcome.KIND_REFUSED, common_pb2.REASON_TOMBSTONED),
        (index_pb2.PutOutcome.KIND_REFUSED, common_pb2.REASON_TOMBSTONED),
        (index_pb2.PutOutcome.KIND_UNCHANGED, common_pb2.REASON_UNSPECIFIED),
    ]
    copy = check(segment("s1", binding("handbook/copy", digest=same)))
    assert verdicts(await lines.agent.check(copy)) == [("ALLOW", "NONE")]
    other = await lines.collector.put(document(digest=same), tenant="bolt")
    assert [outcome.kind for outcome in other.outcomes] == [index_pb2.PutOutcome.KIND_CREATED]
