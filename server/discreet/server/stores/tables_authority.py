"""The tables of what follows from a revocation: standing facts, tombstones, approvals, holders, purge orders.

They are part of the metadata of `tables`, under its rules. `purge_part` and `holder_post` are derived or work in
progress: with `record_latest` and `authority` the only rows that are ever updated.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
)

from discreet.server.stores.metadata import Id, metadata

standing_event = Table(
    "standing_event",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("fact", Id, nullable=False),
    Column("fact_id", Id, nullable=False),
    Column("ends", Boolean, nullable=False),
    Column("label", Id, nullable=False),
    Column("record_id", Id, nullable=False),
    Column("version", Id, nullable=False),
    Column("actor", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("ticket", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("until", BigInteger),
    Index("standing_event_tenant", "tenant", "seq"),
    Index("standing_event_fact", "fact_id"),
)
"""Source revokes, freezes and holds, and as rows of their own their ends.

`tenant` empty: every tenant. `fact`: "source-revoke" (`fact_id`: its purge order; `until`: purge_not_before), "freeze"
(`until`: its end) or "hold". A fact stands while no row that ends it exists, and a freeze until its time.
"""

tombstone = Table(
    "tombstone",
    metadata,
    Column("tombstone_id", Id, primary_key=True),
    Column("tenant", Id, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("digest", Id, nullable=False),
    Column("record_id", Id, nullable=False),
    Column("version", Id, nullable=False),
    Column("label", Id, nullable=False),
    Column("order_id", Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("tombstone_digest", "tenant", "digest"),
    Index("tombstone_record", "tenant", "record_id"),
    Index("tombstone_label", "tenant", "label"),
    sqlite_with_rowid=False,
)
"""What was revoked, by content, record or source: registration refuses it. It decides nothing else.

`kind` as in the proto. DIGEST: digest, record and version; RECORD: record_id; SOURCE: label. The rest is empty.
"""

tombstone_lift = Table(
    "tombstone_lift",
    metadata,
    Column("tombstone_id", Id, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("actor", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("ticket", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

approval = Table(
    "approval",
    metadata,
    Column("approval_id", Id, primary_key=True),
    Column("tenant", Id, nullable=False),
    Column("method", Id, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("summary", Id, nullable=False),
    Column("requester", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("ticket", Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Index("approval_tenant", "tenant", "seq"),
    sqlite_with_rowid=False,
)
"""A change that needs a second person; `request`: the bytes of the request, with the digest of what it covers."""

approval_end = Table(
    "approval_end",
    metadata,
    Column("approval_id", Id, primary_key=True),
    Column("approved", Boolean, nullable=False),
    Column("actor", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)

ledger_shown = Table(
    "ledger_shown",
    metadata,
    Column("ledger_id", Id, primary_key=True),
    Column("tenant", Id, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("request_id", Id, nullable=False),
    sqlite_with_rowid=False,
)
"""Ledger entries that were reported as shown: released has become confirmed."""

holder_event = Table(
    "holder_event",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("holder", Id, nullable=False),
    Column("ends", Boolean, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("labels", Id, nullable=False),
    Column("webhook_url", Id, nullable=False),
    Column("webhook_secret", LargeBinary),
    Column("actor", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("holder_event_holder", "tenant", "holder", "seq"),
)
"""Holders as they were registered and removed; the last row of a holder counts."""

holder_post = Table(
    "holder_post",
    metadata,
    Column("tenant", Id, primary_key=True),
    Column("holder", Id, primary_key=True),
    Column("claimed_until", BigInteger, nullable=False),
    Column("instance", Id, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("last_failure", Id, nullable=False),
    sqlite_with_rowid=False,
)
"""Which server posts to a holder's webhook, until when no other does, and how it went."""

purge_order = Table(
    "purge_order",
    metadata,
    Column("order_id", Id, primary_key=True),
    Column("tenant", Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("extent", Id, nullable=False),
    Column("actor", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("ticket", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("purge_not_before", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("recheck_after", BigInteger),
    Column("records", Integer, nullable=False),
    Column("segments", Integer, nullable=False),
    Index("purge_order_tenant", "tenant", "seq"),
    sqlite_with_rowid=False,
)
"""One order a revoke. `extent`: what was revoked, in words. `recheck_after`: microseconds after an answer, or null."""

purge_item = Table(
    "purge_item",
    metadata,
    Column("order_id", Id, primary_key=True),
    Column("item", Integer, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("kind", SmallInteger, nullable=False),
    Column("ledger_id", Id, nullable=False),
    Column("record_id", Id, nullable=False),
    Column("version", Id, nullable=False),
    Column("label", Id, nullable=False),
    Column("digest", Id, nullable=False),
    Column("store_by", BigInteger),
    ForeignKeyConstraint(["order_id"], ["purge_order.order_id"], name="purge_item_of"),
    Index("purge_item_ledger", "tenant", "ledger_id"),
    Index("purge_item_record", "tenant", "record_id", "version"),
    Index("purge_item_label", "tenant", "label"),
    sqlite_with_rowid=False,
)
"""What an order covers, fixed when it is made, whoever holds it. SEGMENT: ledger_id; RECORD: record, version, label."""

purge_part = Table(
    "purge_part",
    metadata,
    Column("order_id", Id, primary_key=True),
    Column("item", Integer, primary_key=True, autoincrement=False),
    Column("holder", Id, primary_key=True),
    Column("tenant", Id, nullable=False),
    Column("state", SmallInteger, nullable=False),
    Column("available_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("answers", Integer, nullable=False),
    Column("recheck", Boolean, nullable=False),
    Column("failure", Id, nullable=False),
    Column("answered_at", BigInteger),
    ForeignKeyConstraint(["order_id", "item"], ["purge_item.order_id", "purge_item.item"], name="purge_part_of"),
    Index("purge_part_holder", "tenant", "holder", "state", "available_at", "order_id", "item"),
    Index("purge_part_state", "state", "due_at"),
    Index("purge_part_order", "order_id", "state"),
    sqlite_with_rowid=False,
)
"""Derived from `purge_answer`: where each item of each holder's part stands, and when the holder is asked (again).

`due_at`: when the holder must have answered; later than at first where it registered late or a hold was lifted.
`recheck`: it is asked whether the content is still there, not to delete it. Stored states: OPEN, FAILED, UNCONFIRMED,
PURGED, NOT_FOUND; SCHEDULED and HELD follow from `available_at` and from the holds that stand.
"""

purge_answer = Table(
    "purge_answer",
    metadata,
    Column("order_id", Id, primary_key=True),
    Column("item", Integer, primary_key=True, autoincrement=False),
    Column("holder", Id, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("reason", Id, nullable=False),
    Column("held", Boolean, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Every answer of a holder, in order. `held`: the item was under a legal hold when it came."""

purge_notice = Table(
    "purge_notice",
    metadata,
    Column("order_id", Id, primary_key=True),
    Column("notice", Id, primary_key=True),
    Column("tenant", Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""What was put on record of an order, once: that it is "overdue", that an item "failed"."""

INDEX_INSERTS = frozenset(
    table.name
    for table in (
        standing_event,
        tombstone,
        tombstone_lift,
        approval,
        approval_end,
        holder_event,
        holder_post,
        purge_order,
        purge_item,
        purge_part,
        purge_answer,
        purge_notice,
    )
)
INDEX_UPDATES = {
    "holder_post": ("claimed_until", "instance", "failures", "last_failure"),
    "purge_part": ("state", "available_at", "due_at", "answers", "recheck", "failure", "answered_at"),
}
