"""What finds changes, refusals and shown reports: a table of columns, filled from the rows that are there. Frozen.

Revision ID: 0005
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op
from google.protobuf.message import DecodeError

from discreet.v1.audit_pb2 import AuditRow

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
BIG = sa.BigInteger()
SMALL = sa.SmallInteger()
INT = sa.Integer()
WORDS = ("method", "actor", "principal_id", "record_id", "version", "ticket", "subject_id")
INDEXED = ("method", "actor", "principal_id", "record_id", "ticket", "subject_id")
CURSOR = ["at", "writer", "place"]
ROWS_AT_ONCE = 1_000
"""Rows are read so many at a time: an audit need not fit into memory."""
_NEXT = sa.text(
    "SELECT writer, n, ordinal, tenant, act, at, principal_id, body FROM audit_row"
    " WHERE (writer, n, ordinal) > (:writer, :n, :ordinal) AND act IN (3, 4, 5)"
    " ORDER BY writer, n, ordinal LIMIT :limit"
)


def upgrade() -> None:
    """Adds the table, fills it, and on PostgreSQL replaces the link so that it writes it."""
    op.create_table(
        "audit_act",
        *(_column(name, BIG) for name in CURSOR),
        _column("tenant", ID),
        _column("n", BIG),
        _column("ordinal", INT),
        _column("act", SMALL),
        *(_column(name, ID) for name in WORDS),
        sa.PrimaryKeyConstraint(*CURSOR),
        sqlite_with_rowid=False,
    )
    _fill(op.get_bind())
    op.create_index("audit_act_tenant", "audit_act", ["tenant", *CURSOR])
    for name in INDEXED:
        some = sa.text(f"{name} <> ''")
        columns = [name, "tenant", *CURSOR]
        op.create_index(f"audit_act_{name}", "audit_act", columns, sqlite_where=some, postgresql_where=some)
    if op.get_bind().dialect.name == "postgresql":
        op.get_bind().exec_driver_sql(Path(__file__).with_name("0005_record.sql").read_text("utf-8"))


def downgrade() -> None:
    """Refused: a store is never taken back, since its history is what answers for it."""
    raise RuntimeError("a Discreet store is not downgraded; restore a backup and adopt it")


def _column(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, autoincrement=False)


def _fill(connection: sa.Connection) -> None:
    """One row for each that holds no decision, in the order of the chain."""
    names = ("at", "writer", "place", "tenant", "n", "ordinal", "act", *WORDS)
    act = sa.table("audit_act", *(sa.column(name) for name in names))
    last = {"writer": -1, "n": -1, "ordinal": -1}
    while rows := connection.execute(_NEXT, {**last, "limit": ROWS_AT_ONCE}).all():
        connection.execute(sa.insert(act), [_found_by(row) for row in rows])
        last = {name: getattr(rows[-1], name) for name in last}


def _found_by(row: Any) -> Mapping[str, object]:
    """A row that cannot be read is found by its tenant, act, principal and time: none is left out."""
    try:
        held = AuditRow.FromString(bytes(row.body))
    except DecodeError:
        held = AuditRow()
    change = held.change
    return {
        "at": row.at,
        "writer": row.writer,
        "place": (row.n << 24) + row.ordinal,
        "tenant": row.tenant,
        "n": row.n,
        "ordinal": row.ordinal,
        "act": row.act,
        "method": change.method,
        "actor": held.caller.name,
        "principal_id": row.principal_id,
        "record_id": change.record.record_id,
        "version": change.record.version,
        "ticket": change.ticket,
        "subject_id": change.subject_id,
    }
