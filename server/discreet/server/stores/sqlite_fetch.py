"""Reads the facts of one call from SQLite, in one read transaction. Must know nothing of threads."""

import sqlite3
from collections.abc import Iterable, Mapping

from discreet.policy.facts import FactIds, Facts, LedgerFacts, ReceiptKey, RecordFacts, Ref, Standing
from discreet.server.ports import LEDGER_ROOTS_MAX
from discreet.server.stores.queries import LAST_STANDING, STANDS
from discreet.server.stores.rows import (
    LEDGER_COLUMNS,
    RECORD_COLUMNS,
    STANDING_COLUMNS,
    canonical,
    ledger_facts,
    record_facts,
    standing_grants,
    standing_of,
    too_much,
)

_COLUMNS = ", ".join(f"r.{name}" for name in RECORD_COLUMNS)
_REVISION = (
    "JOIN record_revision r ON r.tenant = l.tenant AND r.record_id = l.record_id AND r.version = l.version"
    " AND r.revision = l.revision"
)
_RECORDS = f"""
    SELECT {_COLUMNS} FROM json_each(?2) w
    CROSS JOIN record_latest l ON l.tenant = ?1 AND l.record_id = w.value ->> 0 AND l.version = w.value ->> 1
    {_REVISION}
"""  # noqa: S608 - made of this module's own constants
_CURRENT = f"""
    SELECT {_COLUMNS} FROM json_each(?2) w
    CROSS JOIN record_latest l ON l.tenant = ?1 AND l.record_id = w.value AND l.is_current
    {_REVISION}
"""  # noqa: S608 - made of this module's own constants
_GRANTS = (
    "SELECT scope, generation, seq, not_before, expires_at, withdrawn FROM grant_event"
    " WHERE tenant = ? AND principal_id = ? ORDER BY scope, generation"
)
_LEDGER = f"""
    SELECT {", ".join(f"l.{name}" for name in LEDGER_COLUMNS)} FROM json_each(?2) w
    CROSS JOIN ledger l ON l.tenant = ?1 AND l.ledger_id = w.value
"""  # noqa: S608 - made of this module's own constants
_LEDGER_ROOTS = f"""
    SELECT r.ledger_id, r.record_id, r.version FROM json_each(?2) w
    CROSS JOIN ledger_root r ON r.tenant = ?1 AND r.ledger_id = w.value
    LIMIT {LEDGER_ROOTS_MAX + 1}
"""  # noqa: S608 - made of this module's own constants
_EPOCH = "SELECT epoch, seq FROM authority WHERE one = 1"
_KEYS = "SELECT key_id, secret FROM receipt_key ORDER BY created_at, key_id"


_STANDING = f"SELECT {', '.join(STANDING_COLUMNS)}{STANDS.format(tenant='?')} ORDER BY seq"
_LAST_STANDING = LAST_STANDING.format(tenant="?")


def read_facts(connection: sqlite3.Connection, tenant: str, ids: FactIds) -> Facts:
    """All facts that the ids name, as of one state of the database.

    For an entry that is not there, or that rests on nothing, as many statements are run as for any other (F11).
    """
    execute, always = connection.execute, bool(ids.ledger_ids)
    execute("BEGIN")
    try:
        epoch, seq = execute(_EPOCH).fetchone()
        ledger = _ledger(connection, tenant, ids.ledger_ids)
        asked = dict.fromkeys(ids.records)
        asked.update(dict.fromkeys(root for entry in ledger.values() for root in entry.roots))
        records: dict[Ref, RecordFacts] = {}
        _add(connection, tenant, asked, records, always=always)
        names = canonical(list(dict.fromkeys(ref.record_id for ref in asked)))
        current = {row[0]: record_facts(row) for row in execute(_CURRENT, (tenant, names)).fetchall()}
        known = [*records.values(), *current.values()]
        behind = (root for record in known for root in record.roots if root not in records)
        _add(connection, tenant, behind, records, always=always)
        grants = standing_grants(execute(_GRANTS, (tenant, ids.principal_id)).fetchall())
        keys = tuple(ReceiptKey(key_id, bytes(secret)) for key_id, secret in execute(_KEYS).fetchall())
        return Facts(epoch, seq, records, current, grants, ledger, keys, _standing(connection, tenant))
    finally:
        execute("COMMIT")


def _standing(connection: sqlite3.Connection, tenant: str) -> Standing:
    (revision,) = connection.execute(_LAST_STANDING, (tenant,)).fetchone()
    return standing_of(revision, connection.execute(_STANDING, (tenant,)).fetchall() if revision else ())


def _add(
    connection: sqlite3.Connection, tenant: str, refs: Iterable[Ref], found: dict[Ref, RecordFacts], *, always: bool
) -> None:
    wanted = canonical(list(dict.fromkeys(refs)))
    if wanted == "[]" and not always:
        return
    for row in connection.execute(_RECORDS, (tenant, wanted)).fetchall():
        found[Ref(row[0], row[1])] = record_facts(row)


def _ledger(connection: sqlite3.Connection, tenant: str, ledger_ids: Iterable[str]) -> Mapping[str, LedgerFacts]:
    wanted = canonical(list(dict.fromkeys(ledger_ids)))
    if wanted == "[]":
        return {}
    rows = connection.execute(_LEDGER, (tenant, wanted)).fetchall()
    roots: dict[str, list[Ref]] = {row[0]: [] for row in rows}
    for ledger_id, record_id, version in connection.execute(_LEDGER_ROOTS, (tenant, wanted)):
        roots[ledger_id].append(Ref(record_id, version))
    left_out = too_much(dict.fromkeys(ledger_ids), roots)
    return {row[0]: ledger_facts(row, sorted(roots[row[0]]), beyond=row[0] in left_out) for row in rows}
