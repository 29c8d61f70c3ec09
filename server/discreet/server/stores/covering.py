"""What a revoke or a hold covers, looked up over either database, in SQLAlchemy Core. Decides nothing, writes nothing.

Every function runs in the transaction of the connection that it is given.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Micros, Ref, Target
from discreet.policy.words import PurgeItemKind, PurgeOutcome, PurgeState
from discreet.server.ports_authority import HeldPart, Resting, Under
from discreet.server.stores import tables
from discreet.server.stores import tables_authority as kept
from discreet.server.stores.rows import revoke_of
from discreet.server.stores.transaction import parts

_latest = tables.record_latest.c
_revision = tables.record_revision.c
_root = tables.ledger_root.c
_ledger = tables.ledger.c
_item = kept.purge_item.c
_part = kept.purge_part.c
_answer = kept.purge_answer.c
_LAST_ANSWER = sa.and_(
    _answer.order_id == _part.order_id,
    _answer.item == _part.item,
    _answer.holder == _part.holder,
    _answer.n == _part.answers,
)

_REVISION_OF_LATEST = sa.and_(
    _latest.tenant == _revision.tenant,
    _latest.record_id == _revision.record_id,
    _latest.version == _revision.version,
    _latest.revision == _revision.revision,
)
_LATEST_OF_ROOT = sa.and_(
    _latest.tenant == _root.tenant, _latest.record_id == _root.record_id, _latest.version == _root.version
)


def under(connection: sa.Connection, tenant: str, label: str) -> tuple[Under, ...]:
    """Every record version under a label, in the order of record id and version; read narrow, since it may be many."""
    columns = (_latest.record_id, _latest.version, _revision.digest, _revision.revoked)
    wanted = (
        sa.select(*columns)
        .join_from(tables.record_latest, tables.record_revision, _REVISION_OF_LATEST)
        .where(_latest.tenant == tenant, _latest.source_label == label)
        .order_by(_latest.record_id, _latest.version)
    )
    return tuple(Under(Ref(row[0], row[1]), row[2], revoke_of(row[3])) for row in connection.execute(wanted))


def resting(connection: sa.Connection, tenant: str, refs: Sequence[Ref], label: str) -> tuple[Resting, ...]:
    """Committed segments with any of the versions, or any under the label that has no revoke of its own, as roots."""
    found: dict[str, Resting] = {}
    joined = tables.ledger_root.join(
        tables.ledger, sa.and_(_ledger.ledger_id == _root.ledger_id, _ledger.tenant == _root.tenant)
    )
    chosen = sa.select(_ledger.ledger_id, _ledger.segment_digest, _ledger.store_by).distinct()
    chosen = chosen.where(_root.tenant == tenant)
    statements = [chosen.select_from(joined).where(_of_refs(part)) for part in parts(dict.fromkeys(refs))]
    if label:
        beneath = joined.join(tables.record_latest, _LATEST_OF_ROOT).join(tables.record_revision, _REVISION_OF_LATEST)
        mine = (_latest.source_label == label, _revision.revoked.is_(None))
        statements.append(chosen.select_from(beneath).where(*mine))
    for statement in statements:
        found |= {row[0]: Resting(row[0], row[1], Micros(row[2])) for row in connection.execute(statement)}
    return tuple(found[name] for name in sorted(found))


def _of_refs(refs: Sequence[Ref]) -> sa.ColumnElement[bool]:
    """Roots that are any of the versions: by record id, which both databases look up, then by version."""
    by_id: dict[str, list[str]] = {}
    for ref in refs:
        by_id.setdefault(ref.record_id, []).append(ref.version)
    return sa.or_(*(sa.and_(_root.record_id == name, _root.version.in_(listed)) for name, listed in by_id.items()))


def held_parts(connection: sa.Connection, tenant: str, target: Target) -> tuple[HeldPart, ...]:
    """Every holder's items that a hold on the target covers: the records themselves, and segments that rest on them."""
    columns = (_part.order_id, _part.item, _part.holder, _part.state, _answer.outcome)
    joined = kept.purge_part.join(kept.purge_item, sa.and_(_item.order_id == _part.order_id, _item.item == _part.item))
    joined = joined.outerjoin(kept.purge_answer, _LAST_ANSWER)
    chosen = sa.select(*columns).select_from(joined).where(_item.tenant == tenant)
    found = [row for covered in _covered(target) for row in connection.execute(chosen.where(covered))]
    return tuple(_held_part(row) for row in sorted(found, key=lambda row: (row[0], row[1], row[2])))


def _held_part(row: Sequence[Any]) -> HeldPart:
    said = None if row[4] is None else PurgeOutcome(row[4])
    return HeldPart(row[0], row[1], row[2], PurgeState(row[3]), said)


def _covered(target: Target) -> Iterator[sa.ColumnElement[bool]]:
    rests_on = [_root.tenant == _item.tenant, _root.ledger_id == _item.ledger_id]
    if target.label:
        mine = _item.label == target.label
        rests_on += [_LATEST_OF_ROOT, _latest.source_label == target.label]
    else:
        mine = _item.record_id == target.record_id
        rests_on.append(_root.record_id == target.record_id)
        if target.version:
            mine = sa.and_(mine, _item.version == target.version)
            rests_on.append(_root.version == target.version)
    yield sa.and_(_item.kind == int(PurgeItemKind.RECORD), mine)
    yield sa.and_(_item.kind == int(PurgeItemKind.SEGMENT), sa.exists().where(*rests_on))
