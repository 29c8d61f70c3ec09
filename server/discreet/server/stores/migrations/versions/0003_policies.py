"""Where policy revisions come from, what rollbacks pinned out, and the servers of the database. Frozen.

Revision ID: 0003
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
BIG = sa.BigInteger()
INT = sa.Integer()
BOOL = sa.Boolean()


def upgrade() -> None:
    """Adds the three tables; nothing that is there changes."""
    op.create_table(
        "policy_origin",
        sa.Column("number", BIG, primary_key=True, autoincrement=False),
        *(_column(name, ID) for name in ("publisher", "source", "ref", "author", "subject")),
        sa.Column("committed_at", BIG, nullable=True),
        _column("rolled_back_to", BIG),
        _column("reason", ID),
    )
    op.create_table(
        "policy_pin",
        sa.Column("seq", BIG, primary_key=True, autoincrement=False),
        _column("pinned", ID),
        _column("ends", BOOL),
        _column("actor", ID),
        _column("reason", ID),
        _column("at", BIG),
    )
    op.create_index("policy_pin_pinned", "policy_pin", ["pinned", "seq"])
    op.create_table(
        "server",
        sa.Column("instance", ID, primary_key=True),
        _column("run", ID),
        _column("version", ID),
        _column("engine", INT),
        _column("lease", BIG),
        _column("acked_seq", BIG),
        _column("policy_number", BIG),
        _column("policy_commit", ID),
        _column("policy_digest", ID),
        _column("policy_dirty", BOOL),
        _column("policy_published_at", BIG),
        _column("environment", ID),
        _column("lag", BIG),
        sa.Column("read_age", BIG, nullable=True),
        _column("problem", ID),
        _column("ended", BOOL),
        _column("started_at", BIG),
        _column("seen_at", BIG),
    )


def downgrade() -> None:
    """Refused: a store is never taken back, since its history is what answers for it."""
    raise RuntimeError("a Discreet store is not downgraded; restore a backup and adopt it")


def _column(name: str, kind: Any) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=False)
