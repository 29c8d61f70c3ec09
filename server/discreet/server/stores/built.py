"""What was built on records, looked up over either database: it falls with them. Decides nothing, writes nothing."""

from collections.abc import Sequence

import sqlalchemy as sa

from discreet.policy.facts import Ref, Target
from discreet.server.stores import tables
from discreet.server.stores.transaction import parts

_built = tables.record_root.c
_BY_LABEL = {"sqlite": " INDEXED BY record_latest_label", "postgresql": ""}
_ON_SOURCE = (
    "SELECT DISTINCT b.record_id, b.version FROM record_latest s{label} CROSS JOIN record_revision v"
    " CROSS JOIN record_root b WHERE s.source_label = :label AND s.tenant = :tenant AND v.tenant = s.tenant"
    " AND v.record_id = s.record_id AND v.version = s.version AND v.revision = s.revision AND v.revoked IS NULL"
    " AND b.tenant = :tenant AND b.root_id = s.record_id AND b.root_version = s.version"
)
_HELD_WITH_SOURCE = (
    "SELECT DISTINCT b.record_id, b.version FROM record_latest s{label} CROSS JOIN record_root b"
    " WHERE s.source_label = :label AND s.tenant = :tenant"
    " AND b.tenant = :tenant AND b.root_id = s.record_id AND b.root_version = s.version"
)
"""Written out in the order in which it is to be looked up, as in `discreet.server.stores.covering`."""


def built_on(connection: sa.Connection, tenant: str, refs: Sequence[Ref], label: str) -> tuple[Ref, ...]:
    """Versions with any of the versions behind them, or any not revoked itself under the label."""
    found: set[Ref] = set()
    for some in parts(dict.fromkeys(refs)):
        found |= _on(connection, tenant, _of_roots(some))
    if label:
        found |= _under(connection, tenant, _ON_SOURCE, label)
    return tuple(sorted(found))


def built_on_target(connection: sa.Connection, tenant: str, target: Target) -> tuple[Ref, ...]:
    """Versions with anything behind them that a hold on the target covers: they are kept with it."""
    if target.label:
        return tuple(sorted(_under(connection, tenant, _HELD_WITH_SOURCE, target.label)))
    root = _built.root_id == target.record_id
    one = sa.and_(root, _built.root_version == target.version) if target.version else root
    return tuple(sorted(_on(connection, tenant, one)))


def _on(connection: sa.Connection, tenant: str, roots: sa.ColumnElement[bool]) -> set[Ref]:
    wanted = sa.select(_built.record_id, _built.version).where(_built.tenant == tenant, roots)
    return {Ref(row[0], row[1]) for row in connection.execute(wanted)}


def _under(connection: sa.Connection, tenant: str, statement: str, label: str) -> set[Ref]:
    wanted = sa.text(statement.format(label=_BY_LABEL[connection.dialect.name]))
    return {Ref(row[0], row[1]) for row in connection.execute(wanted, {"tenant": tenant, "label": label})}


def _of_roots(refs: Sequence[Ref]) -> sa.ColumnElement[bool]:
    by_id: dict[str, list[str]] = {}
    for ref in refs:
        by_id.setdefault(ref.record_id, []).append(ref.version)
    each = (sa.and_(_built.root_id == name, _built.root_version.in_(listed)) for name, listed in by_id.items())
    return sa.or_(*each)
