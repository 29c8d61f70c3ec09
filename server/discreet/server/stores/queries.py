"""The reads that are not on the hot path, over either database, in SQLAlchemy Core. Must not open connections.

Every function runs in the transaction of the connection that it is given.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Micros, PrincipalGrants, RecordFacts, Standing
from discreet.server.ports import Change, ChangeKind, Head, NaturalKey
from discreet.server.ports_found import AuditFilter, AuditHit, GrantRow
from discreet.server.stores import tables
from discreet.server.stores.rows import RECORD_COLUMNS, STANDING_COLUMNS, grant_facts, record_facts, standing_of

_revision = tables.record_revision.c
_latest = tables.record_latest.c
_grant = tables.grant_event.c
_ended = tables.grant_event.alias("ended")
_decision = tables.audit_decision.c

RECORD = sa.select(*(_revision[name] for name in RECORD_COLUMNS))
LATEST = RECORD.join(
    tables.record_latest,
    sa.and_(
        _latest.tenant == _revision.tenant,
        _latest.record_id == _revision.record_id,
        _latest.version == _revision.version,
        _latest.revision == _revision.revision,
    ),
)
"""The last revision of each record version."""
CURRENT = LATEST.where(_latest.is_current)
_EACH = {"sqlite": "json_each(:refs)", "postgresql": "json_array_elements(CAST(:refs AS json))"}
BY_REF = {
    dialect: sa.text(
        f"SELECT {', '.join(f'r.{name}' for name in RECORD_COLUMNS)}"  # noqa: S608 - our own constants
        f" FROM {each} AS wanted CROSS JOIN record_latest l"
        " JOIN record_revision r ON r.tenant = l.tenant AND r.record_id = l.record_id AND r.version = l.version"
        " AND r.revision = l.revision WHERE l.tenant = :tenant"
        " AND l.record_id = wanted.value ->> 0 AND l.version = wanted.value ->> 1"
    )
    for dialect, each in _EACH.items()
}
"""The last revisions of many versions, named as canonical JSON: SQLite uses no index for a list of pairs."""
_IS_ENDED = sa.exists().where(
    _ended.c.tenant == _grant.tenant,
    _ended.c.principal_id == _grant.principal_id,
    _ended.c.scope == _grant.scope,
    _ended.c.generation == _grant.generation,
    _ended.c.withdrawn,
)
_GRANT = (_grant.scope, _grant.generation, _grant.seq, _grant.not_before, _grant.expires_at)


STANDS = (
    " FROM standing_event s WHERE s.tenant IN ({tenant}, '') AND NOT s.ends"
    " AND NOT EXISTS (SELECT 1 FROM standing_event e WHERE e.fact_id = s.fact_id AND e.ends)"
)
"""Events that no later one ends, of the tenant and of every tenant. A freeze whose time is over is among them."""
LAST_STANDING = (
    "SELECT coalesce(max(last.seq), 0) FROM (SELECT max(seq) AS seq FROM standing_event WHERE tenant = {tenant}"
    " UNION ALL SELECT max(seq) FROM standing_event WHERE tenant = '') last"
)
"""The last event of the tenant and of every tenant: the end of an index each, however many events there are."""
_STANDING_NAMES = ", ".join(f"s.{name}" for name in STANDING_COLUMNS)
_STANDING = sa.text(f"SELECT {_STANDING_NAMES}{STANDS.format(tenant=':tenant')} ORDER BY s.seq")
_LAST_STANDING = sa.text(LAST_STANDING.format(tenant=":tenant"))


def standing(connection: sa.Connection, tenant: str) -> Standing:
    """What stands for the tenant, that for every tenant included."""
    named = {"tenant": tenant}
    revision = int(connection.execute(_LAST_STANDING, named).scalar_one())
    return standing_of(revision, connection.execute(_STANDING, named).all() if revision else ())


def read_head(connection: sa.Connection, now: Micros, *, hold: bool = False) -> tuple[Head, str]:
    """The authority row with a clock, and what it is bound to. `hold`: taken exclusively (PostgreSQL)."""
    wanted = sa.select(tables.authority)
    row = connection.execute(wanted.with_for_update() if hold else wanted).one()
    return Head(row.epoch, row.seq, row.changed_seq, row.policy_revision, now), row.bound_to


def changes(connection: sa.Connection, after: int, limit: int) -> list[Change]:
    """Events that changed facts, in order."""
    change = tables.change.c
    wanted = sa.select(change.seq, change.kind, change.tenant, change.id).where(change.seq > after)
    rows = connection.execute(wanted.order_by(change.seq).limit(limit))
    return [Change(seq, ChangeKind(kind), tenant, name) for seq, kind, tenant, name in rows]


def principal_grants(connection: sa.Connection, tenant: str, principal_id: str) -> PrincipalGrants:
    """The principal's standing grants, and the last event that changed any of its grants."""
    mine = sa.and_(_grant.tenant == tenant, _grant.principal_id == principal_id)
    last = connection.execute(sa.select(sa.func.coalesce(sa.func.max(_grant.seq), 0)).where(mine)).scalar_one()
    standing = sa.select(*_GRANT).where(mine, sa.not_(_grant.withdrawn), sa.not_(_IS_ENDED))
    rows = connection.execute(standing.order_by(_grant.scope, _grant.generation))
    return PrincipalGrants(tuple(grant_facts(row) for row in rows), int(last))


def find_commits(connection: sa.Connection, keys: Sequence[NaturalKey]) -> Mapping[NaturalKey, tuple[str, bytes]]:
    """Ledger id and fingerprint of keys that are committed. At most a call's segments are asked for."""
    ledger = tables.ledger.c
    answers: dict[tuple[str, str, str], list[str]] = {}
    for key in keys:
        answers.setdefault(key[:3], []).append(key.segment_id)
    found = {}
    for (tenant, session_id, answer_id), segment_ids in answers.items():
        wanted = sa.select(ledger.segment_id, ledger.ledger_id, ledger.fingerprint).where(
            ledger.tenant == tenant,
            ledger.session_id == session_id,
            ledger.answer_id == answer_id,
            ledger.segment_id.in_(segment_ids),
        )
        for segment_id, ledger_id, fingerprint in connection.execute(wanted):
            found[NaturalKey(tenant, session_id, answer_id, segment_id)] = (ledger_id, bytes(fingerprint))
    return found


def get_record(connection: sa.Connection, tenant: str, record_id: str, version: str, history: int) -> list[RecordFacts]:
    """The version (empty: current) at its latest revision, then up to `history` earlier revisions, newest first."""
    if not version:
        current = CURRENT.where(_latest.tenant == tenant, _latest.record_id == record_id)
        row = connection.execute(current).first()
        if row is None:
            return []
        version = row.version
    wanted = RECORD.where(_revision.tenant == tenant, _revision.record_id == record_id, _revision.version == version)
    rows = connection.execute(wanted.order_by(_revision.revision.desc()).limit(history + 1))
    return [record_facts(row) for row in rows]


def list_records(
    connection: sa.Connection,
    tenant: str,
    label: str,
    record_id: str,
    current_only: bool,
    after: tuple[str, str] | None,
    limit: int,
) -> list[RecordFacts]:
    """Latest revisions in the order (record id, version), after the given one."""
    wanted = (CURRENT if current_only else LATEST).where(_latest.tenant == tenant)
    if label:
        wanted = wanted.where(_latest.source_label == label)
    if record_id:
        wanted = wanted.where(_latest.record_id == record_id)
    if after is not None:
        wanted = wanted.where(sa.tuple_(_latest.record_id, _latest.version) > _values(_latest.record_id, *after))
    rows = connection.execute(wanted.order_by(_latest.record_id, _latest.version).limit(limit))
    return [record_facts(row) for row in rows]


def list_grants(
    connection: sa.Connection,
    tenant: str,
    principal_id: str,
    history: bool,
    after: tuple[str, str, int] | None,
    limit: int,
) -> list[GrantRow]:
    """Grants in the order (principal, scope, generation); `history`: withdrawn ones too."""
    key = (_grant.principal_id, _grant.scope, _grant.generation)
    wanted = sa.select(_grant.principal_id, *_GRANT, _IS_ENDED).where(
        _grant.tenant == tenant, sa.not_(_grant.withdrawn)
    )
    if principal_id:
        wanted = wanted.where(_grant.principal_id == principal_id)
    if not history:
        wanted = wanted.where(sa.not_(_IS_ENDED))
    if after is not None:
        place = sa.tuple_(*(sa.literal(part, column.type) for part, column in zip(after, key, strict=True)))
        wanted = wanted.where(sa.tuple_(*key) > place)
    rows = connection.execute(wanted.order_by(*key).limit(limit))
    return [GrantRow(row[0], grant_facts(row[1:6]), bool(row[6])) for row in rows]


def find_decisions(
    connection: sa.Connection, wanted: AuditFilter, before: tuple[int, int, int] | None, limit: int
) -> list[AuditHit]:
    """Decisions that match, newest first, before the cursor.

    Where a record or a label is asked for, its own narrow table leads: it is in the order of the answer already.
    """
    lead, joined = _lead(wanted)
    found = sa.select(lead.c.at, lead.c.writer, lead.c.place, _decision.decision_id, tables.audit_row.c.body)
    found = found.select_from(joined)
    for condition in _conditions(wanted, lead):
        found = found.where(condition)
    cursor = (lead.c.at, lead.c.writer, lead.c.place)
    if before is not None:
        found = found.where(sa.tuple_(*cursor) < _values(lead.c.at, *before))
    rows = connection.execute(found.order_by(*(column.desc() for column in cursor)).limit(limit))
    return [AuditHit((at, writer, place), decision_id, bytes(body)) for at, writer, place, decision_id, body in rows]


def _lead(wanted: AuditFilter) -> tuple[sa.FromClause, sa.FromClause]:
    """The table that gives the order, and the join of all that are needed."""
    lead: sa.FromClause = tables.audit_decision
    joined: sa.FromClause = tables.audit_decision
    for asked, table in (
        (wanted.source_label, tables.audit_decision_label),
        (wanted.record_id, tables.audit_decision_record),
    ):
        if asked:
            same = [table.c[name] == tables.audit_decision.c[name] for name in ("tenant", "at", "writer", "place")]
            joined = joined.join(table, sa.and_(*same))
            lead = table
    row = tables.audit_row.c
    body = sa.and_(row.writer == _decision.writer, row.n == _decision.n, row.ordinal == _decision.ordinal)
    return lead, joined.join(tables.audit_row, body)


def _conditions(wanted: AuditFilter, lead: sa.FromClause) -> list[sa.ColumnElement[bool]]:
    label, record = tables.audit_decision_label.c, tables.audit_decision_record.c
    conditions: list[sa.ColumnElement[bool]] = []
    if wanted.source_label:
        conditions.append(label.label == wanted.source_label)
    if wanted.record_id:
        conditions.append(record.record_id == wanted.record_id)
    if wanted.tenants is not None:
        one = len(wanted.tenants) == 1  # equality keeps the order of the index, a list does not
        conditions.append(lead.c.tenant == wanted.tenants[0] if one else lead.c.tenant.in_(wanted.tenants))
    if wanted.reasons:
        conditions.append(_decision.reason.in_(wanted.reasons))
    if wanted.since is not None:
        conditions.append(lead.c.at >= wanted.since)
    if wanted.until is not None:
        conditions.append(lead.c.at < wanted.until)
    equal = ("principal_id", "session_id", "verdict", "rule", "moment", "policy_revision", "decision_id")
    conditions += [_decision[name] == getattr(wanted, name) for name in equal if getattr(wanted, name)]
    return conditions


def _values(column: sa.ColumnElement[Any], *values: object) -> sa.Tuple:
    return sa.tuple_(*(sa.literal(value, column.type) for value in values))
