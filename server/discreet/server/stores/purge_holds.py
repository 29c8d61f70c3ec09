"""Which items of purge orders a standing legal hold covers, as a condition of a query. Must decide nothing else.

A RECORD is covered itself or by a hold on any record that it was built on; a SEGMENT by a hold on any of its roots.
Roots count under the label that they have now.
"""

import sqlalchemy as sa

from discreet.policy.words import PurgeItemKind
from discreet.server.stores import tables
from discreet.server.stores import tables_authority as kept
from discreet.server.stores.rows import HOLD

_item = kept.purge_item.c
_root = tables.ledger_root.c
_built = tables.record_root.c
_latest = tables.record_latest.c
_hold = kept.standing_event.alias("hold")
_end = kept.standing_event.alias("hold_end")

_STANDS = sa.and_(
    _hold.c.fact == HOLD,
    sa.not_(_hold.c.ends),
    sa.not_(sa.exists().where(_end.c.fact_id == _hold.c.fact_id, _end.c.ends)),
)
_ROOTS = tables.ledger_root.join(
    tables.record_latest,
    sa.and_(_latest.tenant == _root.tenant, _latest.record_id == _root.record_id, _latest.version == _root.version),
)

_BUILT = tables.record_root.join(
    tables.record_latest,
    sa.and_(
        _latest.tenant == _built.tenant, _latest.record_id == _built.root_id, _latest.version == _built.root_version
    ),
)


def covered(connection: sa.Connection, tenant: str = "", *, but: str = "") -> sa.ColumnElement[bool] | None:
    """The condition over `purge_item`; None where no hold stands at all, or none of the tenant `but` the one named."""
    stands = sa.and_(_STANDS, _hold.c.fact_id != but) if but else _STANDS
    there = sa.and_(stands, _hold.c.tenant.in_([tenant, ""])) if tenant else stands
    if connection.execute(sa.select(_hold.c.seq).where(there).limit(1)).first() is None:
        return None
    record = sa.or_(_covers(_item.record_id, _item.version, _item.label), _behind())
    itself = sa.and_(_item.kind == int(PurgeItemKind.RECORD), record)
    of_item = sa.and_(_root.tenant == _item.tenant, _root.ledger_id == _item.ledger_id)
    roots = sa.select(sa.literal(1)).select_from(_ROOTS)
    roots = roots.where(of_item, _covers(_root.record_id, _root.version, _latest.source_label))
    a_root = roots.correlate(kept.purge_item, _hold).exists()
    segment = sa.and_(_item.kind == int(PurgeItemKind.SEGMENT), a_root)
    mine = _hold.c.tenant.in_([_item.tenant, ""])
    covering = sa.select(sa.literal(1)).select_from(_hold).where(stands, mine, sa.or_(itself, segment))
    return covering.correlate(kept.purge_item).exists()


def _behind() -> sa.ColumnElement[bool]:
    """Something that the item's record was built on is held."""
    of_item = (_built.tenant == _item.tenant, _built.record_id == _item.record_id, _built.version == _item.version)
    roots = sa.select(sa.literal(1)).select_from(_BUILT)
    roots = roots.where(*of_item, _covers(_built.root_id, _built.root_version, _latest.source_label))
    return roots.correlate(kept.purge_item, _hold).exists()


def _covers(
    record_id: sa.ColumnElement[str], version: sa.ColumnElement[str], label: sa.ColumnElement[str]
) -> sa.ColumnElement[bool]:
    by_label = sa.and_(_hold.c.label != "", _hold.c.label == label)
    by_name = sa.and_(_hold.c.record_id != "", _hold.c.record_id == record_id)
    return sa.or_(by_label, sa.and_(by_name, sa.or_(_hold.c.version == "", _hold.c.version == version)))
