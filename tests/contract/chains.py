"""Recomputes the audit chain from the rows alone, in its own words: what `audit verify` must come to."""

import hashlib
import json

from tests.contract.databases import Database

LINKS = (
    "SELECT w.name, l.writer, l.n, l.prev, l.hash, l.size, l.heads FROM audit_link l"
    " JOIN audit_writer w ON w.writer = l.writer ORDER BY l.writer, l.n"
)
BODIES = "SELECT writer, n, ordinal, body FROM audit_row ORDER BY writer, n, ordinal"


def sha(part: bytes) -> bytes:
    return hashlib.sha256(part).digest()


def verified_heads(database: Database) -> dict[str, tuple[int, bytes]]:
    """The last link of every writer, once every link was found to follow from the one before it and from its rows."""
    bodies: dict[tuple[int, int], list[bytes]] = {}
    for writer, n, ordinal, body in database.rows(BODIES):
        assert ordinal == len(bodies.setdefault((writer, n), []))
        bodies[writer, n].append(bytes(body))
    heads: dict[str, tuple[int, bytes]] = {}
    for name, writer, n, prev, found, size, named in database.rows(LINKS):
        before, last = heads.get(name, (0, bytes(32)))
        rows = bodies.pop((writer, n))
        text = b"discreet.audit.link.v1\0" + sha(name.encode()) + n.to_bytes(8, "big") + last + sha(named.encode())
        text += size.to_bytes(4, "big") + b"".join(sha(row) for row in rows)
        assert (n, bytes(prev), size, bytes(found)) == (before + 1, last, len(rows), sha(text))
        assert (named == "") == (n > 1 or not named)
        heads[name] = (n, bytes(found))
    assert bodies == {}
    assert database.rows(
        "SELECT count(*) FROM ledger WHERE NOT EXISTS"
        " (SELECT 1 FROM audit_link a WHERE a.writer = ledger.writer AND a.n = ledger.n)"
    ) == [(0,)]
    return heads


def named_heads(database: Database) -> set[tuple[str, int, str]]:
    """All heads that some writer's first link names."""
    found = database.rows("SELECT heads FROM audit_link WHERE n = 1 AND heads <> ''")
    return {(name, n, head) for (text,) in found for name, n, head in json.loads(text)}
