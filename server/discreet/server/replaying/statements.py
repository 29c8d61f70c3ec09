"""What is read of the history of facts, in SQL for either database. Keys are named as canonical JSON."""

from __future__ import annotations

import sqlalchemy as sa

from discreet.server.stores.rows import LEDGER_COLUMNS, RECORD_COLUMNS, STANDING_COLUMNS, canonical

__all__ = ["GRANTS", "KEYS", "LEDGER", "LEDGER_ROOTS", "RECORDS", "SEQ", "STANDING", "VERSIONS", "canonical"]

_TEXTS = {"sqlite": "json_each(:keys) AS w", "postgresql": "json_array_elements_text(CAST(:keys AS json)) AS w(value)"}
_LISTS = {"sqlite": "json_each(:keys) AS w", "postgresql": "json_array_elements(CAST(:keys AS json)) AS w(value)"}


def _each(over: dict[str, str], columns: str, table: str, on: str, order: str = "") -> dict[str, sa.TextClause]:
    """A statement by dialect: key by key, each a look-up in the table's primary key."""
    return {
        dialect: sa.text(
            f"SELECT {columns} FROM {each} CROSS JOIN {table} t WHERE t.tenant = :tenant AND {on}{order}"  # noqa: S608 - our own constants
        )
        for dialect, each in over.items()
    }


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(f"t.{name}" for name in columns)


VERSIONS = _each(
    _TEXTS, "t.record_id, t.version, t.revision, t.is_current", "record_revision", "t.record_id = w.value",
    " ORDER BY t.record_id, t.version, t.revision",
)  # fmt: skip
RECORDS = _each(
    _LISTS, _names(RECORD_COLUMNS), "record_revision",
    "t.record_id = w.value ->> 0 AND t.version = w.value ->> 1 AND t.revision = CAST(w.value ->> 2 AS BIGINT)",
)  # fmt: skip
GRANTS = _each(
    _TEXTS, "t.principal_id, t.scope, t.generation, t.seq, t.not_before, t.expires_at, t.withdrawn", "grant_event",
    "t.principal_id = w.value", " ORDER BY t.principal_id, t.scope, t.generation",
)  # fmt: skip
LEDGER = _each(_TEXTS, _names(LEDGER_COLUMNS), "ledger", "t.ledger_id = w.value")
LEDGER_ROOTS = _each(_TEXTS, "t.ledger_id, t.record_id, t.version", "ledger_root", "t.ledger_id = w.value")
STANDING = sa.text(
    f"SELECT {_names(STANDING_COLUMNS)}, t.ends FROM standing_event t WHERE t.tenant IN (:tenant, '') ORDER BY t.seq"  # noqa: S608 - our own constants
)
SEQ = sa.text("SELECT seq FROM authority WHERE one = 1")
KEYS = sa.text("SELECT key_id, secret FROM receipt_key ORDER BY created_at, key_id")
