"""What must hold between the rows of a database, on either kind: one order, nothing that hangs in the air.

Each check is one query that gives what is wrong. Must not write, and must know nothing of connections.
"""

from typing import NamedTuple

import sqlalchemy as sa

from discreet.server.ports import Head
from discreet.server.stores.keeping.report import Report
from discreet.server.stores.metadata import metadata

RESTORE = "rows were changed or lost past Discreet: restore a backup from before that, and adopt it"
COUNTED = ("record_revision", "ledger", "audit_row")
_NOT_EVENTS = frozenset({"authority", "audit_link"})
"""Their `seq` is the head's, not that of an event of their own."""


class Check(NamedTuple):
    """`query` gives one number: how many rows are wrong."""

    query: str
    wrong: str


CHECKS = (
    Check(
        "SELECT count(*) FROM ledger l WHERE NOT EXISTS"
        " (SELECT 1 FROM audit_row a WHERE a.writer = l.writer AND a.n = l.n)",
        "committed segments have no audit row",
    ),
    Check(
        "SELECT count(*) FROM ledger_root r WHERE NOT EXISTS"
        " (SELECT 1 FROM ledger l WHERE l.ledger_id = r.ledger_id AND l.tenant = r.tenant)",
        "roots belong to no committed segment",
    ),
    Check(
        "SELECT count(*) FROM ledger_root r WHERE NOT EXISTS (SELECT 1 FROM record_revision v WHERE"
        " v.tenant = r.tenant AND v.record_id = r.record_id AND v.version = r.version AND v.revision = r.revision)",
        "roots name a revision that no record has",
    ),
    Check(
        "SELECT count(*) FROM record_latest l WHERE NOT EXISTS (SELECT 1 FROM record_revision v WHERE"
        " v.tenant = l.tenant AND v.record_id = l.record_id AND v.version = l.version AND v.revision = l.revision"
        " AND v.is_current = l.is_current AND v.source_label = l.source_label)",
        "rows of record_latest disagree with their revision",
    ),
    Check(
        "SELECT count(*) FROM record_revision v WHERE NOT EXISTS (SELECT 1 FROM record_latest l WHERE"
        " l.tenant = v.tenant AND l.record_id = v.record_id AND l.version = v.version AND l.revision >= v.revision)",
        "revisions are newer than record_latest says, or of a version that it does not know",
    ),
    Check(
        "SELECT count(*) FROM grant_event w WHERE w.withdrawn AND NOT EXISTS (SELECT 1 FROM grant_event g WHERE"
        " g.tenant = w.tenant AND g.principal_id = w.principal_id AND g.scope = w.scope"
        " AND g.generation = w.generation AND NOT g.withdrawn)",
        "withdrawals end a grant that was never given",
    ),
    Check(
        "SELECT count(*) FROM audit_decision d WHERE NOT EXISTS (SELECT 1 FROM audit_row a WHERE"
        " a.writer = d.writer AND a.n = d.n AND a.ordinal = d.ordinal)",
        "decisions have no audit row",
    ),
    Check(
        "SELECT count(*) FROM ledger_shown s WHERE NOT EXISTS"
        " (SELECT 1 FROM ledger l WHERE l.ledger_id = s.ledger_id AND l.tenant = s.tenant)",
        "segments were confirmed as shown that were never committed",
    ),
    Check(
        "SELECT (SELECT count(*) FROM tombstone_lift l WHERE NOT EXISTS"
        " (SELECT 1 FROM tombstone t WHERE t.tombstone_id = l.tombstone_id))"
        " + (SELECT count(*) FROM approval_end e WHERE NOT EXISTS"
        " (SELECT 1 FROM approval a WHERE a.approval_id = e.approval_id))",
        "tombstones were lifted, or approvals settled, that are not there",
    ),
    Check(
        "SELECT count(*) FROM purge_item i WHERE i.ledger_id <> '' AND NOT EXISTS"
        " (SELECT 1 FROM ledger l WHERE l.ledger_id = i.ledger_id AND l.tenant = i.tenant)",
        "purge orders cover segments that were never committed",
    ),
    Check(
        "SELECT count(*) FROM purge_part p WHERE p.answers <> (SELECT count(*) FROM purge_answer a"
        " WHERE a.order_id = p.order_id AND a.item = p.item AND a.holder = p.holder)",
        "parts of purge orders do not stand where their answers say",
    ),
    Check(
        "SELECT abs((SELECT count(*) FROM policy_revision) - (SELECT policy_revision FROM authority))"
        " + abs((SELECT coalesce(max(number), 0) FROM policy_revision) - (SELECT policy_revision FROM authority))",
        "policy revisions are missing, or more than were published",
    ),
    Check(
        "SELECT count(*) FROM authority WHERE changed_seq > seq"
        " OR changed_seq < (SELECT coalesce(max(seq), 0) FROM change)",
        "the last change is not where the authority row says",
    ),
    Check("SELECT CASE WHEN EXISTS (SELECT 1 FROM receipt_key) THEN 0 ELSE 1 END", "receipt keys are missing"),
)


def look_at_rows(connection: sa.Connection, report: Report, head: Head) -> None:
    """Adds what is wrong between rows. The schema must be the one that the code knows."""
    for name in COUNTED:
        report.counts[name] = _number(connection, f"SELECT count(*) FROM {name}")  # noqa: S608 - our own names
    for check in CHECKS:
        if found := _number(connection, check.query):
            report.fault(f"{check.wrong} ({found})", RESTORE)
    _look_at_order(connection, report, head)


def _look_at_order(connection: sa.Connection, report: Report, head: Head) -> None:
    """Every number from 1 to the head's belongs to an event, and none is beyond."""
    numbered = [table.name for table in metadata.sorted_tables if "seq" in table.c and table.name not in _NOT_EVENTS]
    events = " UNION ".join(f"SELECT seq FROM {name}" for name in numbered)  # noqa: S608 - our own names
    if beyond := _number(connection, f"SELECT count(*) FROM ({events}) e WHERE seq > {head.seq} OR seq < 1"):  # noqa: S608 - our own names and a number
        report.fault(f"events are numbered beyond the head, which is {head.seq} ({beyond})", RESTORE)
    places = f"SELECT seq, row_number() OVER (ORDER BY seq) AS place FROM ({events}) e"  # noqa: S608 - our own names
    first = _number(connection, f"SELECT coalesce(min(place), 0) FROM ({places}) p WHERE seq <> place")  # noqa: S608 - our own names
    last = _number(connection, f"SELECT coalesce(max(seq), 0) FROM ({events}) e")  # noqa: S608 - our own names
    if first or last < head.seq:
        report.fault(f"the order has a gap: no event has the number {first or last + 1}", RESTORE)


def _number(connection: sa.Connection, query: str) -> int:
    return int(connection.execute(sa.text(query)).scalar_one())
