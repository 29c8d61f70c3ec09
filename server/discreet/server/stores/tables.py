"""The tables of both databases, in one metadata. Must know nothing of adapters, calls or decisions.

- Ids are text compared by exact code points: BINARY in SQLite, COLLATE "C" in PostgreSQL.
- Times are microseconds since 1970 UTC.
- Collections are canonical JSON as text, so that what is stored is what is read on either database.
- `record_revision`, `grant_event`, `ledger*`, `audit_*`, `policy_revision` and `change` are only ever inserted into,
  and so is `record_root`, which is derived from the revisions;
  `record_latest` is derived from the revisions for quick reads; `authority` is the one row that is updated
  (docs/decisions/0020). What follows from a revocation has its tables in `tables_authority`.
- Of the indexes of a table that a commit looks into, one alone begins with a column of the key it looks up by: so there
  is one way to do it, and a plan that was made while the table was empty stays right when it has grown.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    UniqueConstraint,
    text,
)

from discreet.server.stores import tables_authority, tables_policy
from discreet.server.stores.metadata import Id, metadata

authority = Table(
    "authority",
    metadata,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("epoch", Id, nullable=False),
    Column("bound_to", Id, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("changed_seq", BigInteger, nullable=False),
    Column("policy_revision", BigInteger, nullable=False),
    CheckConstraint("one = 1", name="authority_is_one_row"),
)
"""The one order. `bound_to` names the database that the epoch belongs to (PostgreSQL: its system and timeline)."""

change = Table(
    "change",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Id, nullable=False),
    Column("tenant", Id, nullable=False),
    Column("id", Id, nullable=False),
)

record_revision = Table(
    "record_revision",
    metadata,
    Column("tenant", Id, primary_key=True),
    Column("record_id", Id, primary_key=True),
    Column("version", Id, primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, nullable=False),
    Column("digest", Id, nullable=False),
    Column("source_label", Id, nullable=False),
    Column("collector", Id, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("is_current", Boolean, nullable=False),
    Column("as_of", BigInteger),
    Column("basis", Id, nullable=False),
    Column("scopes", Id, nullable=False),
    Column("attributes", Id, nullable=False),
    Column("assessment_expires_at", BigInteger),
    Column("superseded_by_id", Id),
    Column("superseded_by_version", Id),
    Column("suspended", Boolean, nullable=False),
    Column("unreachable", Boolean, nullable=False),
    Column("revoked", Id),
    Column("origin", SmallInteger, nullable=False),
    Column("own_source", Boolean, nullable=False),
    Column("of_refs", Id, nullable=False),
    Column("fields", Id, nullable=False),
    Column("formula", Id, nullable=False),
    Column("inputs", Id, nullable=False),
    Column("step", Id, nullable=False),
    Column("settled", Id, nullable=False),
    Column("roots", Id, nullable=False),
    Column("suspended_until", BigInteger),
    sqlite_with_rowid=False,
)
"""Every revision of every record version; the last one counts."""

record_latest = Table(
    "record_latest",
    metadata,
    Column("tenant", Id, primary_key=True),
    Column("record_id", Id, primary_key=True),
    Column("version", Id, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("is_current", Boolean, nullable=False),
    Column("source_label", Id, nullable=False),
    Column("skeleton", Id, nullable=False),
    Index(
        "record_latest_current",
        "record_id",
        "tenant",
        unique=True,
        sqlite_where=text("is_current"),
        postgresql_where=text("is_current"),
    ),
    Index("record_latest_label", "source_label", "tenant", "record_id", "version"),
    Index("record_latest_skeleton", "skeleton", "source_label", "tenant", "record_id"),
    sqlite_with_rowid=False,
)
"""Derived: which revision of a version is the last, and which version of a record is current."""

record_root = Table(
    "record_root",
    metadata,
    Column("root_id", Id, primary_key=True),
    Column("root_version", Id, primary_key=True),
    Column("tenant", Id, primary_key=True),
    Column("record_id", Id, primary_key=True),
    Column("version", Id, primary_key=True),
    Index("record_root_record", "record_id", "version", "tenant"),
    sqlite_with_rowid=False,
)
"""Derived: everything that a record version was built on, fixed at its registration; to find what falls with a root."""

grant_event = Table(
    "grant_event",
    metadata,
    Column("tenant", Id, primary_key=True),
    Column("principal_id", Id, primary_key=True),
    Column("scope", Id, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("withdrawn", Boolean, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("not_before", BigInteger, nullable=False),
    Column("expires_at", BigInteger),
    Index("grant_event_principal", "principal_id", "tenant", "seq"),
    sqlite_with_rowid=False,
)
"""Grants and, as rows of their own, their withdrawals. A grant stands while no withdrawal of its generation exists."""

policy_revision = Table(
    "policy_revision",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("commit_id", Id, nullable=False),
    Column("digest", Id, nullable=False),
    Column("dirty", Boolean, nullable=False),
    Column("bundle", LargeBinary, nullable=False),
    Column("published_at", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
)

receipt_key = Table(
    "receipt_key",
    metadata,
    Column("key_id", Id, primary_key=True),
    Column("secret", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("ledger_id", Id, primary_key=True),
    Column("tenant", Id, primary_key=True),
    Column("session_id", Id, nullable=False),
    Column("answer_id", Id, nullable=False),
    Column("segment_id", Id, nullable=False),
    Column("fingerprint", LargeBinary, nullable=False),
    Column("principal_id", Id, nullable=False),
    Column("segment_digest", Id, nullable=False),
    Column("grounding", SmallInteger, nullable=False),
    Column("segment", LargeBinary, nullable=False),
    Column("need_numbers", Boolean, nullable=False),
    Column("need_advice", Boolean, nullable=False),
    Column("valid_until", BigInteger),
    Column("policy_revision", BigInteger, nullable=False),
    Column("grants_revision", BigInteger),
    Column("seq", BigInteger, nullable=False),
    Column("committed_at", BigInteger, nullable=False),
    Column("store_by", BigInteger, nullable=False),
    Column("writer", BigInteger, nullable=False),
    Column("n", BigInteger, nullable=False),
    UniqueConstraint("session_id", "answer_id", "segment_id", "tenant", name="ledger_natural_key"),
    Index("ledger_seq", "seq"),
)
"""What was disclosed: ids and digests, no content. (writer, n) is the audit chain's link that was written with it."""

ledger_root = Table(
    "ledger_root",
    metadata,
    Column("ledger_id", Id, primary_key=True),
    Column("tenant", Id, primary_key=True),
    Column("record_id", Id, primary_key=True),
    Column("version", Id, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    ForeignKeyConstraint(["ledger_id", "tenant"], ["ledger.ledger_id", "ledger.tenant"], name="ledger_root_of"),
    Index("ledger_root_record", "record_id", "version", "tenant", "ledger_id"),
    sqlite_with_rowid=False,
)
"""Every record version that a committed segment rests on, with the revision at which it was judged."""

audit_writer = Table(
    "audit_writer",
    metadata,
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("name", Id, nullable=False, unique=True),
    Column("opened_at", BigInteger, nullable=False),
)

audit_link = Table(
    "audit_link",
    metadata,
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    Column("prev", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("size", Integer, nullable=False),
    Column("heads", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("digests", LargeBinary),
)
"""One link a transaction. `heads`: in a writer's first link, the others' last heads. `seq` 0: not in the order.

`digests`: those of its rows, in their order; the hash is over them, so that a row that was altered can be named.
"""

audit_row = Table(
    "audit_row",
    metadata,
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("n", BigInteger, primary_key=True, autoincrement=False),
    Column("ordinal", Integer, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("request_id", Id, nullable=False),
    Column("act", SmallInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("principal_id", Id, nullable=False),
    Column("session_id", Id, nullable=False),
    Column("body", LargeBinary, nullable=False),
    Index("audit_row_request", "tenant", "request_id"),
)

audit_decision = Table(
    "audit_decision",
    metadata,
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("decision_id", Id, nullable=False),
    Column("principal_id", Id, nullable=False),
    Column("session_id", Id, nullable=False),
    Column("verdict", SmallInteger, nullable=False),
    Column("reason", SmallInteger, nullable=False),
    Column("rule", Id, nullable=False),
    Column("moment", SmallInteger, nullable=False),
    Column("policy_revision", BigInteger, nullable=False),
    Index("audit_decision_id", "decision_id"),
    Index("audit_decision_tenant", "tenant", "at", "writer", "place"),
    Index("audit_decision_session", "tenant", "session_id", "at", "writer", "place"),
    Index("audit_decision_principal", "tenant", "principal_id", "at", "writer", "place"),
    sqlite_with_rowid=False,
)
"""The columns by which decisions are found. (at, writer, place) is unique and never moves: every query's cursor."""

audit_decision_record = Table(
    "audit_decision_record",
    metadata,
    Column("tenant", Id, primary_key=True),
    Column("record_id", Id, primary_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

audit_decision_label = Table(
    "audit_decision_label",
    metadata,
    Column("tenant", Id, primary_key=True),
    Column("label", Id, primary_key=True),
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    sqlite_with_rowid=False,
)

audit_act = Table(
    "audit_act",
    metadata,
    Column("at", BigInteger, primary_key=True, autoincrement=False),
    Column("writer", BigInteger, primary_key=True, autoincrement=False),
    Column("place", BigInteger, primary_key=True, autoincrement=False),
    Column("tenant", Id, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("act", SmallInteger, nullable=False),
    Column("method", Id, nullable=False),
    Column("actor", Id, nullable=False),
    Column("principal_id", Id, nullable=False),
    Column("record_id", Id, nullable=False),
    Column("version", Id, nullable=False),
    Column("ticket", Id, nullable=False),
    Column("subject_id", Id, nullable=False),
    Index("audit_act_tenant", "tenant", "at", "writer", "place"),
    *(
        Index(
            f"audit_act_{name}",
            name,
            "tenant",
            "at",
            "writer",
            "place",
            sqlite_where=text(f"{name} <> ''"),
            postgresql_where=text(f"{name} <> ''"),
        )
        for name in ("method", "actor", "principal_id", "record_id", "ticket", "subject_id")
    ),
    sqlite_with_rowid=False,
)
"""The columns by which rows that hold no decision are found: changes, refusals, shown reports. Cursor as above."""

RECORDING_INSERTS = (
    frozenset(
        table.name
        for table in (
            ledger,
            ledger_root,
            tables_authority.ledger_shown,
            audit_link,
            audit_row,
            audit_decision,
            audit_decision_record,
            audit_decision_label,
            audit_act,
        )
    )
    | tables_policy.RECORDING_INSERTS
)
"""What a recording connection may insert into (A13)."""
RECORDING_UPDATES = {"authority": ("seq",), **tables_policy.RECORDING_UPDATES}

AUDIT_INSERTS = frozenset(name for name in RECORDING_INSERTS if name.startswith("audit_"))

INDEX_INSERTS = (
    frozenset(
        table.name for table in (change, record_revision, record_latest, record_root, grant_event, policy_revision)
    )
    | tables_authority.INDEX_INSERTS
    | tables_policy.INDEX_INSERTS
    | AUDIT_INSERTS
)
"""What an index change may insert into."""
INDEX_UPDATES = {
    "authority": ("seq", "changed_seq", "policy_revision"),
    "record_latest": ("revision", "is_current", "source_label", "skeleton"),
    **tables_authority.INDEX_UPDATES,
}
