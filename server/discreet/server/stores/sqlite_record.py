"""Records groups of jobs on SQLite: ledger, audit and authority in one transaction. Must know nothing of threads.

The order of tests for a job with entries: keys that are taken, then everything it was decided on. All are read inside
the transaction, after BEGIN IMMEDIATE; so nothing can come between the comparison and the write.
"""

import sqlite3
from collections.abc import Callable, Sequence

import sqlalchemy as sa

from discreet.policy.facts import Micros, Ref
from discreet.server.ports import (
    AuditRecord,
    Exists,
    Head,
    Job,
    JobOutcome,
    LedgerEntry,
    OutcomeUnknown,
    Overtaken,
    Recorded,
    StoreError,
)
from discreet.server.stores import tables, tables_authority
from discreet.server.stores.chain import Chain, LinkRows, build_link
from discreet.server.stores.queries import LAST_STANDING

DATA_ERRORS = (sqlite3.Error, UnicodeError, OverflowError)
_NOT_WRITTEN = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL})

AUTHORITY = "SELECT epoch, seq, changed_seq, policy_revision FROM authority WHERE one = 1"
_KEY = (
    "SELECT ledger_id, fingerprint FROM ledger WHERE tenant = ? AND session_id = ? AND answer_id = ? AND segment_id = ?"
)
_GRANTS = "SELECT coalesce(max(seq), 0) FROM grant_event WHERE tenant = ? AND principal_id = ?"
_STANDING = LAST_STANDING.format(tenant="?")
_BASE = "SELECT revision FROM record_latest WHERE tenant = ? AND record_id = ? AND version = ?"


def _insert(table: sa.Table) -> str:
    return f"INSERT INTO {table.name} VALUES ({', '.join('?' for _ in table.columns)})"  # noqa: S608 - our own names


_LEDGER = _insert(tables.ledger)
_ROOT = _insert(tables.ledger_root)
_SHOWN = _insert(tables_authority.ledger_shown) + " ON CONFLICT DO NOTHING"
_AUTHORITY = "UPDATE authority SET seq = ? WHERE one = 1"
_LINK = _insert(tables.audit_link)
_ROW = _insert(tables.audit_row)
_DECISION = _insert(tables.audit_decision)
_RECORD = _insert(tables.audit_decision_record)
_LABEL = _insert(tables.audit_decision_label)
_ACT = _insert(tables.audit_act)


class Recorder:
    """Records jobs on a connection that can write ledger, audit and authority alone."""

    def __init__(self, connection: sqlite3.Connection, chain: Chain, wall: Callable[[], Micros]) -> None:
        self._connection = connection
        self._chain = chain
        self._wall = wall

    def record(self, jobs: Sequence[Job]) -> list[JobOutcome | StoreError]:
        """One outcome a job. A group that fails on data is repeated job by job, so that a bad one fails alone."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            return [StoreError(f"the database could not be taken for writing: {error}")] * len(jobs)
        try:
            outcomes, link = self._write(jobs)
        except DATA_ERRORS as error:
            self._rollback()
            if len(jobs) == 1:
                return [StoreError(f"the record could not be written: {_plain(error)}")]
            return [self.record([job])[0] for job in jobs]
        except BaseException:
            self._rollback()
            raise
        failure = self._commit()
        if failure is not None:
            return [failure] * len(jobs)
        if link is not None:
            self._chain.moved(link.hash)
        return list(outcomes)

    def _commit(self) -> StoreError | None:
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._rollback()
            if error.sqlite_errorcode in _NOT_WRITTEN:
                return StoreError(f"the commit was refused: {error}")
            return OutcomeUnknown(f"the commit failed and may or may not be on disk: {error}")
        return None

    def _rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _write(self, jobs: Sequence[Job]) -> tuple[list[JobOutcome], LinkRows | None]:
        execute = self._connection.execute
        now = self._wall()
        epoch, seq, changed_seq, policy_revision = execute(AUTHORITY).fetchone()
        head = Head(epoch, seq, changed_seq, policy_revision, now)
        began = head.seq
        outcomes: list[JobOutcome] = []
        written: list[AuditRecord] = []
        for job in jobs:
            outcome: JobOutcome = Recorded(0, now)
            if job.entries:
                outcome = self._exists(job) or self._overtaken(job, head) or Recorded(head.seq + 1, now)
            if isinstance(outcome, Recorded):
                written.append(job.audit)
                if outcome.seq:
                    head = head._replace(seq=outcome.seq)
                    self._write_entries(job, outcome)
                shown = [(ledger_id, tenant, now, job.audit.request_id) for tenant, ledger_id in job.shown]
                self._connection.executemany(_SHOWN, shown)
            outcomes.append(outcome)
        if head.seq != began:
            execute(_AUTHORITY, (head.seq,))
        if not written:
            return outcomes, None
        link = build_link(self._chain, written, now, head.seq if head.seq != began else 0)
        write_link(self._connection, link)
        return outcomes, link

    def _exists(self, job: Job) -> Exists | None:
        taken = {}
        same = True
        for entry in job.entries:
            found = self._connection.execute(_KEY, entry.key).fetchone()
            if found is not None:
                taken[entry.key] = found[0]
                same = same and found[1] == entry.fingerprint
        return Exists(taken, same) if taken else None

    def _overtaken(self, job: Job, head: Head) -> Overtaken | None:
        execute = self._connection.execute
        policy = job.policy_revision != head.policy_revision
        grants = job.grants is not None and execute(_GRANTS, job.grants[:2]).fetchone()[0] != job.grants[2]
        standing = job.standing is not None and execute(_STANDING, job.standing[:1]).fetchone()[0] != job.standing[1]
        expired = any(entry.valid_until is not None and head.now >= entry.valid_until for entry in job.entries)
        changed: dict[Ref, None] = {}
        for tenant, ref, revision in dict.fromkeys((e.key.tenant, *base) for e in job.entries for base in e.bases):
            found = execute(_BASE, (tenant, *ref)).fetchone()
            if found is None or found[0] != revision:
                changed[ref] = None
        if policy or grants or expired or changed or standing:
            return Overtaken(head, policy, grants, expired, tuple(changed), standing)
        return None

    def _write_entries(self, job: Job, recorded: Recorded) -> None:
        n = self._chain.n + 1
        for entry in job.entries:
            self._connection.execute(_LEDGER, ledger_row(job, entry, recorded, self._chain.writer, n))
            roots = [(entry.ledger_id, entry.key.tenant, *ref, revision) for ref, revision in entry.bases]
            self._connection.executemany(_ROOT, roots)


def write_link(connection: sqlite3.Connection, link: LinkRows) -> None:
    """Writes a link and its rows, in the transaction of the connection."""
    connection.execute(_LINK, link.link)
    connection.executemany(_ROW, link.rows)
    connection.executemany(_DECISION, link.decisions)
    connection.executemany(_RECORD, link.records)
    connection.executemany(_LABEL, link.labels)
    connection.executemany(_ACT, link.acts)


def ledger_row(job: Job, entry: LedgerEntry, recorded: Recorded, writer: int, n: int) -> tuple[object, ...]:
    """A ledger row in the order of its table's columns."""
    return (
        entry.ledger_id,
        entry.key.tenant,
        entry.key.session_id,
        entry.key.answer_id,
        entry.key.segment_id,
        entry.fingerprint,
        entry.principal_id,
        entry.segment_digest,
        entry.grounding,
        entry.segment,
        entry.need_numbers,
        entry.need_advice,
        entry.valid_until,
        job.policy_revision,
        None if job.grants is None else job.grants[2],
        recorded.seq,
        recorded.now,
        recorded.now + job.store_within_us,
        writer,
        n,
    )


def _plain(error: Exception) -> str:
    """What went wrong without what was written: encoding errors quote their input."""
    return str(error) if isinstance(error, sqlite3.Error) else type(error).__name__
