"""The audit chain, recomputed from the stored bytes: names what is missing, altered, moved or put in. Must not write.

Whoever owns the database can write a chain anew, or cut its end: that is seen by heads that were exported before, and
by those that later writers named.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

import sqlalchemy as sa

from discreet.server.stores import tables
from discreet.server.stores.chain import DIGEST_BYTES, NO_PREV, digests_of, link_hash
from discreet.server.stores.keeping.columns import Columns
from discreet.server.stores.keeping.finding import ExportedHead, Finding, Tampering, Verified
from discreet.server.stores.keeping.report import Report

STREAMED = {"yield_per": 500}
"""Rows are read so many at a time: an audit need not fit into memory."""
SHOWN_MAX = 3
"""So many findings are named; `discreet audit verify` names all."""
LEFT = "what its rows are found by is there"
REMEDY = (
    "the audit was altered past Discreet, or the disk is at fault: keep this copy, and run `discreet audit verify`"
    " with the heads that were exported"
)

_link, _row, _writer = tables.audit_link.c, tables.audit_row.c, tables.audit_writer.c
_LINKS = (
    sa.select(
        _writer.name, _link.writer, _link.n, _link.prev, _link.hash, _link.size, _link.heads, _link.digests
    )
    .outerjoin_from(tables.audit_link, tables.audit_writer, _writer.writer == _link.writer)
    .order_by(_link.writer, _link.n)
)  # fmt: skip
_ROWS = sa.select(tables.audit_row).order_by(_row.writer, _row.n, _row.ordinal)
_HEADS = sa.select(_link.writer, _link.heads).where(_link.n == 1, _link.heads != "")

Link = Any
Row = Any
Place = tuple[int, int]
Head = tuple[str, int]


def look_at_links(connection: sa.Connection, report: Report) -> None:
    """Adds what is wrong with the chain as one fault."""
    found = sorted(verify(connection), key=lambda one: one.kind is Tampering.INSERTED)
    if found:
        named = "; ".join(map(str, found[:SHOWN_MAX]))
        more = f"; {len(found) - SHOWN_MAX} more" if len(found) > SHOWN_MAX else ""
        report.fault(f"the audit chain is broken: {named}{more}", REMEDY)


def verify(
    connection: sa.Connection, exported: Sequence[ExportedHead] = (), done: Verified | None = None
) -> Iterator[Finding]:
    """All that is wrong, link by link; then the heads that were named or exported and are not there. `done` counts."""
    done = done or Verified("")
    wanted = _wanted(connection, exported)
    columns = Columns(connection)
    prev: bytes | None = NO_PREV
    writer, last = 0, 0
    for place, link, held in _places(connection):
        if place[0] != writer:
            writer, last, prev = place[0], 0, NO_PREV
            done.writers += 1
        done.links += link is not None
        done.rows += len(held)
        told = columns.before(*place)
        gap = {(writer, n) for n in range(last + 1, place[1])}
        yield from (Finding(Tampering.MISSING, *one, detail=LEFT if one in told else "") for one in sorted(gap | told))
        if link is None:
            yield Finding(Tampering.MISSING, *place, detail=f"{len(held)} rows that say they are of it are there")
        else:
            yield from _look_at_link(link, prev if last + 1 == link.n else None, held)
            for head in wanted.pop((link.name or "", link.n), ()):
                if head.hash != bytes(link.hash).hex():
                    yield Finding(Tampering.ALTERED, *place, detail=f"its hash is not the one of {head.place}")
        yield from columns.differing(*place, len(held) if link is None else link.size, held)
        last, prev = place[1], None if link is None else bytes(link.hash)
    yield from (Finding(Tampering.MISSING, *one, detail=LEFT) for one in sorted(columns.rest()))
    numbers = {name: number for number, name in connection.execute(sa.select(_writer.writer, _writer.name)).all()}
    for (name, n), heads in sorted(wanted.items()):
        yield Finding(Tampering.MISSING, numbers.get(name, 0), n, detail=f"{heads[0].place} names it")


def _places(connection: sa.Connection) -> Iterator[tuple[Place, Link | None, list[Row]]]:
    """Every place of the chain that has a link or rows, in order, with both."""
    links = iter(connection.execute(_LINKS, execution_options=STREAMED))
    groups = groupby(connection.execute(_ROWS, execution_options=STREAMED), key=lambda row: (row.writer, row.n))
    link, group = next(links, None), next(groups, None)
    while link is not None or group is not None:
        at = None if link is None else (link.writer, link.n)
        place = min(one for one in (at, None if group is None else group[0]) if one is not None)
        rows: list[Row] = []
        if group is not None and group[0] == place:
            rows, group = list(group[1]), next(groups, None)
        if at == place:
            yield place, link, rows
            link = next(links, None)
        else:
            yield place, None, rows


def _wanted(connection: sa.Connection, exported: Iterable[ExportedHead]) -> dict[Head, list[ExportedHead]]:
    """Heads by writer and link: the exported ones, and those that first links name."""
    wanted: dict[Head, list[ExportedHead]] = {}
    named = (
        ExportedHead(name, n, head, f"the first link of writer {writer}")
        for writer, text in connection.execute(_HEADS).all()
        for name, n, head in _parsed(text)
    )
    for head in (*exported, *named):
        wanted.setdefault((head.name, head.link), []).append(head)
    return wanted


def _parsed(text: str) -> list[tuple[str, int, str]]:
    """The heads that a first link names; none where the text is not what a writer writes, which its hash tells."""
    try:
        return [(str(name), int(n), str(head)) for name, n, head in json.loads(text)]
    except (ValueError, TypeError):
        return []


def _look_at_link(link: Link, prev: bytes | None, held: Sequence[Row]) -> Iterator[Finding]:
    """The link itself, whether it follows the one before, if that is there, and its rows."""
    bodies = [bytes(row.body) for row in held]
    told = bytes(link.digests or b"")
    hashed = bytes(link.hash)
    parts = (link.name or "", link.n, bytes(link.prev), link.heads)
    if link.name is None:
        yield Finding(Tampering.MISSING, link.writer, 0, detail="the writer itself: no row of it says its name")
    elif link_hash(*parts, told) != hashed or link.size * DIGEST_BYTES != len(told):
        rows = "; its rows as they are make its hash" if link_hash(*parts, digests_of(bodies)) == hashed else ""
        yield Finding(Tampering.ALTERED, link.writer, link.n, detail=f"its hash is not that of what it says{rows}")
        if rows:
            return
    if prev is not None and bytes(link.prev) != prev:
        yield Finding(Tampering.ALTERED, link.writer, link.n, detail="it, or the one before it: it names another one")
    expected = {at: told[at * DIGEST_BYTES :][:DIGEST_BYTES] for at in range(len(told) // DIGEST_BYTES)}
    yield from _look_at_rows(link, expected, {int(row.ordinal): row for row in held})


def _look_at_rows(link: Link, expected: dict[int, bytes], rows: dict[int, Row]) -> Iterator[Finding]:
    """Compares rows with the digests of the link: by place first, then by content, so that a shift is told as one."""
    found = {at: hashlib.sha256(bytes(row.body)).digest() for at, row in rows.items()}
    lost = {at: digest for at, digest in expected.items() if found.get(at) != digest}
    odd = {at: digest for at, digest in found.items() if expected.get(at) != digest}
    elsewhere = Counter(lost.values())
    for at, digest in sorted(odd.items()):
        if elsewhere[digest]:
            elsewhere[digest] -= 1
            place = next(one for one, wanted in lost.items() if wanted == digest)
            del lost[place]
            detail = f"it is row {place + 1}"
            yield _of_row(Tampering.REORDERED, link, at, rows[at], detail)
        elif at not in expected:
            yield _of_row(Tampering.INSERTED, link, at, rows[at])
        else:
            lost.pop(at, None)
            yield _of_row(Tampering.ALTERED, link, at, rows[at])
    for at in sorted(lost):
        yield Finding(Tampering.MISSING, link.writer, link.n, at + 1)


def _of_row(kind: Tampering, link: Link, at: int, row: Row, detail: str = "") -> Finding:
    return Finding(kind, link.writer, link.n, at + 1, str(row.request_id), detail)
