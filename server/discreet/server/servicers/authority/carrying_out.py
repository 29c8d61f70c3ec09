"""Writes a retention revoke, inside the transaction that expanded it: facts, tombstones, purge order, audit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from discreet.policy.facts import Micros, Ref, Revoke
from discreet.policy.idents import skeleton
from discreet.policy.snapshot import Retention
from discreet.policy.words import PurgeItemKind, TombstoneKind
from discreet.server.auditing import Change
from discreet.server.calls import Call, new_id
from discreet.server.ports import Work
from discreet.server.ports_authority import ItemRow, OrderRow, TombstoneRow
from discreet.server.servicers.authority.covering import Covered, Version
from discreet.server.servicers.authority.extents import Extent
from discreet.server.servicers.index.transacting import Transacting

METHOD = "RevokeRetention"
WRITTEN_AT_ONCE_MAX = 500
VERSIONS_PER_ROW_MAX = 100
"""Versions that one audit row names: at most 64 KiB of names."""


class Said(NamedTuple):
    """Who revokes, why, on which ticket, and before when nothing is purged (None: at once)."""

    actor: str
    reason: str
    ticket: str
    not_before: Micros | None


def carry_out(
    transacting: Transacting,
    index: Work,
    call: Call,
    tenant: str,
    extent: Extent,
    covered: Covered,
    said: Said,
    retention: Retention,
) -> str:
    """Revokes what is covered; returns the id of the purge order."""
    due = index.now if said.not_before is None else max(said.not_before, index.now)
    order = OrderRow(
        new_id(), extent.words(), said.actor, said.reason, said.ticket, index.now, due,
        Micros(due + retention.purge_within_us), retention.recheck_after_us,
        len(covered.versions) + len(covered.built), len(covered.segments),
    )  # fmt: skip
    if extent.label:
        index.authority.revoke_source(tenant, extent.label, order)
    else:
        _write_records(index, tenant, covered, order)
    index.purges.write_order(tenant, order, list(_items(order.order_id, covered)))
    index.authority.write_tombstones(tenant, list(_tombstones(order.order_id, extent, covered)))
    transacting.audit(index, call, tenant, _changes(extent, covered, order))
    return order.order_id


def _write_records(index: Work, tenant: str, covered: Covered, order: OrderRow) -> None:
    revoke = Revoke(order.actor, order.reason, order.ticket, order.at, order.purge_not_before, 0, order.order_id)
    records = [one.record for one in covered.versions if one.record is not None]
    edited = [replace(one, revoked=revoke, recorded_at=index.now, step=METHOD) for one in records]
    for start in range(0, len(edited), WRITTEN_AT_ONCE_MAX):
        some = edited[start : start + WRITTEN_AT_ONCE_MAX]
        index.write_records(tenant, [(one, skeleton(one.record_id)) for one in some])


def _items(order_id: str, covered: Covered) -> Iterator[ItemRow]:
    number = 0
    for number, segment in enumerate(covered.segments, 1):
        yield ItemRow(
            order_id, number, PurgeItemKind.SEGMENT, segment.digest, segment.ledger_id, store_by=segment.store_by
        )
    for place, version in enumerate((*covered.versions, *covered.built), number + 1):
        yield ItemRow(order_id, place, PurgeItemKind.RECORD, version.digest, ref=version.ref, label=version.label)


def _tombstones(order_id: str, extent: Extent, covered: Covered) -> Iterator[TombstoneRow]:
    for version in (*covered.versions, *covered.built):
        yield TombstoneRow(new_id(), TombstoneKind.DIGEST, version.digest, version.ref, order_id=order_id)
    if covered.marks and extent.record_id:
        yield TombstoneRow(new_id(), TombstoneKind.RECORD, ref=Ref(extent.record_id, ""), order_id=order_id)
    if covered.marks and extent.label:
        yield TombstoneRow(new_id(), TombstoneKind.SOURCE, label=extent.label, order_id=order_id)


def _changes(extent: Extent, covered: Covered, order: OrderRow) -> Iterator[Change]:
    """One row for the call, and for more than one version rows of bounded size that name them."""
    one = covered.versions[0].ref if len(covered.versions) == 1 and len(extent.refs) == 1 else None
    said = Change(METHOD, one, reason=order.reason, ticket=order.ticket, subject_id=order.order_id)
    counts = f"{len(covered.versions)} versions, {order.segments} segments"
    counts += f", {len(covered.built)} built on them" if covered.built else ""
    yield replace(said, detail=f"{order.extent}: {counts}; digest {covered.digest}")
    for what, versions in (("versions", () if one is not None else covered.versions), ("built on them", covered.built)):
        for start in range(0, len(versions), VERSIONS_PER_ROW_MAX):
            named = _named(versions[start : start + VERSIONS_PER_ROW_MAX])
            yield Change(METHOD, ticket=order.ticket, subject_id=order.order_id, detail=f"{what} {named}")


def _named(versions: tuple[Version, ...]) -> str:
    return json.dumps([list(one.ref) for one in versions], ensure_ascii=True, separators=(",", ":"))
