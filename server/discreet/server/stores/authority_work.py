"""Standing facts, tombstones, approvals, and what a revoke looks up, over either database, in SQLAlchemy Core.

`discreet.server.ports_authority.AuthorityWork` is the contract. Must open no connections and decide nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Freeze, Hold, Micros, RecordFacts, Ref, Revoke, Standing, Target
from discreet.policy.words import TombstoneKind
from discreet.server.ports import ChangeKind
from discreet.server.ports_authority import (
    ApprovalRow,
    Found,
    HeldPart,
    OrderRow,
    RecordQuery,
    Resting,
    TombstoneFilter,
    TombstoneRow,
    Under,
)
from discreet.server.stores import built, covering, tables
from discreet.server.stores import revoking_each as each
from discreet.server.stores import tables_authority as kept
from discreet.server.stores.queries import LATEST, standing
from discreet.server.stores.rows import FREEZE, HOLD, SOURCE_REVOKE, canonical, record_facts
from discreet.server.stores.transaction import Transaction, parts

_latest = tables.record_latest.c
_revision = tables.record_revision.c
_tombstone = kept.tombstone.c
_lift = kept.tombstone_lift.c
_approval = kept.approval.c
_end = kept.approval_end.c

NO_TARGET = Target()
LAST = "\U0010ffff"
"""Sorts after everything that an id may go on with; itself it may not stand in one."""
PAGE = 1_000
"""Records that a query looks at between two statements."""

_TOMBSTONE = sa.select(
    *(
        _tombstone[name]
        for name in ("tombstone_id", "kind", "digest", "record_id", "version", "label", "order_id", "at")
    ),
    _lift.tombstone_id.is_not(None),
).select_from(kept.tombstone.outerjoin(kept.tombstone_lift, _lift.tombstone_id == _tombstone.tombstone_id))
_APPROVAL_NAMES = (
    "approval_id", "method", "request", "summary", "requester", "reason", "ticket", "at", "expires_at", "seq",
)  # fmt: skip
_APPROVAL = sa.select(*(_approval[name] for name in _APPROVAL_NAMES), _end.actor, _end.approved).select_from(
    kept.approval.outerjoin(kept.approval_end, _end.approval_id == _approval.approval_id)
)


class SqlAuthority:
    """Part of an index transaction; see the port."""

    def __init__(self, on: Transaction) -> None:
        self._on = on

    def standing(self, tenant: str) -> Standing:
        """What stands for the tenant, that for every tenant included."""
        return standing(self._on.connection, tenant)

    def revoke_source(self, tenant: str, label: str, order: OrderRow) -> int:
        """Revokes a source as a standing fact; the fact's id is the order's."""
        said = (order.actor, order.reason, order.ticket)
        return self._write(tenant, SOURCE_REVOKE, order.order_id, Target(label), said, until=order.purge_not_before)

    def end_source_revoke(self, tenant: str, order_id: str, actor: str, reason: str, ticket: str) -> int:
        """Ends the standing fact."""
        return self._write(tenant, SOURCE_REVOKE, order_id, NO_TARGET, (actor, reason, ticket), ends=True)

    def write_freeze(self, tenant: str, freeze: Freeze) -> int:
        """A freeze of the tenant or one of its sources; tenant empty: of everything."""
        said = (freeze.actor, freeze.reason, "")
        return self._write(tenant, FREEZE, freeze.freeze_id, Target(freeze.label), said, until=freeze.until)

    def end_freeze(self, tenant: str, freeze_id: str, actor: str, reason: str) -> int:
        """Ends a freeze."""
        return self._write(tenant, FREEZE, freeze_id, NO_TARGET, (actor, reason, ""), ends=True)

    def write_hold(self, tenant: str, hold: Hold) -> int:
        """Places a legal hold."""
        return self._write(tenant, HOLD, hold.hold_id, hold.target, (hold.actor, hold.reason, hold.ticket))

    def end_hold(self, tenant: str, hold_id: str, actor: str, reason: str, ticket: str) -> int:
        """Ends a hold."""
        return self._write(tenant, HOLD, hold_id, NO_TARGET, (actor, reason, ticket), ends=True)

    def _write(
        self,
        tenant: str,
        fact: str,
        fact_id: str,
        target: Target,
        said: tuple[str, str, str],
        *,
        ends: bool = False,
        until: Micros | None = None,
    ) -> int:
        seq = self._on.fact()
        self._on.changed(ChangeKind.STANDING, tenant, {"": seq})
        row = {"seq": seq, "tenant": tenant, "fact": fact, "fact_id": fact_id, "ends": ends, **target._asdict()}
        row |= {"actor": said[0], "reason": said[1], "ticket": said[2], "at": self._on.head.now, "until": until}
        self._on.insert("standing_event", [row])
        return seq

    def tombstones(
        self, tenant: str, digests: Sequence[str], record_ids: Sequence[str], labels: Sequence[str]
    ) -> tuple[TombstoneRow, ...]:
        """Those that refuse, and are not lifted, in the order of their ids."""
        found: dict[str, TombstoneRow] = {}
        for kind, column, names in (
            (TombstoneKind.DIGEST, _tombstone.digest, digests),
            (TombstoneKind.RECORD, _tombstone.record_id, record_ids),
            (TombstoneKind.SOURCE, _tombstone.label, labels),
        ):
            for part in parts(dict.fromkeys(names)):
                mine = (_tombstone.tenant == tenant, _tombstone.kind == int(kind), column.in_(part))
                for row in self._on.rows(_TOMBSTONE.where(*mine, _lift.tombstone_id.is_(None))):
                    found[row[0]] = _tombstone_row(row)
        return tuple(found[name] for name in sorted(found))

    def tombstone(self, tenant: str, tombstone_id: str) -> TombstoneRow | None:
        """One by its id, lifted or not."""
        wanted = _TOMBSTONE.where(_tombstone.tenant == tenant, _tombstone.tombstone_id == tombstone_id)
        row = self._on.connection.execute(wanted).first()
        return None if row is None else _tombstone_row(row)

    def write_tombstones(self, tenant: str, rows: Sequence[TombstoneRow]) -> None:
        """Keeps them under the number of the event that revoked."""
        self._on.insert("tombstone", [self._tombstone_values(tenant, row) for row in rows])

    def _tombstone_values(self, tenant: str, row: TombstoneRow) -> dict[str, object]:
        at = {"tenant": tenant, "seq": self._on.head.seq, "at": self._on.head.now}
        named = {"record_id": row.ref.record_id, "version": row.ref.version, "label": row.label}
        what = {"tombstone_id": row.tombstone_id, "kind": int(row.kind), "digest": row.digest}
        return at | named | what | {"order_id": row.order_id}

    def lift_tombstone(self, tenant: str, tombstone_id: str, actor: str, reason: str, ticket: str) -> int:
        """From now on it refuses nothing."""
        seq = self._on.event()
        row = {"tombstone_id": tombstone_id, "actor": actor, "reason": reason, "ticket": ticket}
        self._on.insert("tombstone_lift", [row | {"seq": seq, "at": self._on.head.now}])
        return seq

    def write_approval(self, tenant: str, row: ApprovalRow) -> int:
        """A change that waits."""
        seq = self._on.event()
        values = row._asdict()
        values.pop("settled")
        self._on.insert("approval", [values | {"tenant": tenant, "seq": seq}])
        return seq

    def approval(self, tenant: str, approval_id: str) -> ApprovalRow | None:
        """One by its id, settled or not."""
        wanted = _APPROVAL.where(_approval.tenant == tenant, _approval.approval_id == approval_id)
        row = self._on.connection.execute(wanted).first()
        return None if row is None else _approval_row(row)

    def waiting_approvals(self, tenant: str) -> int:
        """How many changes wait, expired ones left out."""
        waits = (_approval.tenant == tenant, _approval.expires_at > self._on.head.now, _end.approval_id.is_(None))
        joined = kept.approval.outerjoin(kept.approval_end, _end.approval_id == _approval.approval_id)
        counted = sa.select(sa.func.count()).select_from(joined).where(*waits)
        return int(self._on.connection.execute(counted).scalar_one())

    def settle_approval(self, tenant: str, approval_id: str, approved: bool, actor: str, reason: str) -> int:
        """Approved or rejected, once."""
        seq = self._on.event()
        row = {"approval_id": approval_id, "approved": approved, "actor": actor, "reason": reason}
        self._on.insert("approval_end", [row | {"seq": seq, "at": self._on.head.now}])
        return seq

    def find_records(self, tenant: str, query: RecordQuery, limit: int) -> Found:
        """Latest revisions that fit; those that are revoked are counted, not returned."""
        found: list[RecordFacts] = []
        terms: set[Revoke] = set()
        stands = self.standing(tenant)
        without_time, revoked, after = 0, 0, Ref("", "")
        while True:
            page = self._page(tenant, query, after)
            for record in page:
                if not _fits(record, query):
                    continue
                if not _dated(record, query, self._on.head.now):
                    without_time += 1
                elif query.as_of_before is None or (record.as_of is not None and record.as_of < query.as_of_before):
                    revoke = stands.revoke_of(record)
                    if revoke is None:
                        found.append(record)
                    else:
                        revoked += 1
                        terms.add(revoke)
            if len(found) > limit or len(page) < PAGE:
                return Found(tuple(found[:limit]), revoked, frozenset(terms), without_time, len(found) > limit)
            after = page[-1].ref

    def revoke_each(self, tenant: str, label: str, revoke: Revoke, step: str) -> int:
        """Gives each version under the label that has no revoke of its own one."""
        return each.revoke_each(self._on, tenant, label, revoke, step)

    def _page(self, tenant: str, query: RecordQuery, after: Ref) -> list[RecordFacts]:
        place = sa.tuple_(sa.literal(after[0], _latest.record_id.type), sa.literal(after[1], _latest.version.type))
        wanted = LATEST.where(_latest.tenant == tenant, sa.tuple_(_latest.record_id, _latest.version) > place)
        if query.label:
            wanted = wanted.where(_latest.source_label == query.label)
        if query.collector:
            wanted = wanted.where(_revision.collector == query.collector)
        if query.id_prefix:
            wanted = wanted.where(_latest.record_id >= query.id_prefix, _latest.record_id <= query.id_prefix + LAST)
        rows = self._on.rows(wanted.order_by(_latest.record_id, _latest.version).limit(PAGE))
        return [record_facts(row) for row in rows]

    def versions(self, tenant: str, record_id: str) -> tuple[RecordFacts, ...]:
        """All versions of a record, at their latest revisions, in the order of version."""
        wanted = LATEST.where(_latest.tenant == tenant, _latest.record_id == record_id).order_by(_latest.version)
        return tuple(record_facts(row) for row in self._on.rows(wanted))

    def has_label(self, tenant: str, label: str) -> bool:
        """True where any record version of the tenant stands under the label."""
        return covering.has_label(self._on.connection, tenant, label)

    def under(self, tenant: str, label: str) -> tuple[Under, ...]:
        """Every version under a label, in the order of record id and version."""
        return covering.under(self._on.connection, tenant, label)

    def built_on(self, tenant: str, refs: Sequence[Ref], label: str = "") -> tuple[Ref, ...]:
        """Versions with any of the versions behind them, or any not revoked itself under the label."""
        return built.built_on(self._on.connection, tenant, refs, label)

    def held_parts(self, tenant: str, target: Target) -> tuple[HeldPart, ...]:
        """Every holder's items that a hold on the target covers."""
        return covering.held_parts(self._on.connection, tenant, target)

    def freed_items(self, tenant: str, hold_id: str, target: Target) -> tuple[tuple[str, int], ...]:
        """Items of orders that the hold on the target covers and no other hold."""
        return covering.freed_items(self._on.connection, tenant, hold_id, target)

    def resting(self, tenant: str, refs: Sequence[Ref], label: str = "") -> tuple[Resting, ...]:
        """Committed segments with any of the versions among their roots, or any not revoked itself under the label."""
        return covering.resting(self._on.connection, tenant, refs, label)


def _fits(record: RecordFacts, query: RecordQuery) -> bool:
    held: Mapping[str, object] = record.attributes
    wanted = query.attributes or {}
    return (
        record.record_id.startswith(query.id_prefix)
        and (not query.scope or query.scope in record.scopes)
        and all(name in held and canonical(held[name]) == canonical(value) for name, value in wanted.items())
    )


def _dated(record: RecordFacts, query: RecordQuery, now: Micros) -> bool:
    """False where the query asks for a time and the record states none, or one ahead: never purge in doubt."""
    return query.as_of_before is None or (record.as_of is not None and record.as_of <= now)


def read_tombstones(
    connection: sa.Connection, tenant: str, wanted: TombstoneFilter, after: str, limit: int
) -> tuple[TombstoneRow, ...]:
    """Tombstones that fit, in the order of their ids, after the given one."""
    found = _TOMBSTONE.where(_tombstone.tenant == tenant, _tombstone.tombstone_id > after)
    if wanted.record_id:
        found = found.where(_tombstone.record_id == wanted.record_id)
    if wanted.digest:
        found = found.where(_tombstone.digest == wanted.digest)
    if not wanted.lifted:
        found = found.where(_lift.tombstone_id.is_(None))
    rows = connection.execute(found.order_by(_tombstone.tombstone_id).limit(limit))
    return tuple(_tombstone_row(row) for row in rows)


def read_approvals(
    connection: sa.Connection, tenant: str, settled: bool, before: int | None, now: Micros, limit: int
) -> tuple[ApprovalRow, ...]:
    """Changes that wait, with `settled` also the others; newest first, before the given number."""
    found = _APPROVAL.where(_approval.tenant == tenant)
    if not settled:
        found = found.where(_end.approval_id.is_(None), _approval.expires_at > now)
    if before is not None:
        found = found.where(_approval.seq < before)
    rows = connection.execute(found.order_by(_approval.seq.desc()).limit(limit))
    return tuple(_approval_row(row) for row in rows)


def _tombstone_row(row: Sequence[Any]) -> TombstoneRow:
    ref = Ref(row[3], row[4])
    return TombstoneRow(row[0], TombstoneKind(row[1]), row[2], ref, row[5], row[6], Micros(row[7]), bool(row[8]))


def _approval_row(row: Sequence[Any]) -> ApprovalRow:
    """The approval of a row of the columns that this module selects."""
    settled = None if row[10] is None else (row[10], bool(row[11]))
    said = dict(zip(_APPROVAL_NAMES, row, strict=False))
    return ApprovalRow(**said | {"request": bytes(row[2]), "settled": settled})
