"""The rows of a period, in the order in which they were decided, by page: what is read at once is bounded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.stores import tables
from discreet.server.stores.rows import canonical

PAGE = 5_000
"""Decisions that are looked at by one statement."""
CHUNK = 500
"""Decisions that one task takes, and what a last row has besides."""

_decision = tables.audit_decision.c
_CURSOR = (_decision.at, _decision.writer, _decision.place)
_EACH = {"sqlite": "json_each(:keys)", "postgresql": "json_array_elements(CAST(:keys AS json))"}
_BODIES = {
    dialect: sa.text(
        "SELECT r.writer, r.n, r.ordinal, r.body"  # noqa: S608 - our own constants
        f" FROM {each} AS w CROSS JOIN audit_row r WHERE r.writer = CAST(w.value ->> 0 AS BIGINT)"
        " AND r.n = CAST(w.value ->> 1 AS BIGINT) AND r.ordinal = CAST(w.value ->> 2 AS INTEGER)"
    )
    for dialect, each in _EACH.items()
}


class Period(NamedTuple):
    """From `since` on and before `until`, of one tenant, or with an empty one of all."""

    since: Micros
    until: Micros
    tenant: str = ""


class RowKey(NamedTuple):
    """Where an audit row lies."""

    writer: int
    n: int
    ordinal: int


class Chunk(NamedTuple):
    """Rows that are replayed together, with the ids of their decisions, in order."""

    keys: tuple[RowKey, ...]
    decision_ids: tuple[tuple[str, ...], ...]

    @property
    def decisions(self) -> int:
        """How many decisions they hold."""
        return sum(map(len, self.decision_ids))


def count_decisions(connection: sa.Connection, period: Period) -> int:
    """How many decisions there are."""
    counted = sa.select(sa.func.count()).select_from(tables.audit_decision).where(*_within(period))
    return int(connection.execute(counted).scalar_one())


def chunks(connection: sa.Connection, period: Period) -> Iterator[Chunk]:
    """All rows of the period, each whole in one chunk; the same chunks whoever works on them."""
    found: dict[RowKey, list[str]] = {}
    size = 0
    for key, decision_id in _decisions(connection, period):
        if key not in found and size >= CHUNK:
            yield _chunk(found)
            found, size = {}, 0
        found.setdefault(key, []).append(decision_id)
        size += 1
    if found:
        yield _chunk(found)


def _chunk(found: dict[RowKey, list[str]]) -> Chunk:
    return Chunk(tuple(found), tuple(map(tuple, found.values())))


def _decisions(connection: sa.Connection, period: Period) -> Iterator[tuple[RowKey, str]]:
    columns = (*_CURSOR, _decision.n, _decision.ordinal, _decision.decision_id)
    after: tuple[int, int, int] | None = None
    while True:
        wanted = sa.select(*columns).where(*_within(period)).order_by(*_CURSOR).limit(PAGE)
        if after is not None:
            place = (sa.literal(part, column.type) for part, column in zip(after, _CURSOR, strict=True))
            wanted = wanted.where(sa.tuple_(*_CURSOR) > sa.tuple_(*place))
        rows = connection.execute(wanted).all()
        for _, writer, _, n, ordinal, decision_id in rows:
            yield RowKey(writer, n, ordinal), decision_id
        if len(rows) < PAGE:
            return
        after = (rows[-1][0], rows[-1][1], rows[-1][2])


def _within(period: Period) -> list[sa.ColumnElement[bool]]:
    found = [_decision.at >= period.since, _decision.at < period.until]
    return [*found, _decision.tenant == period.tenant] if period.tenant else found


def bodies(connection: sa.Connection, keys: Sequence[RowKey]) -> dict[RowKey, bytes]:
    """The rows as they are stored."""
    rows = connection.execute(_BODIES[connection.dialect.name], {"keys": canonical(list(keys))})
    return {RowKey(writer, n, ordinal): bytes(body) for writer, n, ordinal, body in rows}
