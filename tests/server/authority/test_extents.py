"""RevokeRetention: what each extent takes, and that a dry run is the run."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.server.servicers.authority import covering
from discreet.server.stores import authority_work
from discreet.v1 import audit_pb2, common_pb2, index_pb2
from tests.server.authority.acts import ALLOWED, PURGED, TICKETED, ahead, revoke
from tests.server.support import (
    TENANT,
    Running,
    audit_rows,
    binding,
    check,
    commit,
    document,
    ref,
    segment,
    verdicts,
)

DAY = 86_400
NAMES = ("handbook/leave", "handbook/pay", "handbook/trips")

EXTENTS: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("record", {"record": ref()}, [("handbook/leave", "1")]),
    ("all versions", {"all_versions_of": "handbook/leave"}, [("handbook/leave", "1"), ("handbook/leave", "2")]),
    (
        "records",
        {"records": index_pb2.RecordRefs(records=[ref("handbook/pay"), ref(version="2")])},
        [("handbook/leave", "2"), ("handbook/pay", "1")],
    ),
    (
        "query",
        {"query": index_pb2.RecordQuery(record_id_prefix="handbook/", scope="desk")},
        [("handbook/pay", "1")],
    ),
    (
        "source",
        {"source_label": "handbook"},
        [("handbook/leave", "1"), ("handbook/leave", "2"), ("handbook/pay", "1"), ("handbook/trips", "1")],
    ),
]


async def prepared(server: Running) -> None:
    """Four versions under one label, one under another, and a committed segment on two of them."""
    documents = [document(name) for name in NAMES]
    documents[1].scopes.append("desk")
    await server.lines.collector.put(*documents, document("mixed/other", source_label="mixed"))
    await server.lines.collector.put(document(version="2"))
    await server.lines.agent.commit(
        commit(segment("s1", binding("handbook/pay")), segment("s2", binding("mixed/other")))
    )


def refs(listed: Any) -> list[tuple[str, str]]:
    """Record versions as pairs."""
    return [(one.record_id, one.version) for one in listed]


@pytest.mark.parametrize("fields, covered", [(one[1], one[2]) for one in EXTENTS], ids=[one[0] for one in EXTENTS])
async def test_a_dry_run_equals_the_run(
    either: Running, fields: dict[str, Any], covered: list[tuple[str, str]]
) -> None:
    """RET-09: what the dry run says is what the run does, version for version; nothing else is touched."""
    await prepared(either)
    operator = either.lines.operator
    dry = await revoke(operator, **fields, dry_run=True)
    head = await either.server.store.head()
    assert (refs(dry.sample), dry.affected_versions, dry.purge_order_id) == (covered, len(covered), "")
    assert dry.affected_segments == (("handbook/pay", "1") in covered)
    run = await revoke(operator, **fields, dry_run_digest=dry.dry_run_digest)
    assert (run.dry_run_digest, run.sample[:], run.affected_segments) == (
        dry.dry_run_digest,
        dry.sample[:],
        dry.affected_segments,
    )
    assert run.purge_order_id
    assert (await either.server.store.head()).seq > head.seq
    listed = await operator.call(index_pb2.ListRecordsRequest(tenant=TENANT))
    assert isinstance(listed, index_pb2.ListRecordsResponse)
    revoked = [one for one in listed.records if one.HasField("retention_revoke")]
    assert refs(revoked) == covered
    assert {one.retention_revoke.purge_order_id for one in revoked} == {run.purge_order_id}
    order = await either.server.store.change(lambda index: index.purges.order(TENANT, run.purge_order_id))
    assert order is not None
    assert (order.records, order.segments, order.ticket) == (len(covered), dry.affected_segments, "T-1")


async def test_a_digest_of_something_else_stops_the_run(either: Running) -> None:
    """RET-09: another extent, one version more and one segment more each make it another digest."""
    await prepared(either)
    operator = either.lines.operator
    fields: dict[str, Any] = {"source_label": "handbook"}
    digests = {(await revoke(operator, **one[1], dry_run=True)).dry_run_digest for one in EXTENTS}
    assert len(digests) == len(EXTENTS)
    before = await revoke(operator, **fields, dry_run=True)
    await either.lines.collector.put(document("handbook/new"))
    wrong = index_pb2.RevokeRetentionRequest(**fields, **TICKETED, dry_run_digest=before.dry_run_digest)
    assert (await operator.refused(wrong)).code().name == "FAILED_PRECONDITION"
    now = await revoke(operator, **fields, dry_run=True)
    await either.lines.agent.commit(commit(segment("s3", binding("handbook/new"))))
    wrong.dry_run_digest = now.dry_run_digest
    assert (await operator.refused(wrong)).code().name == "FAILED_PRECONDITION"
    assert verdicts(await either.lines.agent.check(check(segment("s", binding("handbook/new"))))) == ALLOWED


def aged(name: str, seconds: float | None) -> index_pb2.DocumentInput:
    """A document that speaks of a time so long ago; None: of none."""
    return document(name) if seconds is None else document(name, as_of=ahead(-seconds))


async def test_a_cut_off_takes_what_is_older_and_nothing_else(either: Running) -> None:
    """RET-09: 89 days 23 hours, 90 days exactly, 91 days, no time, a time ahead, another tenant.

    The boundary itself is not before it; what states no time, or one ahead, is counted and left.
    """
    boundary = ahead(-90 * DAY)
    documents = [
        aged("age/younger", 90 * DAY - 3_600),
        document("age/exactly", as_of=boundary),
        aged("age/older", 91 * DAY),
        aged("age/without", None),
        aged("age/ahead", -DAY),
    ]
    await either.lines.collector.put(*documents)
    await either.lines.collector.put(aged("age/older", 91 * DAY), tenant="bolt")
    query = index_pb2.RecordQuery(as_of_before=boundary)
    for dry_run in (True, False):
        found = await revoke(either.lines.operator, query=query, dry_run=dry_run)
        assert refs(found.sample) == [("age/older", "1")]
        assert found.without_time == 2
    other = await either.lines.operator.call(index_pb2.GetRecordRequest(tenant="bolt", record_id="age/older"))
    assert isinstance(other, index_pb2.GetRecordResponse)
    assert not other.record.HasField("retention_revoke")


async def test_a_wrong_cut_off_revokes_nothing(running: Running) -> None:
    """RET-09: no time at all (0) is older than everything, and one ahead is refused: neither takes fresh data."""
    await running.lines.collector.put(aged("age/older", 91 * DAY))
    found = await revoke(running.lines.operator, query=index_pb2.RecordQuery(as_of_before=Timestamp()))
    assert (found.affected_versions, found.purge_order_id) == (0, "")
    for before in (ahead(3_600), Timestamp(seconds=4_000_000_000)):
        query = index_pb2.RecordQuery(as_of_before=before)
        error = await running.lines.operator.refused(index_pb2.RevokeRetentionRequest(query=query, **TICKETED))
        assert (error.code().name, (error.details() or "").split(":")[0]) == ("INVALID_ARGUMENT", "query.as_of_before")


async def test_a_query_matches_exactly(either: Running) -> None:
    """RET-09 in kind: label, prefix, collector and attributes each narrow; a prefix is text, not a pattern."""
    value = common_pb2.Value(string_value="draft")
    await either.lines.collector.put(
        document("a%/x", attributes={"status": value}),
        document("a_/x"),
        document("ab/x", attributes={"status": common_pb2.Value(string_value="drafts")}),
        document("ab/y", source_label="mixed"),
    )
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({"record_id_prefix": "a%"}, ["a%/x"]),
        ({"record_id_prefix": "a_"}, ["a_/x"]),
        ({"record_id_prefix": "ab/x"}, ["ab/x"]),
        ({"record_id_prefix": "A"}, []),
        ({"attributes": {"status": value}}, ["a%/x"]),
        ({"source_label": "mixed"}, ["ab/y"]),
        ({"collector": "somebody-else"}, []),
        ({"collector": "collector", "source_label": "mixed"}, ["ab/y"]),
    ]
    for fields, wanted in cases:
        found = await revoke(either.lines.operator, query=index_pb2.RecordQuery(**fields), dry_run=True)
        assert [one.record_id for one in found.sample] == wanted, fields


async def test_more_than_the_limit_needs_the_digest_of_a_dry_run(running: Running) -> None:
    """A revoke of more versions and segments than the policy lets pass (100) must have been looked at."""
    await running.lines.collector.put(*(document(f"many/{number:03}") for number in range(100)))
    query = index_pb2.RecordQuery(record_id_prefix="many/")
    await running.lines.agent.commit(commit(segment("s1", binding("many/000"))))
    error = await running.lines.operator.refused(index_pb2.RevokeRetentionRequest(query=query, **TICKETED))
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("FAILED_PRECONDITION", "dry_run_digest")
    dry = await revoke(running.lines.operator, query=query, dry_run=True)
    assert (len(dry.sample), dry.affected_versions, dry.affected_segments) == (100, 100, 1)
    done = await revoke(running.lines.operator, query=query, dry_run_digest=dry.dry_run_digest)
    assert done.affected_versions == 100
    rows = [row for row in audit_rows(running.server.config.db) if row.change.subject_id == done.purge_order_id]
    assert [row.change.detail.partition(" ")[0] for row in rows] == ["records", "versions"]
    assert all(f'["many/{number:03}","1"]' in rows[1].change.detail for number in range(100))


async def test_a_revoke_takes_at_most_so_many_versions_but_a_source_any(
    either: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RESOURCE_EXHAUSTED one past the limit, and nothing is done; a source is one fact, however much is under it."""
    monkeypatch.setattr(covering, "VERSIONS_MAX", 20)
    monkeypatch.setattr(authority_work, "PAGE", 7)
    await either.lines.collector.put(*(document(f"m/{number:02}") for number in range(21)))
    operator, query = either.lines.operator, index_pb2.RecordQuery(record_id_prefix="m/")
    error = await operator.refused(index_pb2.RevokeRetentionRequest(query=query, dry_run=True, **TICKETED))
    assert error.code().name == "RESOURCE_EXHAUSTED"
    one = await revoke(operator, record=ref("m/20"))
    assert one.affected_versions == 1
    all_but_it = await revoke(operator, query=query, dry_run=True)
    assert (all_but_it.affected_versions, all_but_it.already_revoked) == (20, 1)
    await either.lines.collector.put(document("m/21"))
    source = await revoke(operator, source_label="handbook", dry_run=True)
    assert (source.affected_versions, source.already_revoked) == (21, 1)


async def test_a_repeat_writes_nothing_and_other_terms_stand_aside(either: Running) -> None:
    """The same extent, ticket and no earlier purge: the order of the first time. Another ticket: refused.

    A repeat is not compared with a dry run, since it does nothing. With something new beside it, only that is revoked,
    and the rest stays as it was.
    """
    await prepared(either)
    operator = either.lines.operator
    first = await revoke(operator, record=ref())
    head = await either.server.store.head()
    for digest in (first.dry_run_digest, "0" * 64, ""):
        again = await revoke(operator, record=ref(), dry_run_digest=digest)
        assert (again.purge_order_id, again.already_revoked, again.affected_versions) == (first.purge_order_id, 1, 0)
    other = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="why", ticket="T-2")
    assert (await operator.refused(other)).code().name == "FAILED_PRECONDITION"
    assert (await either.server.store.head()).seq == head.seq
    more = await revoke(operator, all_versions_of="handbook/leave", ticket="T-2")
    assert (refs(more.sample), more.already_revoked) == ([("handbook/leave", "2")], 1)
    kept = await operator.call(index_pb2.GetRecordRequest(tenant=TENANT, record_id="handbook/leave", version="1"))
    assert isinstance(kept, index_pb2.GetRecordResponse)
    assert (kept.record.retention_revoke.ticket, kept.record.retention_revoke.purge_order_id) == (
        "T-1",
        first.purge_order_id,
    )


async def test_a_source_is_revoked_once_and_repeats_like_anything_else(either: Running) -> None:
    """The standing fact: repeated on the same ticket it writes nothing, on another it is refused."""
    await prepared(either)
    operator = either.lines.operator
    first = await revoke(operator, source_label="handbook")
    again = await revoke(operator, source_label="handbook")
    assert (again.token, again.purge_order_id, again.already_revoked) == (first.token, first.purge_order_id, 4)
    other = index_pb2.RevokeRetentionRequest(tenant=TENANT, source_label="handbook", reason="why", ticket="T-2")
    assert (await operator.refused(other)).code().name == "FAILED_PRECONDITION"
    single = await revoke(operator, record=ref())
    assert (single.token, single.purge_order_id) == (first.token, first.purge_order_id)


async def test_a_revoke_needs_no_policy(running: Running) -> None:
    """B7: an operator's revoke goes through while no policy revision can be loaded."""
    await prepared(running)
    running.server.policies.snapshot = None  # as it is before the first revision was loaded
    done = await revoke(running.lines.operator, source_label="handbook")
    assert done.purge_order_id
    with closing(sqlite3.connect(running.server.config.db)) as raw:
        assert raw.execute("SELECT fact, label FROM standing_event").fetchall() == [("source-revoke", "handbook")]


async def test_exactly_one_extent_is_given(running: Running) -> None:
    """None, two, an empty query and an empty list are each malformed."""
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "record"),
        ({"record": ref(), "source_label": "handbook"}, "source_label"),
        ({"query": index_pb2.RecordQuery()}, "query"),
        ({"records": index_pb2.RecordRefs()}, "records.records"),
        ({"records": index_pb2.RecordRefs(records=[ref(), ref()])}, "records.records[1]"),
    ]
    for fields, path in refused:
        error = await running.lines.operator.refused(index_pb2.RevokeRetentionRequest(**fields, **TICKETED))
        assert error.code().name == "INVALID_ARGUMENT", fields
        assert (error.details() or "").startswith(path), fields
    missing = index_pb2.RecordRefs(records=[ref("handbook/nowhere")])
    error = await running.lines.operator.refused(index_pb2.RevokeRetentionRequest(records=missing, **TICKETED))
    assert (error.code().name, (error.details() or "").split(":")[0]) == ("NOT_FOUND", "records.records[0]")


async def test_the_revoke_is_on_record_with_its_order_and_its_versions(running: Running) -> None:
    """B9, A14 in kind: one row for the call with actor, reason, ticket and order, and rows that name the versions."""
    await prepared(running)
    done = await revoke(running.lines.operator, source_label="handbook")
    rows = [row for row in audit_rows(running.server.config.db) if row.change.method == "RevokeRetention"]
    assert {(row.act, row.caller.name, row.change.subject_id, row.change.ticket) for row in rows} == {
        (audit_pb2.AUDIT_ACT_CHANGE, "operator", done.purge_order_id, "T-1")
    }
    assert (rows[0].change.reason, rows[0].change.detail.split(";")[0]) == (
        "asked to",
        "source handbook: 4 versions, 1 segments",
    )
    assert '["handbook/pay","1"]' in rows[1].change.detail


async def test_a_source_revoke_purges_what_rests_on_the_source(either: Running) -> None:
    """B7: at PUBLISH and at REPLAY of what was committed before; what rests on other sources is allowed."""
    await prepared(either)
    made = await either.lines.agent.commit(commit(segment("s4", binding("handbook/trips")), answer="answer-2"))
    await revoke(either.lines.operator, source_label="handbook")
    asked = [check(segment("s", binding("handbook/trips"))), check(ledger_ids=[made.results[0].ledger_id])]
    for request in asked:
        assert verdicts(await either.lines.agent.check(request)) == PURGED
    other = check(segment("s", binding("mixed/other")))
    assert verdicts(await either.lines.agent.check(other)) == ALLOWED
