"""What was built on records, looked up over either database: it falls with them. Decides nothing, writes nothing.

Written out in the order in which it is to be looked up, as in `discreet.server.stores.covering`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from discreet.policy.facts import Ref, Target
from discreet.policy.words import PurgeItemKind
from discreet.server.ports_authority import Built
from discreet.server.stores.rows import canonical
from discreet.server.stores.transaction import parts

_EACH = {"sqlite": "json_each(:refs)", "postgresql": "json_array_elements(CAST(:refs AS json))"}
_BY_LABEL = {"sqlite": " INDEXED BY record_latest_label", "postgresql": ""}
_FOUND = (
    " CROSS JOIN record_root b CROSS JOIN record_latest l CROSS JOIN record_revision r"
    " WHERE l.tenant = b.tenant AND l.record_id = b.record_id AND l.version = b.version"
    " AND r.tenant = l.tenant AND r.record_id = l.record_id AND r.version = l.version AND r.revision = l.revision"
    " AND r.revoked IS NULL AND b.tenant = :tenant"
)
_COLUMNS = "SELECT DISTINCT b.record_id, b.version, r.digest, l.source_label FROM "
_ON_VERSIONS = (
    f"{_COLUMNS}{{each}} AS wanted{_FOUND} AND b.root_id = wanted.value ->> 0 AND b.root_version = wanted.value ->> 1"
)
_ON_SOURCE = (
    f"{_COLUMNS}record_latest s{{label}} CROSS JOIN record_revision v{_FOUND}"
    " AND s.source_label = :label AND s.tenant = :tenant AND v.tenant = s.tenant AND v.record_id = s.record_id"
    " AND v.version = s.version AND v.revision = s.revision AND v.revoked IS NULL"
    " AND b.root_id = s.record_id AND b.root_version = s.version"
)
_PARTS = (
    " CROSS JOIN purge_item i CROSS JOIN purge_part p LEFT JOIN purge_answer a ON a.order_id = p.order_id"
    " AND a.item = p.item AND a.holder = p.holder AND a.n = p.answers"
    " WHERE b.tenant = :tenant AND i.tenant = b.tenant AND i.record_id = b.record_id AND i.version = b.version"
    f" AND i.kind = {int(PurgeItemKind.RECORD)} AND p.order_id = i.order_id AND p.item = i.item"
)
_PART = "SELECT DISTINCT p.order_id, p.item, p.holder, p.state, a.outcome FROM "


def built_on(connection: sa.Connection, tenant: str, refs: Sequence[Ref], label: str) -> tuple[Built, ...]:
    """Versions with any of the versions behind them, or any not revoked itself under the label."""
    dialect = connection.dialect.name
    found: dict[Ref, Built] = {}
    for row in _rows_on(connection, tenant, refs):
        found[Ref(row[0], row[1])] = Built(Ref(row[0], row[1]), row[2], row[3])
    if label:
        statement = sa.text(_ON_SOURCE.format(label=_BY_LABEL[dialect]))
        for row in connection.execute(statement, {"tenant": tenant, "label": label}):
            found[Ref(row[0], row[1])] = Built(Ref(row[0], row[1]), row[2], row[3])
    return tuple(found[ref] for ref in sorted(found))


def _rows_on(connection: sa.Connection, tenant: str, refs: Sequence[Ref]) -> Iterator[Sequence[Any]]:
    statement = sa.text(_ON_VERSIONS.format(each=_EACH[connection.dialect.name]))
    for some in parts(dict.fromkeys(refs)):
        yield from connection.execute(statement, {"tenant": tenant, "refs": canonical(some)})


def parts_built_on(connection: sa.Connection, tenant: str, target: Target) -> Sequence[Sequence[Any]]:
    """Holders' items of records that were built on what a hold is on: they are kept with it."""
    values: Mapping[str, str] = {"tenant": tenant}
    if target.label:
        lead = f"record_latest s{_BY_LABEL[connection.dialect.name]} CROSS JOIN record_root b"
        asked = " AND s.source_label = :label AND s.tenant = :tenant AND b.root_id = s.record_id"
        asked += " AND b.root_version = s.version"
        values = {**values, "label": target.label}
    else:
        lead, asked = "record_root b", " AND b.root_id = :record_id"
        values = {**values, "record_id": target.record_id}
        if target.version:
            asked += " AND b.root_version = :version"
            values = {**values, "version": target.version}
    return connection.execute(sa.text(f"{_PART}{lead}{_PARTS}{asked}"), dict(values)).all()
