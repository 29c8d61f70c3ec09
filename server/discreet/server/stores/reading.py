"""The part of the store port that is the same on every database: plain queries. Must not open connections."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import sqlalchemy as sa

from discreet.policy.facts import Micros, RecordFacts
from discreet.server.ports import Adoption, Change, NaturalKey
from discreet.server.ports_authority import Look
from discreet.server.ports_found import ActFilter, ActHit, AuditFilter, AuditHit, ChainHead, ChainHeads, GrantRow
from discreet.server.ports_policy import Pin, PolicyName, PolicyRow, Revision, ServerRow
from discreet.server.stores import acts, adoptions, policies, queries
from discreet.server.stores.looking import SqlLook
from discreet.server.stores.writers import unnamed_heads

T = TypeVar("T")


class Reading(ABC):
    """Answers the port's queries, given a way to run one on a connection that cannot write."""

    @abstractmethod
    async def _query(self, ask: Callable[[sa.Connection], T]) -> T:
        """What `ask` returns, run off the event loop."""

    @abstractmethod
    def _time(self, connection: sa.Connection) -> Micros:
        """The database's clock."""

    async def look(self, read: Callable[[Look], T]) -> T:
        """What `read` returns, given one state of what follows from revocations; it can write nothing."""
        return await self._query(lambda connection: read(SqlLook(connection, self._time(connection))))

    async def adoptions(self) -> list[Adoption]:
        """How the database came by its epoch, the newest adoption first."""
        return await self._query(adoptions.read_adoptions)

    async def changes(self, after: int, limit: int) -> list[Change]:
        """Events that changed facts, with seq > after, in order."""
        return await self._query(lambda connection: queries.changes(connection, after, limit))

    async def find_commits(self, keys: Sequence[NaturalKey]) -> Mapping[NaturalKey, tuple[str, bytes]]:
        """Ledger id and fingerprint of keys that are committed."""
        return await self._query(lambda connection: queries.find_commits(connection, keys))

    async def get_record(self, tenant: str, record_id: str, version: str, history: int) -> list[RecordFacts]:
        """The version at its latest revision, then earlier revisions, newest first."""
        return await self._query(lambda connection: queries.get_record(connection, tenant, record_id, version, history))

    async def list_records(
        self, tenant: str, label: str, record_id: str, current_only: bool, after: tuple[str, str] | None, limit: int
    ) -> list[RecordFacts]:
        """Latest revisions in the order (record id, version), after the given one."""
        return await self._query(
            lambda connection: queries.list_records(connection, tenant, label, record_id, current_only, after, limit)
        )

    async def list_grants(
        self, tenant: str, principal_id: str, history: bool, after: tuple[str, str, int] | None, limit: int
    ) -> list[GrantRow]:
        """Grants in the order (principal, scope, generation)."""
        return await self._query(
            lambda connection: queries.list_grants(connection, tenant, principal_id, history, after, limit)
        )

    async def find_decisions(
        self, wanted: AuditFilter, before: tuple[int, int, int] | None, limit: int
    ) -> list[AuditHit]:
        """Decisions that match, newest first, before the cursor."""
        return await self._query(lambda connection: queries.find_decisions(connection, wanted, before, limit))

    async def find_acts(self, wanted: ActFilter, before: tuple[int, int, int] | None, limit: int) -> list[ActHit]:
        """Rows without decisions that match, newest first, before the cursor."""
        return await self._query(lambda connection: acts.find_acts(connection, wanted, before, limit))

    async def chain_heads(self) -> ChainHeads:
        """The ends of the audit chain that no link names, with the epoch and the database's clock."""

        def ask(connection: sa.Connection) -> ChainHeads:
            head, _ = queries.read_head(connection, self._time(connection))
            ends = unnamed_heads(connection)
            return ChainHeads(head.epoch, head.now, tuple(ChainHead(str(a), int(str(n)), str(h)) for a, n, h in ends))

        return await self._query(ask)

    async def policy_row(self, number: int) -> PolicyRow | None:
        """A published revision; 0: the one in force."""
        return await self._query(lambda connection: policies.policy_row(connection, number))

    async def policy_name(self, number: int) -> PolicyName | None:
        """A published revision without its bundle; 0: the one in force."""
        return await self._query(lambda connection: policies.policy_name(connection, number))

    async def revisions(self, before: int | None, limit: int) -> list[Revision]:
        """Published revisions, newest first, below the given number."""
        return await self._query(lambda connection: policies.revisions(connection, before, limit))

    async def pins(self) -> tuple[Pin, ...]:
        """What is pinned out, newest first."""
        return await self._query(policies.pins)

    async def servers(self, within: int) -> tuple[Micros, Sequence[ServerRow]]:
        """The database's clock, and the servers seen within so many microseconds before it, by instance."""

        def ask(connection: sa.Connection) -> tuple[Micros, Sequence[ServerRow]]:
            now = self._time(connection)
            return now, policies.servers(connection, now - within)

        return await self._query(ask)

    async def server(self, instance: str) -> ServerRow | None:
        """The last that is known of a server of that name."""
        return await self._query(lambda connection: policies.server(connection, instance))
