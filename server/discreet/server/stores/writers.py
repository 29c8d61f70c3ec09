"""Enrols writers of the audit chain. Must know nothing of what they will write."""

import json
import secrets

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.stores import tables
from discreet.server.stores.chain import Chain
from discreet.server.stores.rows import canonical

_WRITER = tables.audit_writer.c
_LAST = (
    sa.select(
        _WRITER.writer,
        _WRITER.name,
        sa.select(sa.func.max(tables.audit_link.c.n))
        .where(tables.audit_link.c.writer == _WRITER.writer)
        .scalar_subquery()
        .label("n"),
    )
).subquery()
"""Where each writer's chain ends: one look at the end of the index each, however many links there are."""


def enrol(connection: sa.Connection, count: int, now: Micros) -> list[Chain]:
    """New writers, one a lane. The caller holds the authority row, so that no two take the same number."""
    known = connection.execute(sa.select(sa.func.coalesce(sa.func.max(tables.audit_writer.c.writer), 0))).scalar_one()
    heads = canonical(unnamed_heads(connection))
    chains = [Chain(known + 1 + lane, secrets.token_hex(16), heads if lane == 0 else "") for lane in range(count)]
    rows = [{"writer": chain.writer, "name": chain.name, "opened_at": now} for chain in chains]
    connection.execute(sa.insert(tables.audit_writer), rows)
    return chains


def enrol_named(connection: sa.Connection, name: str, now: Micros) -> None:
    """A new writer of that name, whose first link names no heads. The caller holds the authority row."""
    last = sa.select(sa.func.coalesce(sa.func.max(tables.audit_writer.c.writer), 0))
    known = connection.execute(last).scalar_one()
    connection.execute(sa.insert(tables.audit_writer).values(writer=known + 1, name=name, opened_at=now))


def unnamed_heads(connection: sa.Connection) -> list[list[object]]:
    """The last head of every writer, but for those that an earlier writer's first link names at the same place."""
    link = tables.audit_link
    named: set[tuple[str, int]] = set()
    for text in connection.execute(sa.select(link.c.heads).where(link.c.n == 1, link.c.heads != "")).scalars():
        named |= {(name, n) for name, n, _ in json.loads(text)}
    last = (
        sa.select(_LAST.c.name, link.c.n, link.c.hash)
        .join_from(_LAST, link, sa.and_(link.c.writer == _LAST.c.writer, link.c.n == _LAST.c.n))
        .order_by(link.c.writer)
    )
    return [[name, n, bytes(head).hex()] for name, n, head in connection.execute(last) if (name, n) not in named]
