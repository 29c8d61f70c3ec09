"""Finds rows that hold no decision: changes, refusals, shown reports. Must not open connections.

Runs in the transaction of the connection that it is given, in SQLAlchemy Core, over either database.
"""

import sqlalchemy as sa

from discreet.server.ports_found import ActFilter, ActHit
from discreet.server.stores import tables

_act = tables.audit_act.c
_row = tables.audit_row.c
_CURSOR = (_act.at, _act.writer, _act.place)
_BODY = sa.and_(_row.writer == _act.writer, _row.n == _act.n, _row.ordinal == _act.ordinal)
_FOUND = sa.select(*_CURSOR, _row.body).select_from(tables.audit_act.join(tables.audit_row, _BODY))
_NEWEST_FIRST = tuple(column.desc() for column in _CURSOR)


def find_acts(
    connection: sa.Connection, wanted: ActFilter, before: tuple[int, int, int] | None, limit: int
) -> list[ActHit]:
    """Acts that match, newest first, before the cursor."""
    found = _FOUND.where(*_conditions(wanted))
    if before is not None:
        cursor = (sa.literal(part, column.type) for part, column in zip(before, _CURSOR, strict=True))
        found = found.where(sa.tuple_(*_CURSOR) < sa.tuple_(*cursor))
    rows = connection.execute(found.order_by(*_NEWEST_FIRST).limit(limit))
    return [ActHit((at, writer, place), bytes(body)) for at, writer, place, body in rows]


def _conditions(wanted: ActFilter) -> list[sa.ColumnElement[bool]]:
    conditions: list[sa.ColumnElement[bool]] = []
    if wanted.tenants is not None:
        one = len(wanted.tenants) == 1  # equality keeps the order of the index, a list does not
        conditions.append(_act.tenant == wanted.tenants[0] if one else _act.tenant.in_(wanted.tenants))
    if wanted.acts:
        conditions.append(_act.act.in_(wanted.acts))
    for name in ("method", "actor", "principal_id", "record_id", "ticket", "subject_id"):
        if getattr(wanted, name):
            # Said in so many words, since the index holds no others and SQLite does not infer it from a value.
            conditions += [_act[name] == getattr(wanted, name), _act[name] != sa.literal_column("''")]
    if wanted.version:
        conditions.append(_act.version == wanted.version)
    if wanted.since is not None:
        conditions.append(_act.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(_act.at < wanted.until)
    return conditions
