"""Which items of purge orders a standing legal hold covers, as a condition of a query. Must decide nothing else.

A RECORD is covered itself or by a hold on any record that it was built on; a SEGMENT by a hold on any of its roots.
Roots count under the label that they have now.
"""

from collections.abc import Collection
from typing import NamedTuple

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


class _Kind(NamedTuple):
    """What a hold is on: a label, a record with all its versions, or one version; of one tenant or of every one."""

    everywhere: bool
    label: bool
    version: bool


_KIND = sa.select(_hold.c.tenant == "", _hold.c.label != "", _hold.c.version != "").distinct()


def covered(connection: sa.Connection, tenant: str = "", *, but: str = "") -> sa.ColumnElement[bool] | None:
    """The condition over `purge_item`; None where no hold stands at all, or none of the tenant `but` the one named."""
    stands = sa.and_(_STANDS, _hold.c.fact_id != but) if but else _STANDS
    there = sa.and_(stands, _hold.c.tenant.in_([tenant, ""])) if tenant else stands
    kinds = frozenset(_Kind(*map(bool, row)) for row in connection.execute(_KIND.where(there)))
    if not kinds:
        return None
    holds = _Holds(stands, kinds)
    built = (_built.tenant == _item.tenant, _built.record_id == _item.record_id, _built.version == _item.version)
    of_built = holds.on(_built.root_id, _built.root_version, _label_of(_built.root_id, _built.root_version))
    behind = sa.select(sa.literal(1)).select_from(tables.record_root).where(*built, of_built)
    rests_on = (_root.tenant == _item.tenant, _root.ledger_id == _item.ledger_id)
    of_root = holds.on(_root.record_id, _root.version, _label_of(_root.record_id, _root.version))
    a_root = sa.select(sa.literal(1)).select_from(tables.ledger_root).where(*rests_on, of_root)
    itself = holds.on(_item.record_id, _item.version, _item.label)
    return sa.case(
        (_item.kind == int(PurgeItemKind.SEGMENT), a_root.correlate(kept.purge_item).exists()),
        else_=sa.or_(itself, behind.correlate(kept.purge_item).exists()),
    )


def _label_of(record_id: sa.ColumnElement[str], version: sa.ColumnElement[str]) -> sa.ColumnElement[str]:
    """The label of a version, looked up where it is asked for: joined, PostgreSQL walked every record for each item."""
    found = sa.select(_latest.source_label).where(
        _latest.tenant == _item.tenant, _latest.record_id == record_id, _latest.version == version
    )
    return found.correlate_except(tables.record_latest).scalar_subquery()


class _Holds:
    """What stands, as lists that do not depend on the item: each is made once a query, and looked up in, not walked.

    Only lists of kinds that stand are part of the query.
    """

    def __init__(self, stands: sa.ColumnElement[bool], kinds: Collection[_Kind]) -> None:
        self._stands = stands
        self._kinds = sorted(kinds)

    def on(
        self, record_id: sa.ColumnElement[str], version: sa.ColumnElement[str], label: sa.ColumnElement[str]
    ) -> sa.ColumnElement[bool]:
        """A hold on the label, on the record, or on this version of it, of the item's tenant or of every one.

        As a case, since PostgreSQL makes a join of a list that stands alone, and walks it for each item.
        """
        any_of = sa.or_(*(self._of_kind(kind, record_id, version, label) for kind in self._kinds))
        return sa.case((any_of, sa.true()), else_=sa.false())

    def _of_kind(
        self,
        kind: _Kind,
        record_id: sa.ColumnElement[str],
        version: sa.ColumnElement[str],
        label: sa.ColumnElement[str],
    ) -> sa.ColumnElement[bool]:
        columns: list[sa.ColumnElement[str]] = [_hold.c.label] if kind.label else [_hold.c.record_id]
        values: list[sa.ColumnElement[str]] = [label] if kind.label else [record_id]
        of_kind = [_hold.c.label != ""] if kind.label else [_hold.c.record_id != "", _hold.c.version == ""]
        if kind.version:
            columns, values = [_hold.c.record_id, _hold.c.version], [record_id, version]
            of_kind = [_hold.c.version != ""]
        if kind.everywhere:
            of_kind.append(_hold.c.tenant == "")
        else:
            columns, values = [_hold.c.tenant, *columns], [_item.tenant, *values]
        given = values[0] if len(values) == 1 else sa.tuple_(*values)
        return given.in_(sa.select(*columns).where(self._stands, *of_kind))
