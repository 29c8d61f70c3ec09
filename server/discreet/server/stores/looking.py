"""Reads what follows from revocations, without writing: lists for people and for holders, in SQLAlchemy Core.

`discreet.server.ports_authority.Look` is the contract. Runs in one read transaction of the connection that it is given.
"""

import sqlalchemy as sa

from discreet.policy.facts import Micros, Standing
from discreet.server.ports_authority import HolderRow
from discreet.server.stores import queries
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

    def holders(self, tenant: str, *, removed: bool = False) -> tuple[HolderRow, ...]:
        """Holders in the order of their names."""
        return read_holders(self._connection, tenant, removed=removed)
