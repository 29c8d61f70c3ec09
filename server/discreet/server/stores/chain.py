"""The audit chain, version 1: one link a transaction, over its rows' stored bytes. Must know nothing of databases.

A writer is one lane of one store instance. Its links are numbered from 1; each names the one before it. The first link
names the last heads of all other writers that nobody has named yet, so that a dead writer's chain cannot be cut unseen.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from discreet.server.ports import AuditRecord
from discreet.server.ports_found import ActKey

DOMAIN = b"discreet.audit.link.v1\0"
DIGEST_BYTES = 32
NO_PREV = bytes(DIGEST_BYTES)
PLACE_BITS = 24
"""Decisions, and rows, of one transaction that can be told apart: 2**24. A writer can make 2**39 links."""


def digests_of(bodies: Iterable[bytes]) -> bytes:
    """The digests of a link's rows, one after the other."""
    return b"".join(hashlib.sha256(body).digest() for body in bodies)


def link_hash(name: str, n: int, prev: bytes, heads: str, digests: bytes) -> bytes:
    """The hash of a link. Every part has a fixed length, so that no two links are the same bytes."""
    link = hashlib.sha256(DOMAIN)
    link.update(hashlib.sha256(name.encode()).digest())
    link.update(n.to_bytes(8, "big"))
    link.update(prev)
    link.update(hashlib.sha256(heads.encode()).digest())
    link.update((len(digests) // DIGEST_BYTES).to_bytes(4, "big"))
    link.update(digests)
    return link.digest()


@dataclass(slots=True)
class Chain:
    """Where a writer's chain ends. Moved on only after the transaction that wrote the link has committed."""

    writer: int
    name: str
    heads: str
    n: int = 0
    prev: bytes = NO_PREV

    def heads_of_next(self) -> str:
        """What the next link names: the heads of others, in the first link alone."""
        return self.heads if self.n == 0 else ""

    def moved(self, link_hash: bytes) -> None:
        """The next link is durable."""
        self.n += 1
        self.prev = link_hash


@dataclass(slots=True)
class LinkRows:
    """The rows of one link, in the column order of their tables."""

    hash: bytes
    link: tuple[object, ...]
    rows: list[tuple[object, ...]] = field(default_factory=list)
    decisions: list[tuple[object, ...]] = field(default_factory=list)
    records: list[tuple[object, ...]] = field(default_factory=list)
    labels: list[tuple[object, ...]] = field(default_factory=list)
    acts: list[tuple[object, ...]] = field(default_factory=list)


def build_link(chain: Chain, records: Sequence[AuditRecord], at: int, seq: int) -> LinkRows:
    """The next link of a chain and its rows. The chain itself is not moved."""
    n = chain.n + 1
    heads = chain.heads_of_next()
    digests = digests_of(record.body for record in records)
    digest = link_hash(chain.name, n, chain.prev, heads, digests)
    link = LinkRows(digest, (chain.writer, n, chain.prev, digest, len(records), heads, at, seq, digests))
    place = n << PLACE_BITS
    for ordinal, row in enumerate(records):
        link.rows.append(_row(chain.writer, n, ordinal, row))
        if row.found_by is not None:
            link.acts.append(_act(chain.writer, n, ordinal, row, row.found_by))
        for key in row.decisions:
            cursor = (row.at, chain.writer, place)
            found_by = (row.tenant, n, ordinal, key.decision_id, row.principal_id, row.session_id)
            about = (key.verdict, key.reason, key.rule, key.moment, key.policy_revision)
            link.decisions.append((*cursor, *found_by, *about))
            link.records += [(row.tenant, record_id, *cursor) for record_id in dict.fromkeys(key.record_ids)]
            link.labels += [(row.tenant, label, *cursor) for label in dict.fromkeys(key.labels)]
            place += 1
    return link


def _row(writer: int, n: int, ordinal: int, record: AuditRecord) -> tuple[object, ...]:
    return (
        writer,
        n,
        ordinal,
        record.tenant,
        record.request_id,
        record.act,
        record.at,
        record.principal_id,
        record.session_id,
        record.body,
    )


def _act(writer: int, n: int, ordinal: int, record: AuditRecord, key: ActKey) -> tuple[object, ...]:
    cursor = (record.at, writer, (n << PLACE_BITS) + ordinal)
    about = (key.record_id, key.version, key.ticket, key.subject_id)
    return (*cursor, record.tenant, n, ordinal, record.act, key.method, key.actor, record.principal_id, *about)
