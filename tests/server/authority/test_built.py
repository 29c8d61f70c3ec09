"""What was built on a revoked record falls with it, and so do its copies; a hold on the record keeps them, too."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.v1 import index_pb2, purge_pb2
from tests.server.authority.acts import PURGED, answer, hold, lift_hold, revoke, tombstones
from tests.server.authority.test_tombstones import TOMBSTONED, outcomes, quote
from tests.server.support import TENANT, Running, audit_rows, binding, check, digest, document, ref, segment, verdicts

NAMES = ["handbook/leave", "q/a", "sum/a"]
EXTENTS: list[dict[str, Any]] = [
    {"record": ref()},
    {"all_versions_of": "handbook/leave"},
    {"query": index_pb2.RecordQuery(record_id_prefix="handbook/leave")},
    {"source_label": "handbook"},
]


async def built(server: Running) -> None:
    """A document, a quote of it, a figure made from the quote; and as much on another document, which is left alone."""
    await server.lines["holder"].call(
        purge_pb2.RegisterHolderRequest(tenant=TENANT, kind=purge_pb2.HOLDER_KIND_DOCUMENT_STORE)
    )
    await server.lines.collector.put(document(), document("mixed/other", source_label="mixed"))
    figure = {"source_label": "sums", "origin": index_pb2.ORIGIN_DERIVED, "formula": "a"}
    given = [
        quote("q/a", source_label="mixed", of=[ref()]),
        quote("q/other", source_label="mixed", of=[ref("mixed/other")]),
        quote("sum/a", inputs=[ref("q/a")], **figure),
        quote("sum/other", inputs=[ref("q/other")], **figure),
    ]
    made = await server.lines.collector.evidence(*given)
    assert {outcome.kind for outcome in made.outcomes} == {index_pb2.PutOutcome.KIND_CREATED}


async def items(server: Running, order_id: str) -> dict[str, str]:
    """Record to the state of its item at the holder."""
    request = purge_pb2.ListPurgeItemsRequest(tenant=TENANT, order_id=order_id)
    found = await answer(server.lines.operator, request, purge_pb2.ListPurgeItemsResponse)
    return {
        one.item.record.record_id: purge_pb2.PurgeState.Name(one.state).removeprefix("PURGE_STATE_")
        for one in found.items
    }


@pytest.mark.parametrize("extent", EXTENTS, ids=["record", "all versions", "query", "source"])
async def test_copies_of_what_was_built_on_it_are_purged_too(either: Running, extent: dict[str, Any]) -> None:
    """B7, F3: quotes, summaries and figures, however many steps behind them it lies; each with an item of its own."""
    await built(either)
    dry = await revoke(either.lines.operator, **extent, dry_run=True)
    assert (dry.affected_versions, dry.derived_versions) == (1, 2)
    done = await revoke(either.lines.operator, **extent, dry_run_digest=dry.dry_run_digest)
    assert await items(either, done.purge_order_id) == dict.fromkeys(NAMES, "OPEN")
    asked = segment("s", binding("q/a", digest=digest("q/a")))
    assert verdicts(await either.lines.agent.check(check(asked))) == PURGED
    kept = (await either.lines.operator.get("q/a")).record
    assert not kept.HasField("retention_revoke")
    assert {stone.record.record_id for stone in await tombstones(either.lines.operator) if stone.digest} == set(NAMES)
    again: list[index_pb2.DocumentInput | index_pb2.EvidenceInput] = [
        document("mixed/q", source_label="mixed", digest=digest("q/a")),
        quote("q/b", source_label="mixed", digest=digest("sum/a"), own_source=True),
    ]
    assert await outcomes(either, *again) == [TOMBSTONED] * 2


async def test_a_dry_run_is_of_what_was_built_by_then(either: Running) -> None:
    """RET-09: a quote more makes it another revoke."""
    await built(either)
    dry = await revoke(either.lines.operator, record=ref(), dry_run=True)
    await either.lines.collector.evidence(quote("q/late", source_label="mixed", of=[ref()]))
    request = index_pb2.RevokeRetentionRequest(
        tenant=TENANT, record=ref(), reason="why", ticket="T-1", dry_run_digest=dry.dry_run_digest
    )
    assert (await either.lines.operator.refused(request)).code().name == "FAILED_PRECONDITION"


@pytest.mark.parametrize(
    "what", [{"record": ref()}, {"source_label": "handbook"}, {"record": {"record_id": "handbook/leave"}}]
)
async def test_a_hold_keeps_what_was_built_on_what_it_is_on(either: Running, what: dict[str, Any]) -> None:
    """F3: the quote holds the words of what must be kept, so its copies are recalled with the document's."""
    await built(either)
    done = await revoke(either.lines.operator, record=ref())
    placed = await hold(either.lines.operator, **what)
    assert placed.recalled_items == 3
    assert await items(either, done.purge_order_id) == dict.fromkeys(NAMES, "HELD")
    ack = purge_pb2.PurgeAck(order_id=done.purge_order_id, item=2, outcome=purge_pb2.PURGE_OUTCOME_PURGED)
    await either.lines["holder"].call(purge_pb2.AckPurgeRequest(tenant=TENANT, acks=[ack]))
    await lift_hold(either.lines.operator, placed.hold_id)
    assert await items(either, done.purge_order_id) == {"handbook/leave": "OPEN", "q/a": "PURGED", "sum/a": "OPEN"}


async def test_what_was_built_on_it_is_on_record(running: Running) -> None:
    """B9, A14 in kind: counted in the call's row, and named in a row of its own."""
    await built(running)
    done = await revoke(running.lines.operator, record=ref())
    rows = [row for row in audit_rows(running.server.config.db) if row.change.subject_id == done.purge_order_id]
    assert ", 2 built on them" in rows[0].change.detail
    assert rows[1].change.detail == 'built on them [["q/a","1"],["sum/a","1"]]'


async def test_a_version_that_is_revoked_itself_keeps_its_own_order(either: Running) -> None:
    """A quote that was revoked before stands in its own order alone; a source and what it holds counts once."""
    await built(either)
    own = await revoke(either.lines.operator, record=ref("q/a"), ticket="T-2")
    assert sorted(await items(either, own.purge_order_id)) == ["q/a", "sum/a"]
    later = await revoke(either.lines.operator, record=ref())
    assert sorted(await items(either, later.purge_order_id)) == ["handbook/leave", "sum/a"]
    source = await revoke(either.lines.operator, source_label="mixed", ticket="T-3")
    assert (source.affected_versions, source.derived_versions, source.already_revoked) == (2, 1, 1)
