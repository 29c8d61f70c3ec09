"""Where a spool file's rows stand in SQL. Must know nothing of adapters.

Each spool file is a writer of the chain, by the file's name, and each drained batch is a link of it. So how many of its
rows are recorded is the sum of its links' sizes, and since (writer, n) is unique, no two processes, and no transaction
that a killed one left behind, can record the same rows twice: one of them finds the link taken, and looks again.
"""

from collections.abc import Sequence
from typing import Any, Final

import sqlalchemy as sa

from discreet.policy.facts import Micros
from discreet.server.ports import AuditRecord, StoreError
from discreet.server.stores import tables
from discreet.server.stores.chain import NO_PREV, Chain
from discreet.server.stores.writers import enrol_named

STANDS: Final = (
    "SELECT w.writer, coalesce(l.n, 0), l.hash, (SELECT coalesce(sum(s.size), 0) FROM audit_link s"
    " WHERE s.writer = w.writer) FROM audit_writer w LEFT JOIN audit_link l ON l.writer = w.writer"
    " AND l.n = (SELECT max(m.n) FROM audit_link m WHERE m.writer = w.writer) WHERE w.name = {name}"
)
"""Of a spool file: its writer, its last link, that one's hash, and how many of its rows are recorded."""


def chain_of(name: str, row: Sequence[Any]) -> tuple[Chain, int]:
    """The chain of a spool file as it stands, and how many of its rows are recorded."""
    writer, n, last, done = row
    return Chain(writer, name, "", n, bytes(last) if n else NO_PREV), int(done)


def left_over(first: int, done: int, records: Sequence[AuditRecord]) -> Sequence[AuditRecord]:
    """Those of the rows that are not recorded. Raises StoreError where earlier ones are not either."""
    if done < first:
        raise StoreError(
            f"the database has {done} rows of a spool file of which {first} were drained: it has lost some of the audit"
        )
    return records[done - first :]


def begin(connection: sa.Connection, name: str, now: Micros) -> None:
    """Enrols a spool file as a writer, where nobody has. The caller holds the authority row."""
    known = sa.select(tables.audit_writer.c.writer).where(tables.audit_writer.c.name == name)
    if connection.execute(known).first() is None:
        enrol_named(connection, name, now)
