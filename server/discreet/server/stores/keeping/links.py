"""The audit chain, recomputed from the stored bytes. Must not write.

Whoever owns the database can cut what was never exported: a chain that holds says that nothing was altered in it.
"""

import json
from collections.abc import Iterator

import sqlalchemy as sa

from discreet.server.stores import tables
from discreet.server.stores.chain import NO_PREV, link_hash
from discreet.server.stores.keeping.report import Report

STREAMED = {"yield_per": 500}
"""Rows are read so many at a time: an audit need not fit into memory."""
SHOWN_MAX = 3
"""So many broken links are named; the first one says where to look."""
REMEDY = (
    "the audit was altered past Discreet, or the disk is at fault: keep this copy, and compare it with exported heads"
)

_link, _row, _writer = tables.audit_link.c, tables.audit_row.c, tables.audit_writer.c
_LINKS = (
    sa.select(_writer.name, _link.writer, _link.n, _link.prev, _link.hash, _link.size, _link.heads)
    .outerjoin_from(tables.audit_link, tables.audit_writer, _writer.writer == _link.writer)
    .order_by(_link.writer, _link.n)
)
_BODIES = sa.select(_row.writer, _row.n, _row.body).order_by(_row.writer, _row.n, _row.ordinal)
_HEADS = sa.select(_link.heads).where(_link.n == 1, _link.heads != "")

Place = tuple[int, int]


def look_at_links(connection: sa.Connection, report: Report) -> None:
    """Adds links that do not follow, rows that no link holds, and heads that were named and are not there."""
    named = {
        (name, n): head for text in connection.execute(_HEADS).scalars() for name, n, head in json.loads(text or "[]")
    }
    broken: list[str] = []
    bodies = _Bodies(connection)
    writer, last, prev = 0, 0, NO_PREV
    for link in connection.execute(_LINKS, execution_options=STREAMED):
        if link.writer != writer:
            writer, last, prev = link.writer, 0, NO_PREV
        held = bodies.take((link.writer, link.n))
        found = link_hash(link.name or "", link.n, bytes(link.prev), link.heads, held)
        follows = (link.n, bytes(link.prev), link.size) == (last + 1, prev, len(held))
        if link.name is None or not follows or found != bytes(link.hash):
            broken.append(f"link {link.n} of writer {link.writer}")
        if named.get((link.name, link.n)) == bytes(link.hash).hex():
            del named[link.name, link.n]
        last, prev = link.n, bytes(link.hash)
    bodies.drain()
    if broken:
        report.fault(f"the audit chain is broken at {', '.join(broken[:SHOWN_MAX])} ({len(broken)} in all)", REMEDY)
    if bodies.strays:
        report.fault(f"audit rows belong to no link ({bodies.strays})", REMEDY)
    if named:
        report.fault(f"heads of the audit chain that a later writer named are not there ({len(named)})", REMEDY)


class _Bodies:
    """The audit rows' bytes, link by link, in the order of the links."""

    def __init__(self, connection: sa.Connection) -> None:
        self._rows: Iterator[sa.Row[tuple[int, int, bytes]]] = iter(
            connection.execute(_BODIES, execution_options=STREAMED)
        )
        self._next = next(self._rows, None)
        self.strays = 0

    def take(self, place: Place) -> list[bytes]:
        """The bodies of a link. Rows before it belong to none."""
        held: list[bytes] = []
        while self._next is not None and (self._next.writer, self._next.n) <= place:
            if (self._next.writer, self._next.n) == place:
                held.append(bytes(self._next.body))
            else:
                self.strays += 1
            self._next = next(self._rows, None)
        return held

    def drain(self) -> None:
        """Counts the rows behind the last link."""
        while self._next is not None:
            self.strays += 1
            self._next = next(self._rows, None)
