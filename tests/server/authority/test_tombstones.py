"""Tombstones: what was revoked does not come back, by no way and under no name; lifting one names it."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.v1 import authority_pb2, common_pb2, index_pb2
from tests.server.authority.acts import ALLOWED, PURGED, SAID, TICKETED, answer, lift, revoke, tombstones
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

SAME = digest("handbook/leave@1")
CREATED = index_pb2.PutOutcome.KIND_CREATED
REFUSED = index_pb2.PutOutcome.KIND_REFUSED
Kind = authority_pb2.TombstoneKind


def quote(record_id: str, **fields: Any) -> index_pb2.EvidenceInput:
    """A quote taken from documents."""
    return index_pb2.EvidenceInput(
        record_id=record_id,
        version="1",
        digest=fields.pop("digest", digest(record_id)),
        source_label=fields.pop("source_label", "handbook"),
        scopes=["public"],
        origin=fields.pop("origin", index_pb2.ORIGIN_COLLECTED),
        **fields,
    )


async def outcomes(server: Running, *given: index_pb2.DocumentInput | index_pb2.EvidenceInput) -> list[tuple[int, str]]:
    """What became of each input, put one by one: its kind, and the reason where it was refused."""
    found = []
    for one in given:
        response: Any
        if isinstance(one, index_pb2.DocumentInput):
            response = await server.lines.collector.put(one)
        else:
            response = await server.lines.collector.evidence(one)
        outcome = response.outcomes[0]
        found.append((outcome.kind, common_pb2.Reason.Name(outcome.reason).removeprefix("REASON_")))
    return found


TOMBSTONED = (REFUSED, "TOMBSTONED")


async def test_revoked_content_does_not_come_back_by_any_way(either: Running) -> None:
    """B7, RET-01, RET-10: put again, other name, new version, other label, evidence, `of`, inputs, twice removed.

    Another tenant is not touched, nor another content of the same record, nor a copy that was there before.
    """
    await either.lines.collector.put(document(), document("handbook/copy", digest=SAME))
    await either.lines.collector.evidence(quote("q/before", of=[ref()]))
    await revoke(either.lines.operator, record=ref())
    derived = quote("sum/a", source_label="sums", origin=index_pb2.ORIGIN_DERIVED, formula="a")
    of_quote = quote("sum/b", source_label="sums", origin=index_pb2.ORIGIN_DERIVED, formula="b")
    derived.inputs.append(ref())
    of_quote.inputs.append(ref("q/before"))
    found = await outcomes(
        either,
        document(),
        document(version="2", digest=SAME),
        document("handbook/other", digest=SAME),
        document("mixed/other", digest=SAME, source_label="mixed"),
        quote("q/itself", digest=SAME, own_source=True),
        quote("q/of", of=[ref()]),
        derived,
        of_quote,
    )
    assert found == [TOMBSTONED] * 8
    fine = await outcomes(either, document(version="2"), document("handbook/copy", digest=SAME))
    assert fine == [(CREATED, "UNSPECIFIED"), (index_pb2.PutOutcome.KIND_UNCHANGED, "UNSPECIFIED")]
    elsewhere = await either.lines.collector.put(document(), tenant="bolt")
    assert elsewhere.outcomes[0].kind == CREATED


async def test_a_look_alike_of_a_revoked_record_is_no_way_back(running: Running) -> None:
    """SRC-04 in kind, B7: an id that looks the same is refused as ever, with the revoked content too."""
    await running.lines.collector.put(document("handbook/clear"))
    await revoke(running.lines.operator, all_versions_of="handbook/clear")
    found = await running.lines.collector.put(
        document("handbook/сlear"),  # a Cyrillic letter
        document("handbook/сlear", version="2", digest=digest("handbook/clear@1")),
    )
    assert [outcome.kind for outcome in found.outcomes] == [REFUSED, REFUSED]


async def test_all_versions_covers_those_to_come(either: Running) -> None:
    """B7: a RECORD tombstone refuses a new version whatever it holds; another record with that content is free."""
    await either.lines.collector.put(document())
    await revoke(either.lines.operator, all_versions_of="handbook/leave")
    found = await outcomes(either, document(version="2"), document("handbook/other", digest=digest("handbook/leave@2")))
    assert found == [TOMBSTONED, (CREATED, "UNSPECIFIED")]
    stones = await tombstones(either.lines.operator, record_id="handbook/leave")
    assert [(stone.kind, stone.record.version) for stone in stones] == [
        (Kind.TOMBSTONE_KIND_DIGEST, "1"),
        (Kind.TOMBSTONE_KIND_RECORD, ""),
    ]


async def test_a_revoked_source_takes_nothing_more_and_nothing_is_built_on_it(either: Running) -> None:
    """B7: registering, metadata, every edit, a successor, a quote and a figure are refused under a revoked source."""
    await either.lines.collector.put(document(), document("mixed/other", source_label="mixed"))
    await revoke(either.lines.operator, source_label="handbook")
    figure = quote("sum/a", source_label="sums", origin=index_pb2.ORIGIN_DERIVED, formula="a", inputs=[ref()])
    found = await outcomes(
        either,
        document("handbook/new"),
        document(version="2"),
        document(scopes=["staff"]),
        quote("q/of", source_label="mixed", of=[ref()]),
        figure,
        document("mixed/copy", source_label="mixed", digest=SAME),
    )
    assert found == [TOMBSTONED] * 6
    one: dict[str, Any] = {"tenant": TENANT, "record": ref(), "reason": "why"}
    for request in (
        index_pb2.SuspendRequest(**one),
        index_pb2.ResumeRequest(**one),
        index_pb2.SetScopesRequest(scopes=["staff"], **one),
        index_pb2.RecordAssessmentRequest(**one),
        index_pb2.MarkUnreachableRequest(**one),
        index_pb2.SupersedeRequest(successor=ref("mixed/other"), **one),
    ):
        error = await either.lines.operator.refused(request)
        assert (error.code().name, "TOMBSTONED" in (error.details() or "")) == ("FAILED_PRECONDITION", True), request
    assert await outcomes(either, document("mixed/new", source_label="mixed")) == [(CREATED, "UNSPECIFIED")]


async def test_a_refusal_names_the_tombstone_and_lifting_it_lets_the_content_in(either: Running) -> None:
    """RET-10, DB-05: a re-approval names the tombstone that it lifts; the version that was revoked stays revoked."""
    await either.lines.collector.put(document())
    done = await revoke(either.lines.operator, record=ref())
    (stone,) = await tombstones(either.lines.auditor)
    assert (stone.digest, stone.purge_order_id, stone.lifted) == (SAME, done.purge_order_id, False)
    refused = await either.lines.collector.put(document(version="2", digest=SAME))
    assert stone.tombstone_id in refused.outcomes[0].message
    await lift(either.lines.operator, stone.tombstone_id)
    assert await outcomes(either, document(), document(version="2", digest=SAME)) == [
        TOMBSTONED,
        (CREATED, "UNSPECIFIED"),
    ]
    asked = [segment("s1"), segment("s2", binding(version="2", digest=SAME))]
    answered = await either.lines.agent.check(check(*asked))
    assert verdicts(answered) == [*PURGED, *ALLOWED]
    assert await tombstones(either.lines.operator) == []
    (lifted,) = await tombstones(either.lines.operator, lifted=True)
    assert lifted.lifted
    error = await either.lines.operator.refused(
        authority_pb2.LiftTombstoneRequest(tombstone_id=stone.tombstone_id, **TICKETED)
    )
    assert error.code().name == "FAILED_PRECONDITION"


async def test_lifting_is_on_record(running: Running) -> None:
    """DB-05, A14 in kind: who lifted which tombstone, why and on which ticket."""
    await running.lines.collector.put(document())
    await revoke(running.lines.operator, record=ref())
    (stone,) = await tombstones(running.lines.operator)
    await lift(running.lines.operator, stone.tombstone_id)
    last = audit_rows(running.server.config.db)[-1]
    assert (last.change.method, last.caller.name, last.change.ticket, last.change.subject_id) == (
        "LiftTombstone",
        "operator",
        "T-1",
        stone.tombstone_id,
    )
    assert (last.change.record.record_id, last.change.detail) == (
        "handbook/leave",
        "the content of handbook/leave version 1",
    )


async def test_a_record_tombstone_is_lifted_alone(either: Running) -> None:
    """DB-05: new versions pass again, the revoked content does not: its own tombstone stands."""
    await either.lines.collector.put(document())
    await revoke(either.lines.operator, all_versions_of="handbook/leave")
    stones = await tombstones(either.lines.operator)
    await lift(either.lines.operator, stones[1].tombstone_id)
    found = await outcomes(either, document(version="2", digest=SAME), document(version="2"))
    assert found == [TOMBSTONED, (CREATED, "UNSPECIFIED")]
    again = await revoke(either.lines.operator, all_versions_of="handbook/leave", ticket="T-2")
    assert (again.affected_versions, again.already_revoked) == (1, 1)
    assert await outcomes(either, document(version="3")) == [TOMBSTONED]


async def test_a_lifted_source_leaves_what_was_revoked_revoked(either: Running) -> None:
    """DB-05, B7: each version gets the source's revoke as its own, in the same step; new versions pass."""
    await either.lines.collector.put(document(), document(version="2"), document("handbook/own"))
    made = await either.lines.agent.commit(commit(segment("s1", binding(version="2"))))
    own = await revoke(either.lines.operator, record=ref("handbook/own"), ticket="T-9")
    done = await revoke(either.lines.operator, source_label="handbook")
    asked = [check(segment("s", binding(version="2"))), check(ledger_ids=[made.results[0].ledger_id])]
    for request in asked:
        assert verdicts(await either.lines.agent.check(request)) == PURGED
    (stone,) = [one for one in await tombstones(either.lines.operator) if one.kind == Kind.TOMBSTONE_KIND_SOURCE]
    await lift(either.lines.operator, stone.tombstone_id)
    for request in asked:
        assert verdicts(await either.lines.agent.check(request)) == PURGED
    listed = await answer(
        either.lines.operator, index_pb2.ListRecordsRequest(tenant=TENANT), index_pb2.ListRecordsResponse
    )
    assert [(one.record_id, one.version, one.retention_revoke.purge_order_id) for one in listed.records] == [
        ("handbook/leave", "1", done.purge_order_id),
        ("handbook/leave", "2", done.purge_order_id),
        ("handbook/own", "1", own.purge_order_id),
    ]
    found = await outcomes(either, document(), document(version="3"), document("handbook/x", digest=SAME))
    assert found == [TOMBSTONED, (CREATED, "UNSPECIFIED"), TOMBSTONED]
    assert verdicts(await either.lines.agent.check(check(segment("s", binding(version="3"))))) == ALLOWED
    again = await revoke(either.lines.operator, source_label="handbook", ticket="T-2")
    assert (again.affected_versions, again.already_revoked) == (1, 3)


async def test_tombstones_are_listed_a_page_at_a_time(either: Running) -> None:
    """AUD-04 in kind: each exactly once, in the order of their ids, by record and by digest too."""
    await either.lines.collector.put(*(document(f"handbook/p{number}") for number in range(5)))
    await revoke(either.lines.operator, query=index_pb2.RecordQuery(source_label="handbook"))
    request = authority_pb2.ListTombstonesRequest(tenant=TENANT, page_size=2)
    found: list[str] = []
    while True:
        page = await answer(either.lines.auditor, request, authority_pb2.ListTombstonesResponse)
        found += [one.tombstone_id for one in page.tombstones]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    assert (len(found), found) == (5, sorted(set(found)))
    (one,) = await tombstones(either.lines.operator, digest=digest("handbook/p3@1"))
    assert one.record.record_id == "handbook/p3"
    assert await tombstones(either.lines.operator, record_id="handbook/none") == []


@pytest.mark.parametrize("identity", ["agent", "collector", "auditor", "holder", "publisher"])
async def test_lifting_is_for_operators(running: Running, identity: str) -> None:
    """A13 in kind: nobody else lets revoked content back in."""
    request = authority_pb2.LiftTombstoneRequest(tombstone_id="x", ticket="T-1", **SAID)
    assert (await running.lines[identity].refused(request)).code().name == "PERMISSION_DENIED"
