"""What a revoke or a hold covers, looked up over either database, in SQLAlchemy Core. Decides nothing, writes nothing.

Every function runs in the transaction of the connection that it is given.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Micros, Ref, Target
from discreet.policy.words import PurgeItemKind, PurgeOutcome, PurgeState
from discreet.server.ports_authority import HeldPart, Resting, Under
from discreet.server.stores import tables
from discreet.server.stores import tables_authority as kept
from discreet.server.stores.built import built_on_target
from discreet.server.stores.purge_holds import covered
from discreet.server.stores.rows import revoke_of
from discreet.server.stores.transaction import parts

_root = tables.ledger_root.c
_ledger = tables.ledger.c
_item = kept.purge_item.c
_part = kept.purge_part.c
_answer = kept.purge_answer.c
_LAST_ANSWER = sa.and_(
    _answer.order_id == _part.order_id,
    _answer.item == _part.item,
    _answer.holder == _part.holder,
    _answer.n == _part.answers,
)

# What begins with a source or a root is written out, in the order in which it is to be looked up: SQLite keeps to it
# and to the index that is named, and would else go through all that a tenant has, since it has no statistics.
_BY = {
    "sqlite": {name: f" INDEXED BY {name}" for name in ("record_latest_label", "ledger_root_record")},
    "postgresql": {"record_latest_label": "", "ledger_root_record": ""},
}
_LABELLED = "FROM record_latest l{record_latest_label} "
_IS_LABELLED = "l.source_label = :label AND l.tenant = :tenant"
_LATEST = "r.tenant = l.tenant AND r.record_id = l.record_id AND r.version = l.version AND r.revision = l.revision"
_ROOT = "t.tenant = l.tenant AND t.record_id = l.record_id AND t.version = l.version"
_UNDER = (
    f"SELECT l.record_id, l.version, r.digest, r.revoked {_LABELLED} CROSS JOIN record_revision r"
    f" WHERE {_IS_LABELLED} AND {_LATEST} ORDER BY l.record_id, l.version"
)
_ANY = f"SELECT 1 {_LABELLED} WHERE {_IS_LABELLED} LIMIT 1"
_RESTING = (
    f"SELECT DISTINCT g.ledger_id, g.segment_digest, g.store_by {_LABELLED} CROSS JOIN record_revision r"
    f" CROSS JOIN ledger_root t CROSS JOIN ledger g WHERE {_IS_LABELLED} AND {_LATEST} AND r.revoked IS NULL"
    f" AND {_ROOT} AND g.ledger_id = t.ledger_id AND g.tenant = t.tenant"
)
_ANSWERED = (
    " CROSS JOIN purge_part p LEFT JOIN purge_answer a ON a.order_id = p.order_id AND a.item = p.item"
    " AND a.holder = p.holder AND a.n = p.answers"
)
_PART = "SELECT DISTINCT p.order_id, p.item, p.holder, p.state, a.outcome "
_IS_PART = f"p.order_id = i.order_id AND p.item = i.item AND i.kind = {int(PurgeItemKind.SEGMENT)}"
_IS_ITEM = "i.tenant = t.tenant AND i.ledger_id = t.ledger_id"
_SEGMENTS_OF_SOURCE = (
    f"{_PART}{_LABELLED}CROSS JOIN ledger_root t CROSS JOIN purge_item i{_ANSWERED}"
    f" WHERE {_IS_LABELLED} AND {_ROOT} AND {_IS_ITEM} AND {_IS_PART}"
)
_ITEM = "SELECT DISTINCT i.order_id, i.item "
_IS_SEGMENT = f"i.kind = {int(PurgeItemKind.SEGMENT)}"
_ITEMS_OF_SOURCE = (
    f"{_ITEM}{_LABELLED}CROSS JOIN ledger_root t CROSS JOIN purge_item i"
    f" WHERE {_IS_LABELLED} AND {_ROOT} AND {_IS_ITEM} AND {_IS_SEGMENT}"
)
_ITEMS_OF_RECORD = (
    f"{_ITEM}FROM ledger_root t{{ledger_root_record}} CROSS JOIN purge_item i"
    f" WHERE t.record_id = :record_id AND t.tenant = :tenant AND {_IS_ITEM} AND {_IS_SEGMENT}"
)
_SEGMENTS_OF_RECORD = (
    f"{_PART}FROM ledger_root t{{ledger_root_record}} CROSS JOIN purge_item i{_ANSWERED}"
    f" WHERE t.record_id = :record_id AND t.tenant = :tenant AND {_IS_ITEM} AND {_IS_PART}"
)
_OF_VERSION = " AND t.version = :version"


def _rows(connection: sa.Connection, statement: str, values: Mapping[str, str]) -> Sequence[Sequence[Any]]:
    """All rows of a statement that was written out."""
    return connection.execute(sa.text(statement.format_map(_BY[connection.dialect.name])), dict(values)).all()


def under(connection: sa.Connection, tenant: str, label: str) -> tuple[Under, ...]:
    """Every record version under a label, in the order of record id and version; read narrow, since it may be many."""
    rows = _rows(connection, _UNDER, {"tenant": tenant, "label": label})
    return tuple(Under(Ref(row[0], row[1]), row[2], revoke_of(row[3])) for row in rows)


def has_label(connection: sa.Connection, tenant: str, label: str) -> bool:
    """True where any record version of the tenant stands under the label."""
    return bool(_rows(connection, _ANY, {"tenant": tenant, "label": label}))


def resting(connection: sa.Connection, tenant: str, refs: Sequence[Ref], label: str) -> tuple[Resting, ...]:
    """Committed segments with any of the versions, or any under the label that has no revoke of its own, as roots."""
    found: dict[str, Resting] = {}
    joined = tables.ledger_root.join(
        tables.ledger, sa.and_(_ledger.ledger_id == _root.ledger_id, _ledger.tenant == _root.tenant)
    )
    chosen = sa.select(_ledger.ledger_id, _ledger.segment_digest, _ledger.store_by).distinct()
    chosen = chosen.where(_root.tenant == tenant)
    statements = [chosen.select_from(joined).where(_of_refs(part)) for part in parts(dict.fromkeys(refs))]
    for statement in statements:
        found |= {row[0]: Resting(row[0], row[1], Micros(row[2])) for row in connection.execute(statement)}
    if label:
        for row in _rows(connection, _RESTING, {"tenant": tenant, "label": label}):
            found[row[0]] = Resting(row[0], row[1], Micros(row[2]))
    return tuple(found[name] for name in sorted(found))


def _of_refs(refs: Sequence[Ref]) -> sa.ColumnElement[bool]:
    """Roots that are any of the versions: by record id, which both databases look up, then by version."""
    by_id: dict[str, list[str]] = {}
    for ref in refs:
        by_id.setdefault(ref.record_id, []).append(ref.version)
    return sa.or_(*(sa.and_(_root.record_id == name, _root.version.in_(listed)) for name, listed in by_id.items()))


def held_parts(connection: sa.Connection, tenant: str, target: Target) -> tuple[HeldPart, ...]:
    """Every holder's items that a hold on the target covers: records, what was built on them, and segments on them."""
    columns = (_part.order_id, _part.item, _part.holder, _part.state, _answer.outcome)
    joined = kept.purge_part.join(kept.purge_item, sa.and_(_item.order_id == _part.order_id, _item.item == _part.item))
    joined = joined.outerjoin(kept.purge_answer, _LAST_ANSWER)
    of_records = sa.select(*columns).select_from(joined)
    rows = [*connection.execute(of_records.where(*_of_record(tenant, target)))]
    rows += _rows(connection, *_of_segments(tenant, target, _SEGMENTS_OF_SOURCE, _SEGMENTS_OF_RECORD))
    for some in parts(built_on_target(connection, tenant, target)):
        rows += connection.execute(of_records.where(_named(tenant, some)))
    found = {tuple(row[:3]): _held_part(row) for row in rows}
    return tuple(found[key] for key in sorted(found))


def freed_items(connection: sa.Connection, tenant: str, hold_id: str, target: Target) -> tuple[tuple[str, int], ...]:
    """Items of orders that the hold on the target covers and no other hold, whoever holds copies, or nobody."""
    wanted = sa.select(_item.order_id, _item.item)
    rows = [*connection.execute(wanted.where(*_of_record(tenant, target)))]
    rows += _rows(connection, *_of_segments(tenant, target, _ITEMS_OF_SOURCE, _ITEMS_OF_RECORD))
    for some in parts(built_on_target(connection, tenant, target)):
        rows += connection.execute(wanted.where(_named(tenant, some)))
    found = {(str(row[0]), int(row[1])) for row in rows}
    others = covered(connection, tenant, but=hold_id) if found else None
    if others is not None:
        found -= _kept(connection, found, others)
    return tuple(sorted(found))


def _kept(
    connection: sa.Connection, items: Collection[tuple[str, int]], others: sa.ColumnElement[bool]
) -> set[tuple[str, int]]:
    """Those of the items that other holds cover as well."""
    by_order: dict[str, list[int]] = {}
    for order_id, item in items:
        by_order.setdefault(order_id, []).append(item)
    kept_back: set[tuple[str, int]] = set()
    for order_id, numbers in by_order.items():
        for some in parts(numbers):
            wanted = sa.select(_item.item).where(_item.order_id == order_id, _item.item.in_(some), others)
            kept_back |= {(order_id, int(row[0])) for row in connection.execute(wanted)}
    return kept_back


def _named(tenant: str, refs: Sequence[Ref]) -> sa.ColumnElement[bool]:
    """Items of these versions; one of a segment names none. The tenant stands in each part: each is looked up so."""
    by_id: dict[str, list[str]] = {}
    for ref in refs:
        by_id.setdefault(ref.record_id, []).append(ref.version)
    mine = _item.tenant == tenant
    each = (sa.and_(mine, _item.record_id == name, _item.version.in_(listed)) for name, listed in by_id.items())
    return sa.or_(*each)


def _held_part(row: Sequence[Any]) -> HeldPart:
    said = None if row[4] is None else PurgeOutcome(row[4])
    return HeldPart(row[0], row[1], row[2], PurgeState(row[3]), said)


def _of_record(tenant: str, target: Target) -> Iterator[sa.ColumnElement[bool]]:
    """What an item of a record is asked."""
    yield _item.tenant == tenant
    yield _item.kind == int(PurgeItemKind.RECORD)
    if target.label:
        yield _item.label == target.label
    else:
        yield _item.record_id == target.record_id
        if target.version:
            yield _item.version == target.version


def _of_segments(tenant: str, target: Target, of_source: str, of_record: str) -> tuple[str, Mapping[str, str]]:
    """The statement for items of segments that rest on the target, and its values."""
    if target.label:
        return of_source, {"tenant": tenant, "label": target.label}
    values = {"tenant": tenant, "record_id": target.record_id}
    if not target.version:
        return of_record, values
    return of_record + _OF_VERSION, {**values, "version": target.version}
