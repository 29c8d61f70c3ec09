"""Reads of the audit are rows in the same chain: who asked for what; and what cannot be put on record is not told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.server.ports import StoreError
from discreet.server.stores import open_store
from discreet.v1 import audit_pb2, common_pb2
from tests.contract.chains import verified_heads
from tests.contract.databases import Database
from tests.server.faults import FaultyStore
from tests.server.support import TENANT, PolicyRepo, Running, check, config_of, document, in_process, segment
from tests.server.test_audit_acts import IDENTITIES, acts

READ = audit_pb2.AUDIT_ACT_READ


@pytest.fixture
async def store(place: Path) -> FaultyStore:
    """A SQLite store that can be made to fail."""
    return FaultyStore(open_store(str(place / "discreet.db")))


@pytest.fixture
async def asked(place: Path, repo: PolicyRepo, store: FaultyStore) -> AsyncIterator[Running]:
    """A server that decided three times."""
    async with in_process(config_of(place, repo.path, identities=IDENTITIES), store=store) as running:
        await running.lines.collector.put(document())
        await running.lines.agent.check(check(*(segment(f"s{number}") for number in range(3))))
        yield running


def decisions(**filters: object) -> audit_pb2.QueryDecisionsRequest:
    """A question for decisions."""
    return audit_pb2.QueryDecisionsRequest(**filters)  # type: ignore[arg-type] # the filters of each test


async def test_a_read_is_on_record_with_who_asked_for_what(asked: Running) -> None:
    """A16: the method, what was asked about, the other filters in words, and how much was found."""
    lines = asked.lines
    since = Timestamp(seconds=1_700_000_000)
    wanted = decisions(tenant=TENANT, principal_id="ana", record_id="handbook/leave", since=since, page_size=2)
    wanted.verdict = common_pb2.VERDICT_ALLOW
    page = await lines.auditor.call(wanted)
    assert isinstance(page, audit_pb2.QueryDecisionsResponse)
    wanted.page_token = page.next_page_token
    await lines.auditor.call(wanted)
    decision_id = page.decisions[0].decision.decision_id
    await lines["ours"].call(audit_pb2.ExplainRequest(decision_id=decision_id))
    await lines.auditor.refused(audit_pb2.ExplainRequest(tenant=TENANT, decision_id="none"))
    await lines.auditor.call(audit_pb2.QueryActsRequest(record_id="a", version="2", ticket="T-1", subject_id="order"))
    found = (await acts(asked, act=READ))[::-1]
    said = [(one.caller.name, one.tenant, one.change.method, one.change.detail) for one in found]
    filters = "verdict ALLOW, since 2023-11-14T22:13:20Z"
    assert said == [
        ("auditor", TENANT, "QueryDecisions", f"{filters}; found 2"),
        ("auditor", TENANT, "QueryDecisions", f"{filters}, a later page; found 1"),
        ("ours", TENANT, "Explain", "found it"),
        ("auditor", TENANT, "Explain", "found none"),
        ("auditor", "", "QueryActs", "found 0"),
    ]
    assert (found[0].change.principal_id, found[0].change.record.record_id) == ("ana", "handbook/leave")
    assert [one.change.subject_id for one in found[2:]] == [decision_id, "none", "order"]
    assert (found[4].change.record.version, found[4].change.ticket) == ("2", "T-1")


async def test_reads_are_found_like_any_act_and_only_where_they_are_asked_for(asked: Running) -> None:
    """F7, REV-08: who looked ana up; an auditor finds the reads of its tenant; acts are not lost among reads."""
    await asked.lines.auditor.call(decisions(tenant=TENANT, principal_id="ana"))
    await asked.lines.auditor.call(decisions(tenant="bolt", principal_id="ana"))
    assert [one.tenant for one in await acts(asked, act=READ, principal_id="ana")] == ["bolt", TENANT]
    assert [one.tenant for one in await acts(asked, "ours", act=READ, principal_id="ana")] == [TENANT]
    assert [one.change.method for one in await acts(asked, tenant=TENANT)] == ["PutDocuments"]
    assert verified_heads(Database("sqlite", asked.server.config.db))


async def test_what_cannot_be_put_on_record_is_not_told(asked: Running, store: FaultyStore) -> None:
    """AUD-07: with the audit full every read ends with UNAVAILABLE, found or not; then it is answered again."""
    decision_id = (await asked.lines.auditor.decisions())[0].decision.decision_id
    questions: list[Message] = [
        decisions(tenant=TENANT),
        audit_pb2.QueryActsRequest(tenant=TENANT),
        audit_pb2.ExplainRequest(tenant=TENANT, decision_id=decision_id),
        audit_pb2.ExplainRequest(tenant=TENANT, decision_id="none"),
    ]
    store.broken["record"] = StoreError("full")
    for question in questions:
        error = await asked.lines.auditor.refused(question)
        assert (error.code().name, "AUDIT_UNAVAILABLE" in (error.details() or "")) == ("UNAVAILABLE", True)
    del store.broken["record"]
    for question in questions[:3]:
        await asked.lines.auditor.call(question)
