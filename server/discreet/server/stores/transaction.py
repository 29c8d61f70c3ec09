"""An index transaction under way: the order's next numbers, and the audit rows that land with it. Must open nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import sqlalchemy as sa

from discreet.server.ports import AuditRecord, ChangeKind, Head
from discreet.server.stores import tables
from discreet.server.stores.chain import Chain, build_link
from discreet.server.stores.many import MANY, insert_many
from discreet.server.stores.metadata import metadata

K = TypeVar("K")

IN_STATEMENT_MAX = 400
"""Keys named in one statement: far below the limits of both databases (32,766 and 65,535 values)."""

_INSERTS = {name: sa.insert(table) for name, table in metadata.tables.items()}


class Transaction:
    """Numbers events and writes rows. The caller began it, holds the authority row and commits."""

    def __init__(self, connection: sa.Connection, head: Head, chain: Chain) -> None:
        self.connection = connection
        self.head = head
        """The authority row as it will be after the events so far."""
        self._began = head
        self._chain = chain
        self._audit: list[AuditRecord] = []

    def fact(self) -> int:
        """The number of an event that changes facts."""
        self.head = self.head._replace(seq=self.head.seq + 1, changed_seq=self.head.seq + 1)
        return self.head.seq

    def event(self) -> int:
        """The number of an event that changes no fact a decision reads."""
        self.head = self.head._replace(seq=self.head.seq + 1)
        return self.head.seq

    def changed(self, kind: ChangeKind, tenant: str, seqs: Mapping[str, int]) -> None:
        """Announces facts that changed: id to number."""
        self.insert(
            "change", [{"seq": seq, "kind": kind.value, "tenant": tenant, "id": name} for name, seq in seqs.items()]
        )

    def insert(self, table: str, rows: Sequence[Mapping[str, object]]) -> None:
        """Appends rows, named columns each: the same ones in all of them."""
        if len(rows) >= MANY:
            insert_many(self.connection, table, rows)
        elif rows:
            self.connection.execute(_INSERTS[table], rows)

    def rows(self, wanted: sa.Executable) -> Sequence[Sequence[Any]]:
        """All rows of a query."""
        return self.connection.execute(wanted).all()

    def audit(self, record: AuditRecord) -> None:
        """Adds an audit row."""
        self._audit.append(record)

    def finish(self) -> bytes | None:
        """Writes the authority row and the audit link; returns the link's hash, or None where there is no row."""
        if self.head != self._began:
            values = {name: getattr(self.head, name) for name in ("seq", "changed_seq", "policy_revision")}
            self.connection.execute(sa.update(tables.authority).values(**values))
        if not self._audit:
            return None
        link = build_link(self._chain, self._audit, self.head.now, self.head.seq)
        for name, rows in (
            ("audit_link", [link.link]),
            ("audit_row", link.rows),
            ("audit_decision", link.decisions),
            ("audit_decision_record", link.records),
            ("audit_decision_label", link.labels),
            ("audit_act", link.acts),
        ):
            names = [column.name for column in metadata.tables[name].columns]
            self.insert(name, [dict(zip(names, row, strict=True)) for row in rows])
        return link.hash


def parts(keys: Iterable[K]) -> Iterator[list[K]]:
    """The keys in lists that fit one statement."""
    rest = iter(keys)
    while part := list(islice(rest, IN_STATEMENT_MAX)):
        yield part
