"""The tables of policy revisions' origins, of pins, and of the servers of a database, under the rules of `tables`.

`server` holds what each server last told of itself, and is the one table of these whose rows are updated: what it says
decides nothing but whom a change waits for.
"""

from sqlalchemy import BigInteger, Boolean, Column, Index, Integer, Table

from discreet.server.stores.metadata import Id, metadata

policy_origin = Table(
    "policy_origin",
    metadata,
    Column("number", BigInteger, primary_key=True, autoincrement=False),
    Column("publisher", Id, nullable=False),
    Column("source", Id, nullable=False),
    Column("ref", Id, nullable=False),
    Column("author", Id, nullable=False),
    Column("subject", Id, nullable=False),
    Column("committed_at", BigInteger),
    Column("rolled_back_to", BigInteger, nullable=False),
    Column("reason", Id, nullable=False),
)
"""Where each revision came from. A revision from before these were kept has no row."""

policy_pin = Table(
    "policy_pin",
    metadata,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("pinned", Id, nullable=False),
    Column("ends", Boolean, nullable=False),
    Column("actor", Id, nullable=False),
    Column("reason", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    Index("policy_pin_pinned", "pinned", "seq"),
)
"""What rollbacks pinned out, and as rows of their own the ends. It is pinned out while its last row does not end it."""

server = Table(
    "server",
    metadata,
    Column("instance", Id, primary_key=True),
    Column("run", Id, nullable=False),
    Column("version", Id, nullable=False),
    Column("engine", Integer, nullable=False),
    Column("lease", BigInteger, nullable=False),
    Column("acked_seq", BigInteger, nullable=False),
    Column("policy_number", BigInteger, nullable=False),
    Column("policy_commit", Id, nullable=False),
    Column("policy_digest", Id, nullable=False),
    Column("policy_dirty", Boolean, nullable=False),
    Column("policy_published_at", BigInteger, nullable=False),
    Column("environment", Id, nullable=False),
    Column("lag", BigInteger, nullable=False),
    Column("read_age", BigInteger),
    Column("problem", Id, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("seen_at", BigInteger, nullable=False),
)
"""What each server last told of itself; durations in microseconds. `policy_number` 0: it had none."""

INDEX_INSERTS = frozenset({"policy_origin", "policy_pin"})
"""What an index change may insert into."""

RECORDING_INSERTS = frozenset({"server"})
"""What a recording connection may insert into besides ledger and audit (A13): a server tells of itself on it."""
RECORDING_UPDATES = {"server": tuple(column.name for column in server.columns if column.name != "instance")}
