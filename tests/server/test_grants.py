"""Grants over the wire: withdrawn and given again, apart from content, and never one person's for another."""

from __future__ import annotations

from discreet.v1 import audit_pb2, common_pb2, index_pb2
from tests.server.support import TENANT, Running, binding, check, document, ref, segment, verdicts

ALLOWED = [("ALLOW", "NONE")]
HIDDEN = [("WITHHOLD", "NOT_AVAILABLE")]


def _grant(principal: str = "ana", scope: str = "desk") -> index_pb2.GrantScopeRequest:
    return index_pb2.GrantScopeRequest(tenant=TENANT, principal_id=principal, scope=scope, reason="joined")


def _withdraw(principal: str = "ana", scope: str = "desk") -> index_pb2.WithdrawScopeRequest:
    return index_pb2.WithdrawScopeRequest(tenant=TENANT, principal_id=principal, scope=scope, reason="left")


async def test_a_scope_that_is_given_again_opens_at_once(running: Running) -> None:
    """DB-05: grant, withdraw, grant: the third state is active with a new generation, and the history shows all."""
    lines = running.lines
    await lines.collector.put(document(scopes=["desk"]))
    generations, seen = [], []
    for step in (_grant(), _withdraw(), _grant()):
        answer = await lines.operator.call(step)
        if isinstance(answer, index_pb2.GrantScopeResponse):
            generations.append(answer.generation)
        seen.append(verdicts(await lines.agent.check(check())))
    assert seen == [ALLOWED, HIDDEN, ALLOWED]
    assert generations == [1, 2]
    listed = await lines.operator.call(index_pb2.ListGrantsRequest(tenant=TENANT, principal_id="ana", history=True))
    assert isinstance(listed, index_pb2.ListGrantsResponse)
    assert [(grant.generation, grant.withdrawn) for grant in listed.grants] == [(1, True), (2, False)]


async def test_a_right_ends_though_the_content_stays(running: Running) -> None:
    """DSC-11: the age of content says nothing of a right: registering the same text again gives no scope back."""
    lines = running.lines
    await lines.collector.put(document(scopes=["desk"]))
    await lines.operator.call(_grant())
    assert verdicts(await lines.agent.check(check())) == ALLOWED
    await lines.operator.call(_withdraw())
    again = await lines.collector.put(document(scopes=["desk"]))
    assert [outcome.kind for outcome in again.outcomes] == [index_pb2.PutOutcome.KIND_UNCHANGED]
    assert verdicts(await lines.agent.check(check())) == HIDDEN


async def test_a_scope_of_one_person_is_nobody_elses(running: Running) -> None:
    """DSC-03: the same question of another principal has an answer of its own, whoever asked first."""
    lines = running.lines
    await lines.collector.put(document(scopes=["desk"]))
    await lines.operator.call(_grant("ana"))
    assert [verdicts(await lines.agent.check(check(principal=who))) for who in ("bo", "ana", "bo", "Ana")] == [
        HIDDEN,
        ALLOWED,
        HIDDEN,
        HIDDEN,
    ]


async def test_the_public_scope_is_set_on_records_not_given_to_people(running: Running) -> None:
    """Granting "public" is refused: every principal of the tenant holds it anyway."""
    error = await running.lines.operator.refused(_grant(scope="public"))
    assert (error.code().name, "scope" in (error.details() or "")) == ("INVALID_ARGUMENT", True)


async def test_a_successor_that_is_taken_back_leaves_its_version_current(running: Running) -> None:
    """B8: superseded only hides; cleared, the version shows again and is the current one."""
    lines = running.lines
    await lines.collector.put(document(version="1"), document(version="2"))
    for clear in (False, True):
        successor = None if clear else ref(version="2")
        await lines.operator.call(
            index_pb2.SupersedeRequest(
                tenant=TENANT, record=ref(version="1"), successor=successor, clear=clear, reason="edition"
            )
        )
        told = verdicts(await lines.agent.check(check(segment("s1", binding(version="1")))))
        assert told == (ALLOWED if clear else [("WITHHOLD", "SUPERSEDED")])


async def test_what_an_operator_decided_is_undone_by_no_registration(running: Running) -> None:
    """B5, B8: registering the same version again, as every import does, opens nothing that an operator closed."""
    lines = running.lines
    await lines.collector.put(document(scopes=["public"]))
    closed = index_pb2.SetScopesRequest(tenant=TENANT, record=ref(), scopes=["board"], reason="for the board")
    await lines.operator.call(closed)
    await lines.operator.call(index_pb2.RecordAssessmentRequest(tenant=TENANT, record=ref(), reason="in doubt"))
    again = await lines.collector.put(document(scopes=["public"]))
    assert [(outcome.kind, outcome.message) for outcome in again.outcomes] == [
        (index_pb2.PutOutcome.KIND_UNCHANGED, "assessment and scopes left as an operator set them")
    ]
    assert verdicts(await lines.agent.check(check())) == HIDDEN
    opened = index_pb2.SetScopesRequest(tenant=TENANT, record=ref(), scopes=["public"], reason="open again")
    assert (await lines.collector.refused(opened)).code().name == "FAILED_PRECONDITION"
    await lines.operator.call(opened)
    assert verdicts(await lines.agent.check(check())) == [("WITHHOLD", "ELIGIBILITY_UNKNOWN")]


async def test_denials_are_found_by_what_readers_were_told(running: Running) -> None:
    """F7, F11: NOT_AVAILABLE finds every cause behind it, and each cause is found by itself."""
    lines = running.lines
    await lines.collector.put(document(scopes=["desk"]))
    await lines.agent.check(check(segment("s1"), segment("s2", binding("handbook/none"))))
    told = await lines.auditor.decisions(tenant=TENANT, reason=common_pb2.REASON_NOT_AVAILABLE)
    assert sorted(common_pb2.Reason.Name(found.decision.reason) for found in told) == [
        "REASON_DOCUMENT_UNKNOWN",
        "REASON_SCOPE_DENIED",
    ]
    one = await lines.auditor.decisions(tenant=TENANT, reason=common_pb2.REASON_SCOPE_DENIED)
    assert [found.decision.segment_id for found in one] == ["s1"]


async def test_a_version_out_of_scope_looks_like_one_that_never_was(running: Running) -> None:
    """F11: who may read the current version cannot tell a restricted earlier one from a number that was never given."""
    lines = running.lines
    await lines.collector.put(document(version="1", scopes=["board"]), document(version="2"))
    replies = []
    for version in ("1", "99"):
        answer = await lines.agent.check(check(segment("s1", binding(version=version))))
        result = answer.results[0]
        assert (result.output.gap.record.version, result.reason) == (version, common_pb2.REASON_VERSION_MISMATCH)
        result.decision_id = result.output.gap.record.version = ""
        replies.append(result.SerializeToString(deterministic=True))
    assert replies[0] == replies[1]
    found = await lines.auditor.decisions(tenant=TENANT, reason=common_pb2.REASON_VERSION_MISMATCH)
    assert [one.decision.detail for one in found] == ["no such version", "version out of scope"]


async def test_the_audit_names_the_step_that_wrote_each_fact(running: Running) -> None:
    """A16: which act and which collector produced the revision that was read: of what changed and of what gave way."""
    lines = running.lines
    await lines.collector.put(document(version="1"), document("handbook/pay"))
    await lines.operator.call(index_pb2.SuspendRequest(tenant=TENANT, record=ref("handbook/pay"), reason="wrong"))
    await lines.collector.put(document(version="2", supersedes_version="1"))
    asked = [segment("s1"), segment("s2", binding(version="2")), segment("s3", binding("handbook/pay"))]
    answer = await lines.agent.check(check(*asked))
    explained = await lines.auditor.call(
        audit_pb2.ExplainRequest(tenant=TENANT, decision_id=answer.results[0].decision_id)
    )
    assert isinstance(explained, audit_pb2.ExplainResponse)
    facts = {(fact.id, fact.version): (fact.step, fact.collector) for fact in explained.facts if fact.kind == "record"}
    assert facts == {
        ("handbook/leave", "1"): ("PutDocuments", "collector"),
        ("handbook/leave", "2"): ("PutDocuments", "collector"),
        ("handbook/pay", "1"): ("Suspend", "collector"),
    }


async def test_ids_of_other_systems_may_have_a_scheme(running: Running) -> None:
    """Object keys and identities with a scheme are taken as they are; an empty or dot segment behind it is not."""
    lines = running.lines
    await lines.collector.put(document("s3://bucket/key"))
    asked = check(segment("s1", binding("s3://bucket/key")), principal="spiffe://example.test/ana")
    assert verdicts(await lines.agent.check(asked)) == ALLOWED
    for record_id in ("s3:///key", "s3://bucket/../key", "//bucket/key"):
        assert (await lines.agent.refused(check(segment("s1", binding(record_id))))).code().name == "INVALID_ARGUMENT"


async def test_addresses_match_as_whole_texts(running: Running) -> None:
    """SRC-01, SRC-02: record ids are compared whole: no prefix, suffix, user-info or scheme of one opens another."""
    lines = running.lines
    await lines.collector.put(document("docs.example.test/a"))
    asked = [
        "docs.example.test@evil.test/a",
        "notdocs.example.test/a",
        "docs.example.test.evil.test/a",
        "docs.example.test/a/b",
        "docs.example.test/",
        "//docs.example.test/a",
        "docs.example.test/../a",
        "docs.example.test\\@evil.test/a",
        "docs.example.test\t.evil.test/a",
        "docs.example.test/a ",
    ]
    for record_id in asked[:4] + asked[7:8]:
        request = check(segment("s1", binding(record_id)), moment=common_pb2.MOMENT_RETRIEVE)
        assert verdicts(await lines.agent.check(request)) == HIDDEN
    for record_id in asked[4:7] + asked[8:]:
        error = await lines.agent.refused(check(segment("s1", binding(record_id))))
        assert (error.code().name, (error.details() or "")[:34]) == (
            "INVALID_ARGUMENT",
            "segments[0].bindings[0].record_id:",
        ), record_id
    assert verdicts(await lines.agent.check(check(segment("s1", binding("docs.example.test/a"))))) == ALLOWED
