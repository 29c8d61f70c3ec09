"""What becomes of documents and evidence that collectors register."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.v1 import audit_pb2, common_pb2, index_pb2
from tests.server.support import (
    TENANT,
    Running,
    audit_rows,
    binding,
    check,
    digest,
    document,
    ref,
    segment,
    verdicts,
)

CREATED, UPDATED = index_pb2.PutOutcome.KIND_CREATED, index_pb2.PutOutcome.KIND_UPDATED
UNCHANGED, REFUSED = index_pb2.PutOutcome.KIND_UNCHANGED, index_pb2.PutOutcome.KIND_REFUSED


def evidence(record_id: str = "prices/acme", version: str = "1", **changes: Any) -> index_pb2.EvidenceInput:
    """A figure of a data channel that is a source of its own."""
    given = index_pb2.EvidenceInput(
        record_id=record_id,
        version=version,
        digest=digest(f"{record_id}@{version}"),
        source_label="prices",
        scopes=["public"],
        basis="closing price",
        origin=index_pb2.ORIGIN_COLLECTED,
        own_source=True,
    )
    given.fields["value"].double_value = 1.5
    given.assessment_expires_at.FromSeconds(4_000_000_000)
    for name, value in changes.items():
        if isinstance(value, list):
            getattr(given, name).extend(value)
        else:
            setattr(given, name, value)
    return given


def outcome(
    response: index_pb2.PutDocumentsResponse | index_pb2.RegisterEvidenceResponse, place: int = 0
) -> tuple[int, str, str]:
    """Kind, reason and message of one outcome."""
    one = response.outcomes[place]
    return one.kind, common_pb2.Reason.Name(one.reason).removeprefix("REASON_"), one.message


async def test_put_again_is_unchanged_and_writes_nothing(running: Running) -> None:
    """What equals what is there writes nothing: the token does not move."""
    first = await running.lines.collector.put(document())
    again = await running.lines.collector.put(document())
    assert [o.kind for o in (*first.outcomes, *again.outcomes)] == [CREATED, UNCHANGED]
    assert first.token == again.token


async def test_each_change_leaves_an_audit_row_and_a_no_op_none(running: Running) -> None:
    """A14 in kind: what a registration wrote is on record, with its actor; what it left as it was is not."""
    await running.lines.collector.put(document("handbook/a"), document("handbook/b"))
    await running.lines.collector.put(document("handbook/a"), document("handbook/b", basis="new"))
    rows = [row for row in audit_rows(running.server.config.db) if row.change.method == "PutDocuments"]
    assert [row.change.record.record_id for row in rows] == ["handbook/a", "handbook/b", "handbook/b"]
    assert {(row.act, row.caller.name, row.caller.role) for row in rows} == {
        (audit_pb2.AUDIT_ACT_CHANGE, "collector", "collector")
    }


async def test_metadata_makes_a_new_revision_of_the_same_version(running: Running) -> None:
    """The same version with other metadata is UPDATED; the earlier revision stays in the history."""
    await running.lines.collector.put(document())
    updated = await running.lines.collector.put(document(scopes=["staff"]))
    assert outcome(updated)[0] == UPDATED
    found = await running.lines.operator.get("handbook/leave", history=True)
    assert (list(found.record.scopes), list(found.history[0].scopes)) == (["staff"], ["public"])


@pytest.mark.parametrize(
    "change, field",
    [({"digest": digest("other")}, "digest"), ({"source_label": "mixed"}, "source_label")],
)
async def test_a_versions_content_is_fixed(running: Running, change: dict[str, Any], field: str) -> None:
    """The same version with another digest or label is refused; content that changed is a new version."""
    await running.lines.collector.put(document())
    kind, reason, message = outcome(await running.lines.collector.put(document(**change)))
    assert kind == REFUSED
    assert reason == ("CONTENT_MISMATCH" if field == "digest" else "COLLECTOR_NOT_ENTITLED")
    assert message.startswith(f"documents[0].{field}: ")


async def test_a_new_version_becomes_current_and_an_old_one_put_again_does_not(running: Running) -> None:
    """Putting an old version again, changed or not, does not make it current."""
    await running.lines.collector.put(document(version="1"))
    await running.lines.collector.put(document(version="2"))
    await running.lines.collector.put(document(version="1", basis="new words"))
    found = await running.lines.operator.get("handbook/leave")
    assert found.record.version == "2"
    assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "VERSION_MISMATCH")]


async def test_many_versions_in_one_call_leave_the_last_one_current(running: Running) -> None:
    """Inputs of one call count in their order, whatever is updated among them."""
    await running.lines.collector.put(document(version="1"))
    given = [
        document(version="2"),
        document(version="1", basis="changed"),
        document(version="3", supersedes_version="2"),
    ]
    put = await running.lines.collector.put(*given)
    assert [o.kind for o in put.outcomes] == [CREATED, UPDATED, CREATED]
    current = {v: (await running.lines.operator.get("handbook/leave", v)).record for v in "123"}
    assert [current[v].current for v in "123"] == [False, False, True]
    assert current["2"].superseded_by == ref(version="3")


async def test_superseding_marks_the_earlier_version_in_the_same_transaction(running: Running) -> None:
    """B2: SUPERSEDED where a successor is named, apart from VERSION_MISMATCH."""
    await running.lines.collector.put(document(version="1"))
    await running.lines.collector.put(document(version="2", supersedes_version="1"))
    assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "SUPERSEDED")]
    kind, reason, _ = outcome(await running.lines.collector.put(document(version="3", supersedes_version="nine")))
    assert (kind, reason) == (REFUSED, "DOCUMENT_UNKNOWN")


@pytest.mark.parametrize("label", ["foreign", "nobody-declared-it"])
async def test_registering_under_anothers_label_is_refused_and_audited(running: Running, label: str) -> None:
    """A16: SourceList maps each label to collectors; another's label is refused, and that is on record."""
    kind, reason, message = outcome(await running.lines.collector.put(document(source_label=label)))
    assert (kind, reason) == (REFUSED, "COLLECTOR_NOT_ENTITLED")
    assert message.startswith("documents[0].source_label: ")
    last = audit_rows(running.server.config.db)[-1]
    assert (last.act, last.change.refused) == (audit_pb2.AUDIT_ACT_REFUSED, common_pb2.REASON_COLLECTOR_NOT_ENTITLED)
    assert (last.tenant, last.caller.name, last.change.record.record_id) == (TENANT, "collector", "handbook/leave")
    assert (
        await running.lines.operator.refused(index_pb2.GetRecordRequest(tenant=TENANT, record_id="handbook/leave"))
    ).code().name == "NOT_FOUND"


async def test_an_entitled_collector_cannot_take_over_anothers_record(running: Running) -> None:
    """A16: a record stays under its label; a new version under another label would hide the one that is there."""
    await running.lines.collector.put(document())
    kind, reason, _ = outcome(await running.lines.collector.put(document(version="2", source_label="mixed")))
    assert (kind, reason) == (REFUSED, "COLLECTOR_NOT_ENTITLED")
    assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_a_source_that_is_not_listed_is_refused_at_each_question(running: Running) -> None:
    """A2: an internal note is withheld however often it is asked for, and only a policy change lets it in."""
    note = document("notes/plan", source_label="notes")
    assert outcome(await running.lines.collector.put(note))[0] == CREATED
    asked = check(segment("s1", binding("notes/plan")))
    for _ in range(3):
        assert verdicts(await running.lines.agent.check(asked)) == [("WITHHOLD", "UNTRUSTED_SOURCE")]


@pytest.mark.parametrize(
    "label", ["сleared", "clear\u200bed", "cleared\u202e", "ｈandbook", "Handbook", "handbook ", "hand book"]
)
async def test_look_alike_labels_are_refused_where_they_enter(running: Running, label: str) -> None:
    """SRC-04, A2: labels are plain ASCII; the error shows the code points, not the label."""
    error = await running.lines.collector.refused(
        index_pb2.PutDocumentsRequest(tenant=TENANT, documents=[document(source_label=label)])
    )
    assert error.code().name == "INVALID_ARGUMENT"
    details = error.details() or ""
    assert details.startswith("documents[0].source_label: ")
    assert "U+" in details
    assert label.strip() not in details.removeprefix("documents[0].source_label: ").lower() or label.isascii()


async def test_ids_that_differ_by_case_or_look_alikes_are_refused(running: Running) -> None:
    """SRC-08: lower-case only unless the source says otherwise, and no look-alike of what is there, which is named."""
    upper = outcome(await running.lines.collector.put(document("handbook/Leave")))
    assert (upper[0], upper[1]) == (REFUSED, "POLICY_RULE")
    await running.lines.collector.put(document("handbook/leave"))
    kind, _, message = outcome(await running.lines.collector.put(document("handbook/lеave")))
    assert kind == REFUSED
    assert '"handbook/leave"' in message


async def test_a_case_sensitive_source_takes_upper_case_but_no_second_case_of_an_id(running: Running) -> None:
    """SRC-08: declared per source; two ids that differ by case alone cannot coexist, in one call or in two."""
    mixed = [document(record_id, source_label="mixed") for record_id in ("kb/HR", "kb/hr")]
    put = await running.lines.collector.put(*mixed)
    assert [o.kind for o in put.outcomes] == [CREATED, REFUSED]
    assert '"kb/HR"' in put.outcomes[1].message


async def test_composed_and_decomposed_ids_are_one_or_refused(running: Running) -> None:
    """SRC-06: an id that normalisation would change is refused, so one text has one spelling."""
    error = await running.lines.collector.refused(
        index_pb2.PutDocumentsRequest(tenant=TENANT, documents=[document("handbook/cafe\u0301")])
    )
    assert error.code().name == "INVALID_ARGUMENT"
    assert "documents[0].record_id" in (error.details() or "")


@pytest.mark.parametrize(
    "label, changes, kind",
    [
        ("prices", {}, CREATED),
        ("prices", {"origin": index_pb2.ORIGIN_INFERRED, "own_source": False, "of": [ref()]}, REFUSED),
        ("handbook", {"origin": index_pb2.ORIGIN_INFERRED, "own_source": False, "of": [ref()]}, CREATED),
        ("sums", {}, REFUSED),
        (
            "sums",
            {"origin": index_pb2.ORIGIN_DERIVED, "own_source": False, "inputs": [ref()], "formula": "a + b"},
            CREATED,
        ),
        (
            "prices",
            {"origin": index_pb2.ORIGIN_DERIVED, "own_source": False, "inputs": [ref()], "formula": "a"},
            REFUSED,
        ),
    ],
)
async def test_a_sources_duty_says_what_it_takes(
    running: Running, label: str, changes: dict[str, Any], kind: int
) -> None:
    """A19: no inference under a data channel, no derived figure but under a derivation, and only there."""
    await running.lines.collector.put(document())
    given = evidence("figures/one", source_label=label, **changes)
    found, reason, message = outcome(await running.lines.collector.evidence(given))
    assert found == kind, message
    assert reason == ("UNSPECIFIED" if kind == CREATED else "COLLECTOR_NOT_ENTITLED")


async def test_a_derived_figure_falls_with_any_input_however_far_behind(running: Running) -> None:
    """A19: roots are flattened at registration; a revoke of the first document withholds what was computed from it."""
    await running.lines.collector.put(document())
    quote = evidence("quotes/one", source_label="handbook", own_source=False, of=[ref()])
    await running.lines.collector.evidence(quote)
    changes: dict[str, Any] = {"origin": index_pb2.ORIGIN_DERIVED, "own_source": False, "formula": "double it"}
    derived = [
        evidence("sums/a", source_label="sums", inputs=[ref("quotes/one")], **changes),
        evidence("sums/b", source_label="sums", inputs=[ref("sums/a")], **changes),
    ]
    put = await running.lines.collector.evidence(*derived)
    assert [o.kind for o in put.outcomes] == [CREATED, CREATED]
    asked = check(segment("s1", binding("sums/b")), moment=common_pb2.MOMENT_RETRIEVE)
    before = verdicts(await running.lines.agent.check(asked))
    assert before[0][1] not in {"RETENTION_REVOKED", "DOCUMENT_UNKNOWN", "NOT_AVAILABLE"}
    await running.lines.operator.call(
        index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    )
    assert verdicts(await running.lines.agent.check(asked)) == [("PURGE", "RETENTION_REVOKED")]


async def test_evidence_must_rest_on_what_the_index_holds(running: Running) -> None:
    """Referenced records exist, are documents where documents are named, and are not revoked."""
    await running.lines.collector.put(document())
    await running.lines.collector.evidence(
        evidence("quotes/one", source_label="handbook", own_source=False, of=[ref()])
    )
    unknown = evidence("quotes/two", source_label="handbook", own_source=False, of=[ref("handbook/nowhere")])
    of_evidence = evidence("quotes/two", source_label="handbook", own_source=False, of=[ref("quotes/one")])
    for given in (unknown, of_evidence):
        kind, reason, message = outcome(await running.lines.collector.evidence(given))
        assert (kind, reason) == (REFUSED, "DOCUMENT_UNKNOWN")
        assert message.startswith("evidence[0].of[0]: ")


async def test_a_revoked_version_cannot_be_put_resumed_or_changed(running: Running) -> None:
    """B7, B8: the revoke is terminal for the version; nothing brings it back, and evidence cannot be taken from it."""
    await running.lines.collector.put(document())
    revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
    await running.lines.operator.call(revoke)
    assert outcome(await running.lines.collector.put(document()))[:2] == (REFUSED, "TOMBSTONED")
    quote = evidence("quotes/one", source_label="handbook", own_source=False, of=[ref()])
    assert outcome(await running.lines.collector.evidence(quote))[:2] == (REFUSED, "TOMBSTONED")
    for request in (
        index_pb2.ResumeRequest(tenant=TENANT, record=ref(), reason="why"),
        index_pb2.SetScopesRequest(tenant=TENANT, record=ref(), scopes=["x"], reason="why"),
        index_pb2.SupersedeRequest(tenant=TENANT, record=ref(), clear=True, reason="why"),
    ):
        error = await running.lines.operator.refused(request)
        assert (error.code().name, "TOMBSTONED" in (error.details() or "")) == ("FAILED_PRECONDITION", True)
    put = await running.lines.collector.put(document(version="2", supersedes_version="1"))
    assert outcome(put)[0] == CREATED


async def test_one_refused_input_leaves_the_others(running: Running) -> None:
    """Refusals fall on single inputs, in the order of the call."""
    given = [document("handbook/a"), document("handbook/b", source_label="foreign"), document("handbook/c")]
    put = await running.lines.collector.put(*given)
    assert [o.kind for o in put.outcomes] == [CREATED, REFUSED, CREATED]


async def test_a_record_stays_a_document_or_a_piece_of_evidence(running: Running) -> None:
    """One id is one thing: a new version of another kind is refused."""
    await running.lines.collector.put(document())
    given = evidence("handbook/leave", "2", source_label="handbook", own_source=True)
    kind, reason, _ = outcome(await running.lines.collector.evidence(given))
    assert (kind, reason) == (REFUSED, "CONTENT_MISMATCH")
