"""Reads the facts of one call from PostgreSQL: one statement, so one state and one round trip. Must open no connection.

The first row also has the frame: epoch, seq, grants, receipt keys and ledger entries as JSON. Each row is a record,
marked as asked for, current or root. Sub-selects with LIMIT keep every step a look-up by key, whatever statistics say.
"""

import asyncio
from base64 import b64decode
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import psycopg

from discreet.policy.facts import FactIds, Facts, LedgerFacts, ReceiptKey, RecordFacts, Ref
from discreet.server.ports import LEDGER_ROOTS_MAX, StoreError
from discreet.server.stores.queries import LAST_STANDING, STANDS
from discreet.server.stores.rows import (
    LEDGER_COLUMNS,
    RECORD_COLUMNS,
    STANDING_COLUMNS,
    ledger_facts,
    record_facts,
    standing_grants,
    standing_of,
    too_much,
)

AT_ONCE_MAX = 500
"""Records that are made of rows beside the event loop where there are more."""


class Part(IntEnum):
    """Why a record is in the answer."""

    ASKED = 0
    CURRENT = 1
    ROOT = 2


_COLUMNS = ", ".join(f"r.{name}" for name in RECORD_COLUMNS)
_LEDGER = ", ".join("encode(l.segment, 'base64')" if name == "segment" else f"l.{name}" for name in LEDGER_COLUMNS)
_STANDING = ", ".join(f"s.{name}" for name in STANDING_COLUMNS)
_FRAME = f"""
    SELECT json_build_object(
        'epoch', (SELECT epoch FROM authority WHERE one = 1),
        'seq', (SELECT seq FROM authority WHERE one = 1),
        'grants', (
            SELECT json_agg(json_build_array(g.scope, g.generation, g.seq, g.not_before, g.expires_at, g.withdrawn)
                ORDER BY g.scope, g.generation)
            FROM grant_event g WHERE g.tenant = %(tenant)s AND g.principal_id = %(principal)s
        ),
        'keys', (SELECT json_agg(json_build_array(k.key_id, encode(k.secret, 'hex'))
            ORDER BY k.created_at, k.key_id) FROM receipt_key k),
        'stood', ({LAST_STANDING.format(tenant="%(tenant)s")}),
        'standing', (SELECT json_agg(json_build_array({_STANDING}) ORDER BY s.seq){STANDS.format(tenant="%(tenant)s")}),
        'ledger', (
            SELECT json_agg(json_build_array({_LEDGER})) FROM ledger l
            WHERE l.tenant = %(tenant)s AND l.ledger_id = ANY(%(ledger)s)
        ),
        'rooted', (SELECT json_agg(json_build_array(g.ledger_id, g.record_id, g.version)) FROM rooted g)
    )
"""  # noqa: S608 - made of this module's own constants
_FACTS = f"""
    WITH rooted AS MATERIALIZED (
        SELECT g.* FROM unnest(%(ledger)s::text[]) AS w(ledger_id)
        CROSS JOIN LATERAL (
            SELECT r.ledger_id, r.record_id, r.version FROM ledger_root r
            WHERE r.tenant = %(tenant)s AND r.ledger_id = w.ledger_id LIMIT {LEDGER_ROOTS_MAX + 1}
        ) g
        LIMIT {LEDGER_ROOTS_MAX + 1}
    ), asked AS MATERIALIZED (
        SELECT w.record_id, w.version FROM unnest(%(ids)s::text[], %(versions)s::text[]) AS w(record_id, version)
        UNION
        SELECT g.record_id, g.version FROM rooted g
    ), found AS MATERIALIZED (
        SELECT {Part.ASKED:d} AS part, a.record_id, a.version, l.revision FROM asked a
        CROSS JOIN LATERAL (
            SELECT l.revision FROM record_latest l
            WHERE l.tenant = %(tenant)s AND l.record_id = a.record_id AND l.version = a.version LIMIT 1
        ) l
        UNION ALL
        SELECT {Part.CURRENT:d}, a.record_id, l.version, l.revision FROM (SELECT DISTINCT record_id FROM asked) a
        CROSS JOIN LATERAL (
            SELECT l.version, l.revision FROM record_latest l
            WHERE l.tenant = %(tenant)s AND l.record_id = a.record_id AND l.is_current LIMIT 1
        ) l
    ), roots AS MATERIALIZED (
        SELECT e.value ->> 0 AS record_id, e.value ->> 1 AS version FROM found f
        CROSS JOIN LATERAL (
            SELECT r.roots FROM record_revision r WHERE r.tenant = %(tenant)s AND r.record_id = f.record_id
                AND r.version = f.version AND r.revision = f.revision AND r.roots <> '[]' LIMIT 1
        ) r
        CROSS JOIN LATERAL json_array_elements(r.roots::json) e
        EXCEPT
        SELECT f.record_id, f.version FROM found f WHERE f.part = {Part.ASKED:d}
    ), every AS (
        SELECT f.part, r.* FROM (
            SELECT * FROM found
            UNION ALL
            SELECT {Part.ROOT:d}, a.record_id, a.version, l.revision FROM roots a
            CROSS JOIN LATERAL (
                SELECT l.revision FROM record_latest l
                WHERE l.tenant = %(tenant)s AND l.record_id = a.record_id AND l.version = a.version LIMIT 1
            ) l
        ) f
        CROSS JOIN LATERAL (
            SELECT {_COLUMNS} FROM record_revision r WHERE r.tenant = %(tenant)s AND r.record_id = f.record_id
                AND r.version = f.version AND r.revision = f.revision LIMIT 1
        ) r
    )
    SELECT CASE WHEN row_number() OVER () = 1 THEN ({_FRAME}) END, every.* FROM (SELECT 1) one LEFT JOIN every ON true
"""  # noqa: S608 - made of this module's own constants


async def read_facts(connection: psycopg.AsyncConnection, tenant: str, ids: FactIds) -> Facts:
    """All facts that the ids name, as of one state of the database."""
    values = {
        "tenant": tenant,
        "principal": ids.principal_id,
        "ids": [ref.record_id for ref in ids.records],
        "versions": [ref.version for ref in ids.records],
        "ledger": list(dict.fromkeys(ids.ledger_ids)),
    }
    rows = await (await connection.execute(_FACTS, values, binary=True)).fetchall()
    if len(rows) <= AT_ONCE_MAX:
        return _facts(rows, ids.ledger_ids)
    return await asyncio.to_thread(_facts, rows, ids.ledger_ids)


def _facts(rows: Sequence[Sequence[Any]], ledger_ids: Sequence[str]) -> Facts:
    records: dict[Ref, RecordFacts] = {}
    current: dict[str, RecordFacts] = {}
    for row in rows:
        if row[1] is None:
            continue
        facts = record_facts(row[2:])
        if row[1] == Part.CURRENT:
            current[facts.record_id] = facts
        else:
            records[facts.ref] = facts
    frame = next((row[0] for row in rows if row[0] is not None), None)
    if frame is None or frame["epoch"] is None:
        raise StoreError("the authority row is missing")
    roots: dict[str, list[Ref]] = {}
    for ledger_id, record_id, version in frame["rooted"] or ():
        roots.setdefault(ledger_id, []).append(Ref(record_id, version))
    left_out = too_much(dict.fromkeys(ledger_ids), roots)
    ledger = {row[0]: _ledger_facts(row, roots.get(row[0], []), row[0] in left_out) for row in frame["ledger"] or ()}
    keys = tuple(ReceiptKey(key_id, bytes.fromhex(secret)) for key_id, secret in frame["keys"] or ())
    grants = standing_grants(frame["grants"] or ())
    standing = standing_of(frame["stood"], frame["standing"] or ())
    return Facts(frame["epoch"], frame["seq"], records, current, grants, ledger, keys, standing)


def _ledger_facts(row: list[Any], roots: Sequence[Ref], left_out: bool) -> LedgerFacts:
    place = LEDGER_COLUMNS.index("segment")
    row[place] = b64decode(row[place])
    return ledger_facts(row, sorted(roots), beyond=left_out)
