"""Reads a database when a history is over, past the server and with every right. Must judge nothing but the chain."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import psycopg

from discreet.policy.words import HolderKind, PurgeOutcome, PurgeState
from discreet.v1 import audit_pb2, disclosure_pb2
from tests.history.events import NEVER
from tests.history.final import (
    AuditEntry,
    Final,
    GrantState,
    Item,
    LedgerRow,
    Order,
    Part,
    RecordState,
    StandingState,
)
from tests.history.world import VERSION

NUMBERED = {
    "change": "SELECT seq FROM change",
    "ledger": "SELECT DISTINCT seq FROM ledger",
    "tombstone_lift": "SELECT seq FROM tombstone_lift",
    "approval": "SELECT seq FROM approval",
    "approval_end": "SELECT seq FROM approval_end",
    "holder_event": "SELECT seq FROM holder_event",
    "purge_order": "SELECT seq FROM purge_order",
    "purge_answer": "SELECT DISTINCT seq FROM purge_answer",
    "purge_notice": "SELECT seq FROM purge_notice",
}
"""Where the numbers of the order stand, each event once. Facts of every kind are named by `change`."""
NAMED_BY_CHANGE = ("SELECT revision FROM record_revision", "SELECT seq FROM grant_event",
                   "SELECT seq FROM policy_revision", "SELECT seq FROM standing_event")  # fmt: skip
LINKS = (
    "SELECT w.name, l.writer, l.n, l.prev, l.hash, l.size, l.heads FROM audit_link l"
    " JOIN audit_writer w ON w.writer = l.writer ORDER BY l.writer, l.n"
)
ROWS = "SELECT writer, n, body FROM audit_row ORDER BY writer, n, ordinal"
MARK = "h:"


@dataclass(frozen=True, slots=True)
class Place:
    """A database: a SQLite file, or the address of a PostgreSQL database."""

    kind: str
    url: str

    def rows(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """What a statement returns, a part at a time."""
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.url)) as raw:
                yield from raw.execute(statement)
            return
        with psycopg.connect(self.url) as connection, connection.cursor("reading_back") as cursor:
            cursor.itersize = 5_000
            yield from cursor.execute(statement.encode())


def read_back(place: Place, withheld_by: Callable[[str], frozenset[str]]) -> Final:
    """Everything that the checker asks for. `withheld_by`: the kinds that the policy of a commit withholds."""
    final = Final()
    ((final.seq, final.policy),) = place.rows("SELECT seq, policy_revision FROM authority")
    final.numbered = {table: [int(row[0]) for row in place.rows(wanted)] for table, wanted in NUMBERED.items()}
    final.ledger = _ledger(place)
    final.shown = frozenset(row[0] for row in place.rows("SELECT ledger_id FROM ledger_shown"))
    final.audit, final.broken_links = _audit(place)
    final.records, final.grants = _records(place), _grants(place)
    final.standing = [_standing(row) for row in place.rows(_STANDING)]
    final.withheld = {
        row[0]: withheld_by(row[1]) for row in place.rows("SELECT number, commit_id FROM policy_revision")
    }
    final.orders = list(_orders(place))
    held = place.rows("SELECT holder, kind FROM holder_event ORDER BY seq")
    final.holders = {holder: HolderKind(kind).name for holder, kind in held}
    final.broken_links += _unnamed(place, set(final.numbered["change"]))
    return final


def _unnamed(place: Place, changes: set[int]) -> Iterator[str]:
    for statement in NAMED_BY_CHANGE:
        for (seq,) in place.rows(statement):
            if seq not in changes:
                yield f"{statement} has {seq}, which no change names"


def _ledger(place: Place) -> dict[str, LedgerRow]:
    roots: dict[str, list[str]] = defaultdict(list)
    for ledger_id, record_id, version in place.rows("SELECT ledger_id, record_id, version FROM ledger_root"):
        roots[ledger_id].append(f"{record_id}@{version}")
    found = {}
    wanted = "SELECT ledger_id, session_id, answer_id, segment_id, seq, policy_revision, writer, n FROM ledger"
    for ledger_id, session_id, answer_id, segment_id, seq, policy, writer, n in place.rows(wanted):
        key = f"{session_id}/{answer_id}/{segment_id}"
        found[ledger_id] = LedgerRow(ledger_id, key, seq, policy, (writer, n), tuple(sorted(roots[ledger_id])))
    return found


def _audit(place: Place) -> tuple[list[AuditEntry], list[str]]:
    """What the rows say, and what is wrong with the links over them: recomputed here, in words of its own."""
    entries, broken = [], []
    rows = place.rows(ROWS)
    row = next(rows, None)
    before: dict[int, tuple[int, bytes]] = {}
    for name, writer, n, prev, found, size, heads in place.rows(LINKS):
        digests = []
        while row is not None and row[:2] == (writer, n):
            digests.append(_sha(bytes(row[2])))
            entries.append(_entry((writer, n), bytes(row[2])))
            row = next(rows, None)
        last_n, last = before.get(writer, (0, bytes(32)))
        text = b"discreet.audit.link.v1\0" + _sha(name.encode()) + n.to_bytes(8, "big") + last + _sha(heads.encode())
        text += size.to_bytes(4, "big") + b"".join(digests)
        if (n, bytes(prev), size, bytes(found)) != (last_n + 1, last, len(digests), _sha(text)):
            broken.append(f"link {n} of {name} does not follow from its rows and the link before it")
        before[writer] = n, bytes(found)
    if row is not None:
        broken.append(f"a row of link {row[:2]}, which is not there")
    return entries, broken


def _sha(part: bytes) -> bytes:
    return hashlib.sha256(part).digest()


def _entry(link: tuple[int, int], body: bytes) -> AuditEntry:
    row = audit_pb2.AuditRow.FromString(body)
    if row.HasField("change"):
        mark = row.change.reason if row.change.reason.startswith(MARK) else ""
        return AuditEntry(link, mark, row.change.seq)
    committed = (d.ledger_id for d in row.decisions if d.order.kind == disclosure_pb2.CommitOrder.KIND_COMMITTED)
    return AuditEntry(link, committed=tuple(committed))


def _records(place: Place) -> dict[str, list[RecordState]]:
    found: dict[str, list[RecordState]] = defaultdict(list)
    columns = (
        "record_id, version, revision, revoked, suspended, suspended_until, unreachable, scopes,"
        " assessment_expires_at, superseded_by_id"
    )
    wanted = f"SELECT {columns} FROM record_revision ORDER BY record_id, version, revision"
    for record_id, version, seq, revoked, suspended, until, unreachable, scopes, assessed, successor in place.rows(
        wanted
    ):
        revoke = {} if revoked is None else json.loads(revoked)
        state = RecordState(
            seq=seq,
            revoked=bool(revoke),
            due_us=revoke.get("purge_not_before", 0),
            order_id=revoke.get("order_id", ""),
            suspended=bool(suspended),
            suspended_until_us=NEVER if until is None else until,
            unreachable=bool(unreachable),
            scopes=tuple(json.loads(scopes)),
            assessed_until_us=0 if assessed is None else assessed,
            superseded=successor is not None,
        )
        found[f"{record_id}@{version}"].append(state)
    return dict(found)


def _grants(place: Place) -> dict[str, list[GrantState]]:
    found: dict[str, list[GrantState]] = defaultdict(list)
    wanted = "SELECT principal_id, seq, scope, generation, withdrawn FROM grant_event ORDER BY seq"
    for principal, seq, scope, generation, withdrawn in place.rows(wanted):
        found[principal].append(GrantState(seq, scope, generation, bool(withdrawn)))
    return dict(found)


_STANDING = "SELECT seq, fact, fact_id, ends, label, record_id, version, until FROM standing_event ORDER BY seq"


def _standing(row: tuple[Any, ...]) -> StandingState:
    seq, fact, fact_id, ends, label, record_id, version, until = row
    ref = f"{record_id}@{version or VERSION}" if record_id else ""
    return StandingState(seq, fact, fact_id, bool(ends), label, ref, NEVER if until is None else until)


def _orders(place: Place) -> Iterator[Order]:
    answers: dict[tuple[str, int, str], list[str]] = defaultdict(list)
    wanted = "SELECT order_id, item, holder, outcome FROM purge_answer ORDER BY order_id, item, holder, n"
    for order_id, item, holder, outcome in place.rows(wanted):
        answers[order_id, item, holder].append(PurgeOutcome(outcome).name)
    parts: dict[tuple[str, int], list[Part]] = defaultdict(list)
    for order_id, item, holder, state in place.rows("SELECT order_id, item, holder, state FROM purge_part"):
        said = tuple(answers[order_id, item, holder])
        parts[order_id, item].append(Part(holder, PurgeState(state).name, said))
    items: dict[str, list[Item]] = defaultdict(list)
    wanted = "SELECT order_id, item, ledger_id, record_id, version FROM purge_item ORDER BY order_id, item"
    for order_id, item, ledger_id, record_id, version in place.rows(wanted):
        ref = f"{record_id}@{version}" if record_id else ""
        items[order_id].append(Item(item, ledger_id, ref, tuple(parts[order_id, item])))
    for order_id, seq, due_us in place.rows("SELECT order_id, seq, purge_not_before FROM purge_order ORDER BY seq"):
        yield Order(order_id, seq, due_us, tuple(items[order_id]))
