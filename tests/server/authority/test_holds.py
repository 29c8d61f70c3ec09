"""Legal holds: kept, shown to nobody, purged by nobody; what was recalled is due again when they end."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.policy.words import HolderKind
from discreet.server.ports import Work
from discreet.server.ports_authority import HolderRow
from discreet.v1 import common_pb2, index_pb2, purge_pb2
from tests.server.authority.acts import ALLOWED, PURGED, TICKETED, ahead, answer, hold, lift_hold, revoke, seen
from tests.server.support import TENANT, Running, audit_rows, binding, commit, document, ref, segment

HELD = [("WITHHOLD", "LEGAL_HOLD")]
EXTENTS: list[dict[str, Any]] = [
    {"record": ref()},
    {"record": common_pb2.RecordRef(record_id="handbook/leave")},
    {"source_label": "handbook"},
]


async def holders(server: Running) -> None:
    """One holder of each kind."""

    def register(index: Work) -> None:
        for name, kind in (("store", HolderKind.SEGMENT_STORE), ("vectors", HolderKind.DOCUMENT_STORE)):
            index.purges.write_holder(TENANT, HolderRow(name, kind, (), "", None, index.now), "operator", "why")

    await server.server.store.change(register)


async def listed(server: Running) -> list[purge_pb2.Hold]:
    """The holds that stand."""
    request = purge_pb2.ListHoldsRequest(tenant=TENANT)
    return list((await answer(server.lines.auditor, request, purge_pb2.ListHoldsResponse)).holds)


@pytest.mark.parametrize("what", EXTENTS, ids=["version", "record", "source"])
async def test_a_hold_withholds_and_shows_again_when_it_is_lifted(either: Running, what: dict[str, Any]) -> None:
    """B8: at every moment; the record says which holds it is under; another record is not touched."""
    await either.lines.collector.put(document())
    made = (await either.lines.agent.commit(commit())).results[0].ledger_id
    placed = await hold(either.lines.operator, **what)
    assert await seen(either, made) == [HELD] * 3
    assert list((await either.lines.operator.get("handbook/leave")).record.hold_ids) == [placed.hold_id]
    (info,) = await listed(either)
    assert (info.hold_id, info.ticket, info.actor) == (placed.hold_id, "T-1", "operator")
    await lift_hold(either.lines.operator, placed.hold_id)
    assert await seen(either, made) == [ALLOWED] * 3
    assert await listed(either) == []


async def test_a_hold_keeps_what_was_revoked_and_lifting_it_purges(either: Running) -> None:
    """B8, B9: a revoke under a hold withholds (LEGAL_HOLD), whichever came first; lifting makes it PURGE again."""
    await either.lines.collector.put(document())
    made = (await either.lines.agent.commit(commit())).results[0].ledger_id
    first = await hold(either.lines.operator, source_label="handbook")
    await revoke(either.lines.operator, record=ref())
    assert await seen(either, made) == [HELD] * 3
    second = await hold(either.lines.operator, record=ref(), ticket="T-2")
    await lift_hold(either.lines.operator, first.hold_id)
    assert await seen(either, made) == [HELD] * 3
    await lift_hold(either.lines.operator, second.hold_id)
    assert await seen(either, made) == [PURGED] * 3


@pytest.mark.parametrize("what", EXTENTS, ids=["version", "record", "source"])
async def test_a_hold_counts_what_it_recalls(either: Running, what: dict[str, Any]) -> None:
    """F3: open items of every holder that the hold covers: the record, and each segment that rests on it."""
    await holders(either)
    await either.lines.collector.put(document(), document("mixed/other", source_label="mixed"))
    await either.lines.agent.commit(commit(segment("s1"), segment("s2", binding("mixed/other"))))
    await revoke(either.lines.operator, record=ref())
    await revoke(either.lines.operator, record=ref("mixed/other"))
    placed = await hold(either.lines.operator, **what)
    assert (placed.recalled_items, placed.purged_before) == (2, 0)
    nothing = await hold(either.lines.operator, source_label="sums")
    assert (nothing.recalled_items, nothing.purged_before) == (0, 0)


async def test_a_hold_says_for_how_many_it_comes_too_late(either: Running) -> None:
    """F3: what was deleted before is counted apart from what is recalled; what was not there is neither."""
    documents = [document(name) for name in ("handbook/a", "handbook/b", "handbook/c")]
    await either.lines.collector.put(*documents)
    kind = purge_pb2.HOLDER_KIND_DOCUMENT_STORE
    await either.lines["holder"].call(purge_pb2.RegisterHolderRequest(tenant=TENANT, kind=kind))
    done = await revoke(either.lines.operator, query=index_pb2.RecordQuery(source_label="handbook"))
    outcomes = (purge_pb2.PURGE_OUTCOME_PURGED, purge_pb2.PURGE_OUTCOME_NOT_FOUND)
    acks = [
        purge_pb2.PurgeAck(order_id=done.purge_order_id, item=item, outcome=outcome)
        for item, outcome in enumerate(outcomes, 1)
    ]
    await either.lines["holder"].call(purge_pb2.AckPurgeRequest(tenant=TENANT, acks=acks))
    placed = await hold(either.lines.operator, source_label="handbook")
    assert (placed.recalled_items, placed.purged_before) == (1, 1)


async def test_a_hold_is_placed_once_a_ticket(running: Running) -> None:
    """Repeating it writes nothing; another ticket is another hold, and both must be lifted."""
    await running.lines.collector.put(document())
    first = await hold(running.lines.operator, record=ref())
    again = await hold(running.lines.operator, record=ref())
    assert (again.hold_id, again.token) == (first.hold_id, first.token)
    other = await hold(running.lines.operator, record=ref(), ticket="T-2")
    assert other.hold_id != first.hold_id
    await lift_hold(running.lines.operator, first.hold_id)
    assert await seen(running) == [HELD] * 2
    error = await running.lines.operator.refused(purge_pb2.LiftHoldRequest(hold_id=first.hold_id, **TICKETED))
    assert error.code().name == "NOT_FOUND"


async def test_a_hold_on_nothing_is_refused(running: Running) -> None:
    """A misspelt record would hold nothing and say that it did; a source may be held before it has records."""
    for record in (ref("handbook/nowhere"), common_pb2.RecordRef(record_id="handbook/nowhere")):
        error = await running.lines.operator.refused(purge_pb2.PlaceHoldRequest(record=record, **TICKETED))
        assert error.code().name == "NOT_FOUND"
    error = await running.lines.operator.refused(purge_pb2.PlaceHoldRequest(**TICKETED))
    assert error.code().name == "INVALID_ARGUMENT"
    await hold(running.lines.operator, source_label="handbook")
    await running.lines.collector.put(document())
    assert await seen(running) == [HELD] * 2


async def test_a_hold_covers_versions_to_come(running: Running) -> None:
    """A hold on a record is on each version that it will have; one on a version on that alone."""
    await running.lines.collector.put(document())
    await hold(running.lines.operator, record=ref())
    await running.lines.collector.put(document(version="2"))
    found = await running.lines.operator.get("handbook/leave")
    assert list(found.record.hold_ids) == []
    placed = await hold(running.lines.operator, record=common_pb2.RecordRef(record_id="handbook/leave"))
    await running.lines.collector.put(document(version="3"))
    found = await running.lines.operator.get("handbook/leave")
    assert list(found.record.hold_ids) == [placed.hold_id]


async def test_holds_are_on_record(running: Running) -> None:
    """B9, A14 in kind: who held what, why, on which ticket; who lifted it."""
    await running.lines.collector.put(document())
    placed = await hold(running.lines.operator, record=ref())
    await lift_hold(running.lines.operator, placed.hold_id)
    rows = audit_rows(running.server.config.db)[-2:]
    assert [
        (row.change.method, row.change.subject_id, row.change.record.record_id, row.change.ticket) for row in rows
    ] == [("PlaceHold", placed.hold_id, "handbook/leave", "T-1"), ("LiftHold", placed.hold_id, "handbook/leave", "T-1")]


async def test_a_suspension_says_until_when(running: Running) -> None:
    """B8: Suspend again replaces the end, Resume takes it away; an end that is past is malformed."""
    await running.lines.collector.put(document())
    one: dict[str, Any] = {"tenant": TENANT, "record": ref(), "reason": "why"}
    past = index_pb2.SuspendRequest(until=ahead(-1), **one)
    assert (await running.lines.operator.refused(past)).code().name == "INVALID_ARGUMENT"
    for until in (ahead(3_600), ahead(7_200), None):
        await running.lines.operator.call(index_pb2.SuspendRequest(until=until, **one))
        record = (await running.lines.operator.get("handbook/leave")).record
        assert record.suspended
        assert record.HasField("suspended_until") == (until is not None)
        if until is not None:
            assert record.suspended_until == until
    await running.lines.operator.call(index_pb2.ResumeRequest(**one))
    record = (await running.lines.operator.get("handbook/leave")).record
    assert (record.suspended, record.HasField("suspended_until")) == (False, False)
