"""`policy test new --from ID`: a recorded decision becomes a case that makes it again, on the facts as they were."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.testing import run_tests
from discreet.v1 import authority_pb2, common_pb2, disclosure_pb2, index_pb2, purge_pb2
from tests.server.cli.command import Outcome, discreet
from tests.server.messages import TENANT, binding, check, commit, digest, document, ref, segment
from tests.server.support import POLICY, Spawned, make_repo, spawn

RULES = """apiVersion: discreet/v1
kind: DisclosurePolicy
name: more
rules:
  - id: watched
    effect: WITHHOLD
    moments: [RETRIEVE]
    sources: [handbook]
    mode: observe
    when: document.record_id == "handbook/secret"
  - id: other-desk
    effect: WITHHOLD
    moments: [PUBLISH]
    sources: [handbook]
    when: document.record_id.startsWith("desk/") && document.attributes.desk != principal.attributes.desk
"""
RETRIEVE = common_pb2.MOMENT_RETRIEVE


@pytest.fixture
async def spawned_more(place: Path) -> AsyncIterator[Spawned]:
    """A server with more rules, one of them in observe mode."""
    server = await spawn(place, make_repo(place / "policy", {**POLICY, "more.yaml": RULES}).path)
    yield server
    await server.terminate()


async def decisions(server: Spawned) -> dict[str, str]:
    """Decisions of every kind, by what they are; the facts that they were made on are changed afterwards."""
    agent, collector, operator = server.lines.agent, server.lines.collector, server.lines.operator
    await collector.put(
        document(),
        document("handbook/secret", attributes={"status": common_pb2.Value(string_value="secret")}),
        document("handbook/board", scopes=["board"]),
        document("desk/north", attributes={"desk": common_pb2.Value(string_value="no: rth # 1")}),
        document("desk/none"),
    )
    quote = index_pb2.EvidenceInput(
        record_id="handbook/quote", version="1", digest=digest("handbook/quote@1"), source_label="handbook",
        scopes=["public"], of=[ref()], origin=index_pb2.ORIGIN_COLLECTED, basis="text",
    )  # fmt: skip
    quote.assessment_expires_at.FromSeconds(4_000_000_000)
    quote.as_of.FromSeconds(1_700_000_000)
    quote.fields["value"].double_value = 1.5
    await collector.evidence(quote)
    grant = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="board", reason="member")
    await operator.call(grant)
    found: dict[str, str] = {}

    async def asked(name: str, request: disclosure_pb2.CheckRequest) -> disclosure_pb2.CheckResponse:
        answer = await agent.check(request)
        found[name] = answer.results[0].decision_id
        return answer

    def bound(*names: str) -> disclosure_pb2.Segment:
        return segment("s1", *(binding(name) for name in names))

    read = await asked("ALLOW", check(moment=RETRIEVE))
    receipt = {"receipt": read.results[0].receipts[0], "granted_under": read.token}
    await asked("a receipt", check(segment("s1", binding(locator="p. 3", **receipt)), locale="zh-Hans"))
    await asked("observed", check(bound("handbook/secret"), moment=RETRIEVE))
    await asked("POLICY_RULE", check(bound("handbook/leave", "handbook/secret"), need_advice=True))
    await asked("a scope", check(bound("handbook/board")))
    await asked("SCOPE_DENIED", check(bound("handbook/board"), principal="bo"))
    await asked("DOCUMENT_UNKNOWN", check(bound("handbook/none")))
    await asked("VERSION_MISMATCH", check(segment("s1", binding("handbook/leave", "7"))))
    await asked("UNBOUND", check(segment("s1", kind="small-talk", grounding=common_pb2.GROUNDING_UNBOUND, bindings=())))
    claim = disclosure_pb2.Claim(basis="text", required_fields=["value", "unit"])
    await asked("INCOMPLETE", check(segment("s1", binding("handbook/quote"), claim=claim), need_numbers=True))
    attributes = {"desk": common_pb2.Value(string_value="south"), "age": common_pb2.Value(int_value=7)}
    principal = disclosure_pb2.Principal(id="cy", attributes=attributes)
    await asked("another desk", _as(bound("desk/north"), principal))
    await asked("POLICY_ERROR", _as(bound("desk/none"), principal))
    committed = await agent.commit(commit(bound("handbook/quote"), answer="a"))
    found["a commit"] = committed.results[0].result.decision_id
    await operator.call(index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="x", ticket="T"))
    await asked("PURGE", check(ledger_ids=[committed.results[0].ledger_id]))
    await operator.call(index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id="ana", scope="board", reason="left"))
    await operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref("handbook/secret"), reason="x"))
    await collector.put(document("handbook/board", "2"))
    return found


def _as(one: disclosure_pb2.Segment, principal: disclosure_pb2.Principal) -> disclosure_pb2.CheckRequest:
    return disclosure_pb2.CheckRequest(
        tenant=TENANT, moment=common_pb2.MOMENT_PUBLISH, principal=principal, session_id="session-1", segments=[one]
    )


def new(place: Path, *args: str) -> Outcome:
    """What `policy test new` says, asked of the server at a place."""
    return discreet("--socket-dir", str(place / "s"), "--tenant", TENANT, "policy", "test", "new", *args)


async def test_a_recorded_decision_is_made_again_by_the_case_written_of_it(place: Path, spawned_more: Spawned) -> None:
    """F12, C6: whatever was decided, and however the facts have changed since, the case passes with all it expects."""
    found = await decisions(spawned_more)
    files = {name: text.encode() for name, text in {**POLICY, "more.yaml": RULES}.items()}
    for what, decision_id in found.items():
        ended = await asyncio.to_thread(new, place, "--from", decision_id)
        assert (ended.code, ended.err) == (0, ""), what
        (result,) = run_tests(files | {"recorded_test.yaml": ended.out.encode()})
        assert list(map(str, result.differences)) == [], what
        assert "gate:" in ended.out, what
        if what.isupper() and what not in {"ALLOW", "UNBOUND", "PURGE"}:
            assert f"reason: {what}" in ended.out


async def test_what_stood_above_the_records_is_part_of_the_case(place: Path, spawned: Spawned) -> None:
    """F12, F3: holds, freezes, timed suspensions and revoked sources, as they stood when it was decided."""
    agent, operator = spawned.lines.agent, spawned.lines.operator
    await spawned.lines.collector.put(document(), document("handbook/other"))
    asked = check(segment("s1", binding(), binding("handbook/other")))
    soon = Timestamp(seconds=int(time.time()) + 3_600)
    said: dict[str, Any] = {"tenant": TENANT, "reason": "x"}

    async def decided() -> str:
        return (await agent.check(asked)).results[0].decision_id

    found = {"ALLOW": await decided()}
    held = await operator.call(purge_pb2.PlaceHoldRequest(**said, ticket="T", record=ref("handbook/other")))
    assert isinstance(held, purge_pb2.PlaceHoldResponse)
    found["LEGAL_HOLD"] = await decided()
    await operator.call(purge_pb2.LiftHoldRequest(**said, ticket="T", hold_id=held.hold_id))
    for name, label in (("FROZEN", "handbook"), ("FROZEN ", "")):
        freeze = await operator.call(authority_pb2.FreezeRequest(**said, until=soon, source_label=label))
        assert isinstance(freeze, authority_pb2.FreezeResponse)
        found[name] = await decided()
        await operator.call(authority_pb2.UnfreezeRequest(**said, freeze_id=freeze.freeze_id))
    await operator.call(index_pb2.SuspendRequest(**said, record=ref(), until=soon))
    found["SUSPENDED"] = await decided()
    await operator.call(index_pb2.ResumeRequest(**said, record=ref()))
    await operator.call(index_pb2.RevokeRetentionRequest(**said, ticket="T", source_label="handbook"))
    found["RETENTION_REVOKED"] = await decided()
    files = {name: text.encode() for name, text in POLICY.items()}
    for what, decision_id in found.items():
        ended = await asyncio.to_thread(new, place, "--from", decision_id)
        assert (ended.code, ended.err) == (0, ""), what
        (result,) = run_tests(files | {"recorded_test.yaml": ended.out.encode()})
        assert list(map(str, result.differences)) == [], what
        assert what.strip() in ended.out
        assert ended.out.count("purge-not-before") == (2 if what == "RETENTION_REVOKED" else 0)
    first = await asyncio.to_thread(new, place, "--from", found["ALLOW"])
    assert "is revoked since" in first.out


async def test_a_decision_on_what_was_made_from_others_is_no_case(place: Path, spawned: Spawned) -> None:
    """F6, E1: its parents are in no single case, and what to write instead is said."""
    await spawned.lines.collector.put(document())
    first = (await spawned.lines.agent.commit(commit())).results[0].ledger_id
    made = await spawned.lines.agent.commit(commit(segment("sum", parents=[first]), answer="answer-2"))
    refused = await asyncio.to_thread(new, place, "--from", made.results[0].result.decision_id)
    assert (refused.code, refused.out) == (2, "")
    assert "made from others" in refused.err


async def test_what_cannot_be_written_is_said(place: Path, spawned: Spawned) -> None:
    """E1: a decision that is not on record, one of another session, and a file that is there already."""
    unknown = await asyncio.to_thread(new, place, "--from", "nobody-knows")
    assert (unknown.code, unknown.out) == (2, "")
    agent, collector = spawned.lines.agent, spawned.lines.collector
    await collector.put(document())
    committed = await agent.commit(commit())
    other = await agent.check(check(ledger_ids=[committed.results[0].ledger_id], session_id="another"))
    refused = await asyncio.to_thread(new, place, "--from", other.results[0].decision_id)
    assert refused.code == 2
    assert "SESSION_MISMATCH" in refused.err
    file = place / "seen_test.yaml"
    asked = ("--from", committed.results[0].result.decision_id, "--into", str(file))
    assert (await asyncio.to_thread(new, place, *asked)).code == 0
    assert file.read_text().startswith("# Decision ")
    assert (await asyncio.to_thread(new, place, *asked)).code == 2


async def test_a_decision_on_masked_attributes_is_no_case(place: Path) -> None:
    """F4, E1: the value is nowhere in what Explain tells, and what is missing for a case is said by name."""
    policy = {**POLICY, "more.yaml": RULES}
    policy["discreet.yaml"] += "audit: { mask: [desk] }\n"
    server = await spawn(place, make_repo(place / "policy", policy).path)
    try:
        await server.lines.collector.put(document())
        attributes = {"desk": common_pb2.Value(string_value="planted"), "age": common_pb2.Value(int_value=7)}
        principal = disclosure_pb2.Principal(id="cy", attributes=attributes)
        answer = await server.lines.agent.check(_as(segment("s1", binding()), principal))
        decision_id = answer.results[0].decision_id
        ended = await asyncio.to_thread(new, place, "--from", decision_id)
        assert (ended.code, ended.out) == (2, "")
        assert "the audit holds no value of desk" in ended.err
        whole = ("--socket-dir", str(place / "s"), "--tenant", TENANT, "-o", "json", "audit", "explain", decision_id)
        told = await asyncio.to_thread(discreet, *whole)
        assert told.code == 0, told.err
        assert "planted" not in told.out
        assert '"masked": true' in told.out
    finally:
        await server.terminate()


async def test_under_which_state_a_binding_was_read_is_part_of_the_case(place: Path) -> None:
    """F12, B2: what a policy demands of tokens and receipts is decided again as it was, each cause its own."""
    demands = "name: more\nrequires: { retrieved-in-session: true, same-grant-revision: true }\n"
    policy = {**POLICY, "more.yaml": RULES.replace("name: more\n", demands)}
    server = await spawn(place, make_repo(place / "policy", policy).path)
    try:
        agent = server.lines.agent
        await server.lines.collector.put(document())
        read = await agent.check(check(moment=RETRIEVE))
        given = {"receipt": read.results[0].receipts[0], "granted_under": read.token}
        asked = [check(segment("s1", binding(**given))), check(segment("s1", binding(granted_under=read.token)))]
        answers = [await agent.check(one) for one in asked]
        grant = index_pb2.GrantScopeRequest(tenant=TENANT, principal_id="ana", scope="board", reason="member")
        await server.lines.operator.call(grant)
        answers.append(await agent.check(asked[0]))
        files = {name: text.encode() for name, text in policy.items()}
        for answer, reason in zip(answers, ("ALLOW", "NOT_RETRIEVED", "AUTH_REVISION_CHANGED"), strict=True):
            ended = await asyncio.to_thread(new, place, "--from", answer.results[0].decision_id)
            assert reason in ended.out
            (result,) = run_tests(files | {"recorded_test.yaml": ended.out.encode()})
            assert list(map(str, result.differences)) == [], reason
    finally:
        await server.terminate()
