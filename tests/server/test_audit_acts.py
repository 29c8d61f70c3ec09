"""What auditors can ask of changes, refusals and reports: who approved, suspended, revoked what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.words import Role
from discreet.server.identity.callers import Identity
from discreet.v1 import audit_pb2, index_pb2
from tests.server.authority.acts import answer, freeze, revoke, unfreeze
from tests.server.support import TENANT, PolicyRepo, Running, commit, config_of, document, in_process, ref, segment
from tests.server.test_shown import report

IDENTITIES = (
    Identity("agent", Role.AGENT, (TENANT,)),
    Identity("collector", Role.COLLECTOR, None),
    Identity("operator", Role.OPERATOR, None),
    Identity("omar", Role.OPERATOR, None),
    Identity("auditor", Role.AUDITOR, None),
    Identity("ours", Role.AUDITOR, (TENANT,)),
    Identity("both", Role.AUDITOR, (TENANT, "bolt")),
)


async def acts(running: Running, identity: str = "auditor", size: int = 0, **filters: Any) -> list[audit_pb2.ActRecord]:
    """All acts that match, newest first, page by page."""
    request = audit_pb2.QueryActsRequest(page_size=size, **filters)
    found: list[audit_pb2.ActRecord] = []
    while True:
        page = await answer(running.lines[identity], request, audit_pb2.QueryActsResponse)
        found += page.acts
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


def told(found: list[audit_pb2.ActRecord]) -> list[str]:
    """Who did what, in words."""
    return [f"{one.caller.name} {one.change.method}" for one in found]


@pytest.fixture
async def day(place: Path, repo: PolicyRepo) -> AsyncIterator[Running]:
    """A server on which two operators, a collector and an agent did a few things in two tenants."""
    async with in_process(config_of(place, repo.path, identities=IDENTITIES)) as running:
        lines = running.lines
        await lines.collector.put(document(), document("handbook/pay"))
        await lines.collector.put(document("handbook/pay"), tenant="bolt")
        await lines["omar"].call(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="under review"))
        await lines.operator.call(index_pb2.ResumeRequest(tenant=TENANT, record=ref(), reason="it is fine"))
        made = await lines.agent.commit(commit(segment("s1")))
        await lines.agent.call(report(made.results[0].ledger_id))
        await lines.operator.call(
            index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="bo", scope="hr", reason="joins")
        )
        await lines.agent.refused(index_pb2.SuspendRequest(tenant=TENANT, record=ref(), reason="why"))
        await unfreeze(lines["omar"], (await freeze(lines["omar"])).freeze_id)
        await revoke(lines.operator, record=ref("handbook/pay"))
        yield running


FILTERS: list[tuple[dict[str, Any], list[str]]] = [
    ({"method": "Suspend"}, ["agent Suspend", "omar Suspend"]),
    ({"method": "Suspend", "act": audit_pb2.AUDIT_ACT_CHANGE}, ["omar Suspend"]),
    ({"act": audit_pb2.AUDIT_ACT_REFUSED}, ["agent Suspend"]),
    ({"act": audit_pb2.AUDIT_ACT_SHOWN}, ["agent ReportShown"]),
    ({"actor": "omar"}, ["omar Unfreeze", "omar Freeze", "omar Suspend"]),
    ({"principal_id": "bo"}, ["operator GrantScope"]),
    ({"principal_id": "ana"}, ["agent ReportShown"]),
    ({"record_id": "handbook/leave"}, ["operator Resume", "omar Suspend", "collector PutDocuments"]),
    ({"record_id": "handbook/leave", "version": "2"}, []),
    ({"ticket": "T-1"}, ["operator RevokeRetention"]),
    ({"ticket": "T-1", "actor": "omar"}, []),
    ({"tenant": "bolt"}, ["collector PutDocuments"]),
    ({"method": "PublishPolicy"}, ["server PublishPolicy"]),
    ({"until": Timestamp(seconds=1)}, []),
    ({"since": Timestamp(seconds=4_000_000_000)}, []),
]


async def test_each_filter_narrows_and_all_must_match(day: Running) -> None:
    """F7: by act, method, actor, principal, record, version, ticket, tenant and time; newest first."""
    for filters, expected in FILTERS:
        assert told(await acts(day, **filters)) == expected, filters
    (revoked,) = await acts(day, ticket="T-1")
    assert told(await acts(day, subject_id=revoked.change.subject_id)) == ["operator RevokeRetention"]


async def test_an_act_says_who_did_what_to_what_and_why(day: Running) -> None:
    """A16: the reason in the operator's words, the record, the number of the event; a report its entries."""
    (suspended,) = await acts(day, method="Suspend", act=audit_pb2.AUDIT_ACT_CHANGE)
    assert (suspended.caller.name, suspended.caller.role, suspended.tenant) == ("omar", "operator", TENANT)
    assert (suspended.change.reason, suspended.change.record) == ("under review", ref())
    assert suspended.change.seq > 0
    assert (suspended.instance, len(suspended.request_id) > 0) == ("test", True)
    (shown,) = await acts(day, act=audit_pb2.AUDIT_ACT_SHOWN)
    assert (shown.session_id, len(shown.shown_ledger_ids), shown.change.detail[:1]) == ("session-1", 1, "1")
    (refused,) = await acts(day, act=audit_pb2.AUDIT_ACT_REFUSED)
    assert "Suspend is for operator" in refused.change.detail


async def test_a_decision_says_whether_its_entry_was_reported_as_shown(day: Running) -> None:
    """F11: as it stands when it is asked, in a list and explained; an entry that nobody reported was only released."""
    await day.lines.agent.commit(commit(segment("s2"), answer_id="answer-2"))
    found = await day.lines.auditor.decisions(tenant=TENANT)
    assert [(one.decision.segment_id, one.confirmed) for one in found] == [("s2", False), ("s1", True)]
    request = audit_pb2.ExplainRequest(decision_id=found[1].decision.decision_id)
    assert (await answer(day.lines.auditor, request, audit_pb2.ExplainResponse)).decision.confirmed


async def test_pages_hold_each_act_once(day: Running) -> None:
    """AUD-04: the acts of one batch have one time; pages of two lose none and repeat none, while more arrive."""
    await day.lines.collector.put(*(document(f"handbook/p{number}") for number in range(7)))
    whole = await acts(day)
    assert [one.change.record.record_id for one in whole[:7]] == [f"handbook/p{number}" for number in range(6, -1, -1)]
    request = audit_pb2.QueryActsRequest(page_size=2)
    found: list[audit_pb2.ActRecord] = []
    while True:
        page = await answer(day.lines.auditor, request, audit_pb2.QueryActsResponse)
        found += page.acts
        await day.lines.collector.put(document("handbook/later"))
        request.page_token = page.next_page_token
        if not page.next_page_token:
            break
    assert found == whole


async def test_callers_find_their_tenants_and_what_belongs_to_none_is_found_by_who_sees_all(day: Running) -> None:
    """REV-08: a tenant's auditor finds nothing of another one's, nor a call that was refused before its tenant."""
    everything = await acts(day)
    assert {one.tenant for one in everything} == {"", TENANT, "bolt"}
    for identity, tenants in (("ours", {TENANT}), ("both", {TENANT, "bolt"})):
        assert await acts(day, identity, 3) == [one for one in everything if one.tenant in tenants]
    error = await day.lines["ours"].refused(audit_pb2.QueryActsRequest(tenant="bolt"))
    assert error.code().name == "PERMISSION_DENIED"


@pytest.mark.parametrize(
    "fields, path",
    [
        ({"act": audit_pb2.AUDIT_ACT_CHECK}, "act: is none that is found here"),
        ({"version": "1"}, "version: stands without record_id"),
        ({"since": Timestamp(seconds=2), "until": Timestamp(seconds=1)}, "until: is before since"),
    ],
)
async def test_filters_that_can_find_nothing_are_refused(day: Running, fields: dict[str, Any], path: str) -> None:
    """A12: a question that makes no sense is told so, rather than answered with nothing."""
    error = await day.lines.auditor.refused(audit_pb2.QueryActsRequest(**fields))
    assert (error.code().name, (error.details() or "")[: len(path)]) == ("INVALID_ARGUMENT", path)
