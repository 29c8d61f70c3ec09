"""Gives every version under a label a revoke of its own, in four statements on either database, however many they are.

Runs while all commits wait: nothing goes through Python but their number. What is written is what
`discreet.server.ports.Work.write_records` would write: a revision each, one number a record, a change each.
"""

import sqlalchemy as sa

from discreet.policy.facts import Revoke
from discreet.server.ports import ChangeKind
from discreet.server.stores import tables
from discreet.server.stores.rows import revoke_parts
from discreet.server.stores.transaction import Transaction

_BY_LABEL = {"sqlite": " INDEXED BY record_latest_label", "postgresql": ""}
_NAMES = tuple(column.name for column in tables.record_revision.columns)
_NUMBER = "CAST(:before + dense_rank() OVER (ORDER BY l.record_id) AS bigint)"
_NEW = {
    "revision": _NUMBER,
    "revoked": f":head || CAST({_NUMBER} AS text) || :tail",
    "recorded_at": "CAST(:now AS bigint)",
    "step": ":step",
}
_FRESH = (
    " FROM record_latest l{label} CROSS JOIN record_revision r WHERE l.source_label = :label AND l.tenant = :tenant"
    " AND r.tenant = l.tenant AND r.record_id = l.record_id AND r.version = l.version AND r.revision = l.revision"
    " AND r.revoked IS NULL"
)
_REVISIONS = (
    f"INSERT INTO record_revision ({', '.join(_NAMES)})"
    f" SELECT {', '.join(_NEW.get(name, f'r.{name}') for name in _NAMES)}{_FRESH}"
)
_WRITTEN = (
    " FROM record_latest l{label} CROSS JOIN record_revision r WHERE l.source_label = :label AND l.tenant = :tenant"
    " AND r.tenant = l.tenant AND r.record_id = l.record_id AND r.version = l.version AND r.revision > :before"
)
_CHANGES = (
    f"INSERT INTO change (seq, kind, tenant, id) SELECT DISTINCT r.revision, :kind, r.tenant, r.record_id{_WRITTEN}"
)
_LATEST = (
    "UPDATE record_latest{label} SET revision = r.revision FROM record_revision r"
    " WHERE record_latest.source_label = :label AND record_latest.tenant = :tenant AND r.tenant = record_latest.tenant"
    " AND r.record_id = record_latest.record_id AND r.version = record_latest.version AND r.revision > :before"
)
_COUNTED = f"SELECT count(DISTINCT l.record_id){_FRESH}"


def revoke_each(on: Transaction, tenant: str, label: str, revoke: Revoke, step: str) -> int:
    """Gives each version under the label that has no revoke of its own one; returns how many got one."""
    by_label = _BY_LABEL[on.connection.dialect.name]

    def run(statement: str, **values: object) -> sa.CursorResult[object]:
        named = {"tenant": tenant, "label": label, **values}
        return on.connection.execute(sa.text(statement.format(label=by_label)), named)

    before = on.head.seq
    records = int(run(_COUNTED).scalar_one())  # type: ignore[call-overload] # a row of one count
    if not records:
        return 0
    head, tail = revoke_parts(revoke)
    fresh = {"head": head, "tail": tail, "now": on.head.now, "step": step}
    written = run(_REVISIONS, before=before, **fresh).rowcount
    run(_CHANGES, before=before, kind=ChangeKind.RECORD.value)
    run(_LATEST, before=before)
    on.head = on.head._replace(seq=before + records, changed_seq=before + records)
    return written
