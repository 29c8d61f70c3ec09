"""Reads what follows from revocations, without writing: lists for people and for holders, in SQLAlchemy Core.

`discreet.server.ports_authority.Look` is the contract. Runs in one read transaction of the connection that it is given.
"""

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from discreet.policy.facts import Micros, Standing
from discreet.server.ports_authority import ApprovalRow, HolderRow, Released, TombstoneFilter, TombstoneRow
from discreet.server.ports_purge import PurgeLook
from discreet.server.stores import queries, tables, tables_authority
from discreet.server.stores.authority_work import read_approvals, read_tombstones
from discreet.server.stores.purge_look import SqlPurgeLook
from discreet.server.stores.purge_work import read_holders


class SqlLook:
    """One state of the database; see the port."""

    def __init__(self, connection: sa.Connection, now: Micros) -> None:
        self._connection = connection
        self._now = now

    @property
    def now(self) -> Micros:
        """The database's clock."""
        return self._now

    def standing(self, tenant: str) -> Standing:
        """What stands for the tenant, that for every tenant included."""
        return queries.standing(self._connection, tenant)

    def tombstones(self, tenant: str, wanted: TombstoneFilter, after: str, limit: int) -> tuple[TombstoneRow, ...]:
        """Tombstones that fit, in the order of their ids, after the given one."""
        return read_tombstones(self._connection, tenant, wanted, after, limit)

    def approvals(self, tenant: str, settled: bool, before: int | None, limit: int) -> tuple[ApprovalRow, ...]:
        """Changes that wait, with `settled` also the others; newest first, before the given number."""
        return read_approvals(self._connection, tenant, settled, before, self._now, limit)

    def holders(self, tenant: str, *, removed: bool = False) -> tuple[HolderRow, ...]:
        """Holders in the order of their names."""
        return read_holders(self._connection, tenant, removed=removed)

    def released(self, tenant: str, ledger_ids: Sequence[str]) -> Mapping[str, Released]:
        """Those of the ids that are in the ledger, with whose they are and whether they were reported as shown."""
        entry, shown = tables.ledger.c, tables_authority.ledger_shown
        mine = sa.and_(shown.c.tenant == entry.tenant, shown.c.ledger_id == entry.ledger_id)
        wanted = (
            sa.select(entry.ledger_id, entry.principal_id, entry.session_id, shown.c.at.is_not(None))
            .select_from(tables.ledger.outerjoin(shown, mine))
            .where(entry.tenant == tenant, entry.ledger_id.in_(ledger_ids))
        )
        found = self._connection.execute(wanted)
        return {name: Released(principal, session, bool(is_shown)) for name, principal, session, is_shown in found}

    @property
    def purges(self) -> PurgeLook:
        """Purge orders and what became of them."""
        return SqlPurgeLook(self._connection, self._now)
