"""What auditors can ask: filters, pages, and one decision explained."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.v1 import audit_pb2, common_pb2, index_pb2
from tests.server.support import TENANT, Running, binding, check, commit, digest, document, segment


@pytest.fixture
async def asked(running: Running) -> Running:
    """A server that was asked a few different things."""
    lines = running.lines
    await lines.collector.put(
        document(), document("notes/plan", source_label="notes"), document(version="2"), tenant=TENANT
    )
    await lines.collector.put(document("handbook/staff", scopes=["staff"]))
    await lines.agent.check(check(segment("a", binding(version="2")), moment=common_pb2.MOMENT_RETRIEVE))
    await lines.agent.check(check(segment("b", binding("notes/plan")), principal="bo"))
    await lines.agent.check(check(segment("c", binding("handbook/staff")), session_id="session-2"))
    await lines.agent.commit(commit(segment("d", binding(version="2"))))
    return running


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["d", "c", "b", "a"]),
    ({"tenant": "acme"}, ["d", "c", "b", "a"]),
    ({"tenant": "bolt"}, []),
    ({"principal_id": "bo"}, ["b"]),
    ({"session_id": "session-2"}, ["c"]),
    ({"record_id": "notes/plan"}, ["b"]),
    ({"source_label": "notes"}, ["b"]),
    ({"source_label": "handbook"}, ["d", "c", "a"]),
    ({"verdict": common_pb2.VERDICT_ALLOW}, ["d", "a"]),
    ({"reason": common_pb2.REASON_SCOPE_DENIED}, ["c"]),
    ({"rule": "allow-sources"}, ["d", "a"]),
    ({"moment": common_pb2.MOMENT_RETRIEVE}, ["a"]),
    ({"policy_revision": 1}, ["d", "c", "b", "a"]),
    ({"policy_revision": 2}, []),
    ({"since": Timestamp(seconds=1)}, ["d", "c", "b", "a"]),
    ({"until": Timestamp(seconds=1)}, []),
    ({"verdict": common_pb2.VERDICT_WITHHOLD, "principal_id": "ana"}, ["c"]),
]


async def test_each_filter_narrows_and_all_must_match(asked: Running) -> None:
    """F7: by principal, document, source, verdict, reason, rule, revision, moment and time; newest first."""
    for filters, expected in FILTERS:
        found = await asked.lines.auditor.decisions(**filters)
        assert [one.decision.segment_id for one in found] == expected, filters


async def test_pages_hold_each_decision_once(running: Running) -> None:
    """AUD-04: many decisions of one time, page by page, while new ones arrive: each exactly once, none of the new."""
    await running.lines.collector.put(document())
    await running.lines.agent.check(check(*(segment(f"s{i}") for i in range(25))))
    request = audit_pb2.QueryDecisionsRequest(tenant=TENANT, page_size=7)
    found: list[str] = []
    while True:
        page = await running.lines.auditor.call(request)
        assert isinstance(page, audit_pb2.QueryDecisionsResponse)
        found += [one.decision.segment_id for one in page.decisions]
        await running.lines.agent.check(check(segment("later")))
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert sorted(found) == sorted(f"s{i}" for i in range(25))


async def test_a_page_token_of_another_query_is_refused(asked: Running) -> None:
    """A cursor holds for the filters that gave it."""
    first = audit_pb2.QueryDecisionsRequest(tenant=TENANT, page_size=1)
    page = await asked.lines.auditor.call(first)
    assert isinstance(page, audit_pb2.QueryDecisionsResponse)
    other = audit_pb2.QueryDecisionsRequest(
        tenant=TENANT, page_size=1, principal_id="bo", page_token=page.next_page_token
    )
    error = await asked.lines.auditor.refused(other)
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "page_token")


async def test_explain_tells_the_cause_the_gates_the_facts_and_the_rule(asked: Running) -> None:
    """A16, F11: the auditor sees what the reader was not told, and which collector and step produced each fact."""
    by_segment = {one.decision.segment_id: one.decision.decision_id for one in await asked.lines.auditor.decisions()}

    async def lines(segment_id: str) -> str:
        request = audit_pb2.ExplainRequest(tenant=TENANT, decision_id=by_segment[segment_id])
        answer = await asked.lines.auditor.call(request)
        assert isinstance(answer, audit_pb2.ExplainResponse)
        return "\n".join(answer.lines)

    denied = await lines("c")
    assert "WITHHOLD (SCOPE_DENIED); the reader was told NOT_AVAILABLE" in denied
    assert "gate AVAILABILITY: stopped here" in denied
    assert "gate SOURCE" not in denied
    assert "registered by collector collector, written by PutDocuments" in denied
    allowed = await lines("a")
    assert "gate RELEASE: passed" in allowed
    assert "rule allow-sources at rules.yaml:5" in allowed
    assert "record handbook/leave version 2: revision " in allowed
    assert "grants of ana: revision 0" in allowed


async def test_an_unknown_decision_and_one_of_another_tenant_are_not_found(asked: Running) -> None:
    """What an auditor is not entitled to does not exist for it."""
    known = (await asked.lines.auditor.decisions())[0].decision.decision_id
    for tenant, decision_id in ((TENANT, "nothing"), ("bolt", known)):
        error = await asked.lines.auditor.refused(audit_pb2.ExplainRequest(tenant=tenant, decision_id=decision_id))
        assert error.code().name == "NOT_FOUND"


async def test_the_row_says_which_fact_changed_since_it_was_read(running: Running) -> None:
    """B3: from which revision to which, where the binding names the state that it was read under."""
    await running.lines.collector.put(document())
    read = await running.lines.agent.check(check(moment=common_pb2.MOMENT_RETRIEVE))
    request = index_pb2.SuspendRequest(tenant=TENANT, record=binding_ref(), reason="why")
    await running.lines.operator.call(request)
    asked_for = check(segment("s1", binding(granted_under=read.token)))
    await running.lines.agent.check(asked_for)
    newest = (await running.lines.auditor.decisions())[0].decision
    changed = newest.changed[0]
    assert (changed.kind, changed.id) == ("record", "handbook/leave")
    assert changed.to_revision > changed.from_revision


def binding_ref() -> common_pb2.RecordRef:
    """The document that `binding` names."""
    bound = binding()
    return common_pb2.RecordRef(record_id=bound.record_id, version=bound.version)


async def test_rows_hold_ids_and_digests_and_no_content(running: Running) -> None:
    """F4: what a purge would have to rewrite is not in the audit."""
    await running.lines.collector.put(document())
    await running.lines.agent.commit(commit(segment("s1", digest=digest("the text of the segment"))))
    row = (await running.lines.auditor.decisions())[0]
    assert row.decision.segment_digest == digest("the text of the segment")
    assert "the text of" not in str(row)
