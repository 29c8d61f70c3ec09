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
    holds = _Holds(stands)
    built = (_built.tenant == _item.tenant, _built.record_id == _item.record_id, _built.version == _item.version)
    behind = sa.select(sa.literal(1)).select_from(_BUILT).where(*built, holds.on(_built.root_id, _built.root_version))
    rests_on = (_root.tenant == _item.tenant, _root.ledger_id == _item.ledger_id)
    a_root = sa.select(sa.literal(1)).select_from(_ROOTS).where(*rests_on, holds.on(_root.record_id, _root.version))
    itself = holds.on(_item.record_id, _item.version, _item.label)
    return sa.case(
        (_item.kind == int(PurgeItemKind.SEGMENT), a_root.correlate(kept.purge_item).exists()),
        else_=sa.or_(itself, behind.correlate(kept.purge_item).exists()),
    )


class _Holds:
    """What stands, as lists that do not depend on the item: each is made once a query, and looked up in, not walked."""

    def __init__(self, stands: sa.ColumnElement[bool]) -> None:
        self._stands = stands

    def on(
        self,
        record_id: sa.ColumnElement[str],
        version: sa.ColumnElement[str],
        label: sa.ColumnElement[str] = _latest.source_label,
    ) -> sa.ColumnElement[bool]:
        """A hold on the label, on the record, or on this version of it, of the item's tenant or of every one."""
        whole = sa.and_(_hold.c.record_id != "", _hold.c.version == "")
        return sa.or_(
            self._named([_hold.c.label], [label], _hold.c.label != ""),
            self._named([_hold.c.record_id], [record_id], whole),
            self._named([_hold.c.record_id, _hold.c.version], [record_id, version], _hold.c.version != ""),
        )

    def _named(
        self,
        columns: list[sa.ColumnElement[str]],
        values: list[sa.ColumnElement[str]],
        of_kind: sa.ColumnElement[bool],
    ) -> sa.ColumnElement[bool]:
        mine = sa.select(_hold.c.tenant, *columns).where(self._stands, of_kind)
        everywhere = sa.select(*columns).where(self._stands, of_kind, _hold.c.tenant == "")
        given = values[0] if len(values) == 1 else sa.tuple_(*values)
        return sa.or_(sa.tuple_(_item.tenant, *values).in_(mine), given.in_(everywhere))
