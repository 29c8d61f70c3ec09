"""Enrols writers of the audit chain. Must know nothing of what they will write."""

import json
import secrets

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.stores import tables
from discreet.server.stores.chain import Chain
from discreet.server.stores.rows import canonical

_LAST = (
    sa.select(tables.audit_link.c.writer, sa.func.max(tables.audit_link.c.n).label("n"))
    .group_by(tables.audit_link.c.writer)
    .subquery()
)


def enrol(connection: sa.Connection, count: int, now: Micros) -> list[Chain]:
    """New writers, one a lane. The caller holds the authority row, so that no two take the same number."""
    known = connection.execute(sa.select(sa.func.coalesce(sa.func.max(tables.audit_writer.c.writer), 0))).scalar_one()
    heads = canonical(_unnamed_heads(connection))
    chains = [Chain(known + 1 + lane, secrets.token_hex(16), heads if lane == 0 else "") for lane in range(count)]
    rows = [{"writer": chain.writer, "name": chain.name, "opened_at": now} for chain in chains]
    connection.execute(sa.insert(tables.audit_writer), rows)
    return chains


def _unnamed_heads(connection: sa.Connection) -> list[list[object]]:
    """The last head of every writer, but for those that an earlier writer's first link names at the same place."""
    link, writer = tables.audit_link, tables.audit_writer
    named: set[tuple[str, int]] = set()
    for text in connection.execute(sa.select(link.c.heads).where(link.c.n == 1, link.c.heads != "")).scalars():
        named |= {(name, n) for name, n, _ in json.loads(text)}
    last = (
        sa.select(writer.c.name, link.c.n, link.c.hash)
        .join(_LAST, sa.and_(link.c.writer == _LAST.c.writer, link.c.n == _LAST.c.n))
        .join(writer, writer.c.writer == link.c.writer)
        .order_by(link.c.writer)
    )
    return [[name, n, bytes(head).hex()] for name, n, head in connection.execute(last) if (name, n) not in named]
