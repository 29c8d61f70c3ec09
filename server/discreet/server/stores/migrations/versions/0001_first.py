"""The first schema: one order, the index, the ledger, the audit. Frozen: later schemas are later files.

Revision ID: 0001
"""

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
BIG = sa.BigInteger()
SMALL = sa.SmallInteger()
INT = sa.Integer()
BOOL = sa.Boolean()
BYTES = sa.LargeBinary()


def upgrade() -> None:
    """Creates every table, and on PostgreSQL the commit."""
    _authority()
    _records()
    _tombstones_and_latest()
    _grants()
    _ledger()
    _audit()
    _query()
    if op.get_bind().dialect.name == "postgresql":
        op.get_bind().exec_driver_sql(Path(__file__).with_name("0001_record.sql").read_text("utf-8"))


def downgrade() -> None:
    """Refused: a store is never taken back, since its history is what answers for it."""
    raise RuntimeError("a Discreet store is not downgraded; restore a backup and adopt it")


def _column(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, autoincrement=False)


def _maybe(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _authority() -> None:
    op.create_table(
        "authority",
        _column("one", SMALL),
        _column("epoch", ID),
        _column("bound_to", ID),
        _column("seq", BIG),
        _column("changed_seq", BIG),
        _column("policy_revision", BIG),
        sa.PrimaryKeyConstraint("one"),
        sa.CheckConstraint("one = 1", name="authority_is_one_row"),
    )
    op.create_table(
        "change",
        _column("seq", BIG),
        _column("kind", ID),
        _column("tenant", ID),
        _column("id", ID),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_table(
        "policy_revision",
        _column("number", BIG),
        _column("commit_id", ID),
        _column("digest", ID),
        _column("dirty", BOOL),
        _column("bundle", BYTES),
        _column("published_at", BIG),
        _column("seq", BIG),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "receipt_key",
        _column("key_id", ID),
        _column("secret", BYTES),
        _column("created_at", BIG),
        sa.PrimaryKeyConstraint("key_id"),
    )


def _records() -> None:
    op.create_table(
        "record_revision",
        _column("tenant", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("revision", BIG),
        _column("kind", SMALL),
        _column("digest", ID),
        _column("source_label", ID),
        _column("collector", ID),
        _column("recorded_at", BIG),
        _column("is_current", BOOL),
        _maybe("as_of", BIG),
        _column("basis", ID),
        _column("scopes", ID),
        _column("attributes", ID),
        _maybe("assessment_expires_at", BIG),
        _maybe("superseded_by_id", ID),
        _maybe("superseded_by_version", ID),
        _column("suspended", BOOL),
        _column("unreachable", BOOL),
        _maybe("revoked", ID),
        _column("origin", SMALL),
        _column("own_source", BOOL),
        _column("of_refs", ID),
        _column("fields", ID),
        _column("formula", ID),
        _column("inputs", ID),
        _column("step", ID),
        _column("settled", ID),
        _column("roots", ID),
        sa.PrimaryKeyConstraint("tenant", "record_id", "version", "revision"),
        sqlite_with_rowid=False,
    )


def _tombstones_and_latest() -> None:
    op.create_table(
        "tombstone",
        _column("tenant", ID),
        _column("digest", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("seq", BIG),
        sa.PrimaryKeyConstraint("tenant", "digest", "record_id", "version"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "record_latest",
        _column("tenant", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("revision", BIG),
        _column("is_current", BOOL),
        _column("source_label", ID),
        _column("skeleton", ID),
        sa.PrimaryKeyConstraint("tenant", "record_id", "version"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "record_latest_current",
        "record_latest",
        ["record_id", "tenant"],
        unique=True,
        sqlite_where=sa.text("is_current"),
        postgresql_where=sa.text("is_current"),
    )
    op.create_index("record_latest_label", "record_latest", ["source_label", "tenant", "record_id", "version"])
    op.create_index("record_latest_skeleton", "record_latest", ["skeleton", "source_label", "tenant", "record_id"])


def _grants() -> None:
    op.create_table(
        "grant_event",
        _column("tenant", ID),
        _column("principal_id", ID),
        _column("scope", ID),
        _column("generation", INT),
        _column("withdrawn", BOOL),
        _column("seq", BIG),
        _column("at", BIG),
        _column("not_before", BIG),
        _maybe("expires_at", BIG),
        sa.PrimaryKeyConstraint("tenant", "principal_id", "scope", "generation", "withdrawn"),
        sqlite_with_rowid=False,
    )
    op.create_index("grant_event_principal", "grant_event", ["principal_id", "tenant", "seq"])


def _ledger() -> None:
    op.create_table(
        "ledger",
        _column("ledger_id", ID),
        _column("tenant", ID),
        _column("session_id", ID),
        _column("answer_id", ID),
        _column("segment_id", ID),
        _column("fingerprint", BYTES),
        _column("principal_id", ID),
        _column("segment_digest", ID),
        _column("grounding", SMALL),
        _column("segment", BYTES),
        _column("need_numbers", BOOL),
        _column("need_advice", BOOL),
        _maybe("valid_until", BIG),
        _column("policy_revision", BIG),
        _maybe("grants_revision", BIG),
        _column("seq", BIG),
        _column("committed_at", BIG),
        _column("store_by", BIG),
        _column("writer", BIG),
        _column("n", BIG),
        sa.PrimaryKeyConstraint("ledger_id", "tenant"),
        sa.UniqueConstraint("session_id", "answer_id", "segment_id", "tenant", name="ledger_natural_key"),
    )
    op.create_index("ledger_seq", "ledger", ["seq"])
    op.create_table(
        "ledger_root",
        _column("ledger_id", ID),
        _column("tenant", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("revision", BIG),
        sa.PrimaryKeyConstraint("ledger_id", "tenant", "record_id", "version"),
        sa.ForeignKeyConstraint(["ledger_id", "tenant"], ["ledger.ledger_id", "ledger.tenant"], name="ledger_root_of"),
        sqlite_with_rowid=False,
    )
    op.create_index("ledger_root_record", "ledger_root", ["record_id", "version", "tenant", "ledger_id"])


def _audit() -> None:
    op.create_table(
        "audit_writer",
        _column("writer", BIG),
        _column("name", ID),
        _column("opened_at", BIG),
        sa.PrimaryKeyConstraint("writer"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "audit_link",
        _column("writer", BIG),
        _column("n", BIG),
        _column("prev", BYTES),
        _column("hash", BYTES),
        _column("size", INT),
        _column("heads", ID),
        _column("at", BIG),
        _column("seq", BIG),
        sa.PrimaryKeyConstraint("writer", "n"),
    )
    op.create_table(
        "audit_row",
        _column("writer", BIG),
        _column("n", BIG),
        _column("ordinal", INT),
        _column("tenant", ID),
        _column("request_id", ID),
        _column("act", SMALL),
        _column("at", BIG),
        _column("principal_id", ID),
        _column("session_id", ID),
        _column("body", BYTES),
        sa.PrimaryKeyConstraint("writer", "n", "ordinal"),
    )
    op.create_index("audit_row_request", "audit_row", ["tenant", "request_id"])


def _query() -> None:
    op.create_table(
        "audit_decision",
        _column("at", BIG),
        _column("writer", BIG),
        _column("place", BIG),
        _column("tenant", ID),
        _column("n", BIG),
        _column("ordinal", INT),
        _column("decision_id", ID),
        _column("principal_id", ID),
        _column("session_id", ID),
        _column("verdict", SMALL),
        _column("reason", SMALL),
        _column("rule", ID),
        _column("moment", SMALL),
        _column("policy_revision", BIG),
        sa.PrimaryKeyConstraint("at", "writer", "place"),
        sqlite_with_rowid=False,
    )
    op.create_index("audit_decision_id", "audit_decision", ["decision_id"])
    op.create_index("audit_decision_principal", "audit_decision", ["tenant", "principal_id", "at", "writer", "place"])
    op.create_index("audit_decision_session", "audit_decision", ["tenant", "session_id", "at", "writer", "place"])
    op.create_index("audit_decision_tenant", "audit_decision", ["tenant", "at", "writer", "place"])
    op.create_table(
        "audit_decision_record",
        _column("tenant", ID),
        _column("record_id", ID),
        _column("at", BIG),
        _column("writer", BIG),
        _column("place", BIG),
        sa.PrimaryKeyConstraint("tenant", "record_id", "at", "writer", "place"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "audit_decision_label",
        _column("tenant", ID),
        _column("label", ID),
        _column("at", BIG),
        _column("writer", BIG),
        _column("place", BIG),
        sa.PrimaryKeyConstraint("tenant", "label", "at", "writer", "place"),
        sqlite_with_rowid=False,
    )
