"""The digests of a link's rows, so that a row that was altered can be named. Frozen.

Revision ID: 0004
"""

import hashlib
from itertools import groupby
from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

BATCH = 1_000


def upgrade() -> None:
    """Adds the column, fills it from the rows as they are, and on PostgreSQL replaces what writes links."""
    op.add_column("audit_link", sa.Column("digests", sa.LargeBinary(), nullable=True))
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        bind.exec_driver_sql(
            "UPDATE audit_link l SET digests = coalesce((SELECT string_agg(sha256(r.body), ''::bytea"
            " ORDER BY r.ordinal) FROM audit_row r WHERE r.writer = l.writer AND r.n = l.n), ''::bytea)"
        )
        bind.exec_driver_sql(Path(__file__).with_name("0004_link.sql").read_text("utf-8"))
    else:
        _fill(bind)


def downgrade() -> None:
    """Refused: a store is never taken back, since its history is what answers for it."""
    raise RuntimeError("a Discreet store is not downgraded; restore a backup and adopt it")


def _fill(bind: sa.Connection) -> None:
    """In parts, in the order of the key: an audit need not fit into memory, and what is read is not written then."""
    part = sa.text("SELECT writer, n FROM audit_link WHERE (writer, n) > (:writer, :n) ORDER BY writer, n LIMIT :batch")
    rows = sa.text(
        "SELECT writer, n, body FROM audit_row WHERE (writer, n) > (:writer, :n) AND (writer, n) <= (:last, :last_n)"
        " ORDER BY writer, n, ordinal"
    )
    change = sa.text("UPDATE audit_link SET digests = :digests WHERE writer = :writer AND n = :n")
    after = (0, 0)
    while links := bind.execute(part, {"writer": after[0], "n": after[1], "batch": BATCH}).all():
        last = (links[-1].writer, links[-1].n)
        digests: dict[tuple[int, int], bytes] = dict.fromkeys(((link.writer, link.n) for link in links), b"")
        named = {"writer": after[0], "n": after[1], "last": last[0], "last_n": last[1]}
        for place, held in groupby(bind.execute(rows, named), key=lambda row: (row.writer, row.n)):
            if place in digests:
                digests[place] = b"".join(hashlib.sha256(bytes(row.body)).digest() for row in held)
        bind.execute(change, [{"writer": w, "n": n, "digests": d} for (w, n), d in digests.items()])
        after = last
