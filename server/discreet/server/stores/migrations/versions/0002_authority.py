"""What follows from a revocation: standing facts, tombstones with ids, approvals, holders, purge orders. Frozen.

Revision ID: 0002
"""

import uuid
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
BIG = sa.BigInteger()
SMALL = sa.SmallInteger()
INT = sa.Integer()
BOOL = sa.Boolean()
BYTES = sa.LargeBinary()


def upgrade() -> None:
    """Adds the tables, gives the tombstones that are there ids, and on PostgreSQL replaces the commit."""
    op.add_column("record_revision", _maybe("suspended_until", BIG))
    _roots()
    _standing()
    _tombstones()
    _holders()
    _orders()
    if op.get_bind().dialect.name == "postgresql":
        op.get_bind().exec_driver_sql(Path(__file__).with_name("0002_record.sql").read_text("utf-8"))


def downgrade() -> None:
    """Refused: a store is never taken back, since its history is what answers for it."""
    raise RuntimeError("a Discreet store is not downgraded; restore a backup and adopt it")


def _column(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False, autoincrement=False)


def _maybe(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=True)


def _roots() -> None:
    """What each version was built on, as its revisions say."""
    op.create_table(
        "record_root",
        _column("root_id", ID),
        _column("root_version", ID),
        _column("tenant", ID),
        _column("record_id", ID),
        _column("version", ID),
        sa.PrimaryKeyConstraint("root_id", "root_version", "tenant", "record_id", "version"),
        sqlite_with_rowid=False,
    )
    op.create_index("record_root_record", "record_root", ["record_id", "version", "tenant"])
    each = {"sqlite": "json_each(r.roots)", "postgresql": "json_array_elements(CAST(r.roots AS json))"}
    op.execute(
        "INSERT INTO record_root (tenant, root_id, root_version, record_id, version)"  # noqa: S608 - our own constants
        " SELECT DISTINCT r.tenant, root.value ->> 0, root.value ->> 1, r.record_id, r.version"
        f" FROM record_revision r CROSS JOIN {each[op.get_bind().dialect.name]} AS root WHERE r.roots <> '[]'"
    )


def _tombstones() -> None:
    """The table anew, since its key changes; its rows keep what they say, but for when they were placed."""
    bind = op.get_bind()
    kept = bind.execute(sa.text("SELECT tenant, digest, record_id, version, seq FROM tombstone")).all()
    op.drop_table("tombstone")
    op.create_table(
        "tombstone",
        _column("tombstone_id", ID),
        _column("tenant", ID),
        _column("kind", SMALL),
        _column("digest", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("label", ID),
        _column("order_id", ID),
        _column("seq", BIG),
        _column("at", BIG),
        sa.PrimaryKeyConstraint("tombstone_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("tombstone_digest", "tombstone", ["tenant", "digest"])
    op.create_index("tombstone_label", "tombstone", ["tenant", "label"])
    op.create_index("tombstone_record", "tombstone", ["tenant", "record_id"])
    if kept:
        named = [
            {"tombstone_id": str(uuid.uuid4()), "tenant": t, "digest": d, "record_id": r, "version": v, "seq": s}
            for t, d, r, v, s in kept
        ]
        bind.execute(
            sa.text(
                "INSERT INTO tombstone"
                " (tombstone_id, tenant, kind, digest, record_id, version, label, order_id, seq, at)"
                " VALUES (:tombstone_id, :tenant, 1, :digest, :record_id, :version, '', '', :seq, 0)"
            ),
            named,
        )


def _standing() -> None:
    op.create_table(
        "standing_event",
        _column("seq", BIG),
        _column("tenant", ID),
        _column("fact", ID),
        _column("fact_id", ID),
        _column("ends", BOOL),
        _column("label", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("actor", ID),
        _column("reason", ID),
        _column("ticket", ID),
        _column("at", BIG),
        _maybe("until", BIG),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("standing_event_fact", "standing_event", ["fact_id"])
    op.create_index("standing_event_tenant", "standing_event", ["tenant", "seq"])
    _settled()


def _settled() -> None:
    """What lifts, approves and confirms."""
    op.create_table(
        "tombstone_lift",
        _column("tombstone_id", ID),
        _column("seq", BIG),
        _column("actor", ID),
        _column("reason", ID),
        _column("ticket", ID),
        _column("at", BIG),
        sa.PrimaryKeyConstraint("tombstone_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "approval",
        _column("approval_id", ID),
        _column("tenant", ID),
        _column("method", ID),
        _column("request", BYTES),
        _column("summary", ID),
        _column("requester", ID),
        _column("reason", ID),
        _column("ticket", ID),
        _column("seq", BIG),
        _column("at", BIG),
        _column("expires_at", BIG),
        sa.PrimaryKeyConstraint("approval_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("approval_tenant", "approval", ["tenant", "seq"])
    op.create_table(
        "approval_end",
        _column("approval_id", ID),
        _column("approved", BOOL),
        _column("actor", ID),
        _column("reason", ID),
        _column("seq", BIG),
        _column("at", BIG),
        sa.PrimaryKeyConstraint("approval_id"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "ledger_shown",
        _column("ledger_id", ID),
        _column("tenant", ID),
        _column("at", BIG),
        _column("request_id", ID),
        sa.PrimaryKeyConstraint("ledger_id", "tenant"),
        sqlite_with_rowid=False,
    )


def _holders() -> None:
    op.create_table(
        "holder_event",
        _column("seq", BIG),
        _column("tenant", ID),
        _column("holder", ID),
        _column("ends", BOOL),
        _column("kind", SMALL),
        _column("labels", ID),
        _column("webhook_url", ID),
        _maybe("webhook_secret", BYTES),
        _column("actor", ID),
        _column("reason", ID),
        _column("at", BIG),
        sa.PrimaryKeyConstraint("seq"),
    )
    op.create_index("holder_event_holder", "holder_event", ["tenant", "holder", "seq"])
    op.create_table(
        "holder_post",
        _column("tenant", ID),
        _column("holder", ID),
        _column("claimed_until", BIG),
        _column("instance", ID),
        _column("failures", INT),
        _column("last_failure", ID),
        sa.PrimaryKeyConstraint("tenant", "holder"),
        sqlite_with_rowid=False,
    )


def _orders() -> None:
    op.create_table(
        "purge_order",
        _column("order_id", ID),
        _column("tenant", ID),
        _column("seq", BIG),
        _column("extent", ID),
        _column("actor", ID),
        _column("reason", ID),
        _column("ticket", ID),
        _column("at", BIG),
        _column("purge_not_before", BIG),
        _column("due_at", BIG),
        _maybe("recheck_after", BIG),
        _column("records", INT),
        _column("segments", INT),
        sa.PrimaryKeyConstraint("order_id"),
        sqlite_with_rowid=False,
    )
    op.create_index("purge_order_tenant", "purge_order", ["tenant", "seq"])
    op.create_table(
        "purge_item",
        _column("order_id", ID),
        _column("item", INT),
        _column("tenant", ID),
        _column("kind", SMALL),
        _column("ledger_id", ID),
        _column("record_id", ID),
        _column("version", ID),
        _column("label", ID),
        _column("digest", ID),
        _maybe("store_by", BIG),
        sa.PrimaryKeyConstraint("order_id", "item"),
        sa.ForeignKeyConstraint(["order_id"], ["purge_order.order_id"], name="purge_item_of"),
        sqlite_with_rowid=False,
    )
    op.create_index("purge_item_label", "purge_item", ["tenant", "label"])
    op.create_index("purge_item_ledger", "purge_item", ["tenant", "ledger_id"])
    op.create_index("purge_item_record", "purge_item", ["tenant", "record_id", "version"])
    _parts()
    _answers()


def _parts() -> None:
    op.create_table(
        "purge_part",
        _column("order_id", ID),
        _column("item", INT),
        _column("holder", ID),
        _column("tenant", ID),
        _column("state", SMALL),
        _column("available_at", BIG),
        _column("due_at", BIG),
        _column("answers", INT),
        _column("recheck", BOOL),
        _column("failure", ID),
        _maybe("answered_at", BIG),
        sa.PrimaryKeyConstraint("order_id", "item", "holder"),
        sa.ForeignKeyConstraint(["order_id", "item"], ["purge_item.order_id", "purge_item.item"], name="purge_part_of"),
        sqlite_with_rowid=False,
    )
    op.create_index(
        "purge_part_holder", "purge_part", ["tenant", "holder", "state", "available_at", "order_id", "item"]
    )
    op.create_index("purge_part_state", "purge_part", ["state", "due_at"])
    op.create_index("purge_part_order", "purge_part", ["order_id", "state"])


def _answers() -> None:
    op.create_table(
        "purge_answer",
        _column("order_id", ID),
        _column("item", INT),
        _column("holder", ID),
        _column("n", INT),
        _column("tenant", ID),
        _column("outcome", SMALL),
        _column("reason", ID),
        _column("held", BOOL),
        _column("seq", BIG),
        _column("at", BIG),
        sa.PrimaryKeyConstraint("order_id", "item", "holder", "n"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "purge_notice",
        _column("order_id", ID),
        _column("notice", ID),
        _column("tenant", ID),
        _column("seq", BIG),
        _column("at", BIG),
        sa.PrimaryKeyConstraint("order_id", "notice"),
        sqlite_with_rowid=False,
    )
