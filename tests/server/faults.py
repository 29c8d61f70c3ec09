"""A real store whose answers can be held back or made to fail, to see what the server does then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from discreet.policy.facts import FactIds, Facts, Micros, RecordFacts
from discreet.server.ports import Adoption, AuditRecord, Change, Head, Job, JobOutcome, NaturalKey, Store, Work
from discreet.server.ports_authority import Look
from discreet.server.ports_found import ActFilter, ActHit, AuditFilter, AuditHit, ChainHeads, GrantRow
from discreet.server.ports_policy import Beat, Pin, PolicyName, PolicyRow, Revision, ServerRow

T = TypeVar("T")


class FaultyStore:
    """Passes everything on to the store inside.

    A method in `broken` raises its error; one in `held` waits for its event first; `before` runs something of the test
    just before a method does its work.
    """

    def __init__(self, inside: Store) -> None:
        self._inside = inside
        self.broken: dict[str, Exception] = {}
        self.held: dict[str, asyncio.Event] = {}
        self.after: dict[str, Exception] = {}
        """Methods that do their work and then raise: the answer is lost on the way."""
        self.before: dict[str, Callable[[], object]] = {}
        self.calls: list[str] = []

    async def _pass(self, name: str) -> None:
        self.calls.append(name)
        hook = self.before.pop(name, None)
        if hook is not None:
            result = hook()
            if asyncio.iscoroutine(result):
                await result
        if name in self.held:
            await self.held[name].wait()
        if name in self.broken:
            raise self.broken[name]

    @property
    def kind(self) -> str:
        """That of the store inside."""
        return self._inside.kind

    async def open(self) -> Head:
        """See the port, here and below."""
        return await self._inside.open()

    async def close(self) -> None:
        await self._inside.close()

    async def head(self) -> Head:
        await self._pass("head")
        return await self._inside.head()

    async def adoptions(self) -> list[Adoption]:
        return await self._inside.adoptions()

    async def changes(self, after: int, limit: int) -> list[Change]:
        await self._pass("changes")
        return await self._inside.changes(after, limit)

    async def fetch(self, tenant: str, ids: FactIds) -> Facts:
        await self._pass("fetch")
        return await self._inside.fetch(tenant, ids)

    async def find_commits(self, keys: Sequence[NaturalKey]) -> Mapping[NaturalKey, tuple[str, bytes]]:
        await self._pass("find_commits")
        return await self._inside.find_commits(keys)

    async def record(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        await self._pass("record")
        found = await self._inside.record(jobs)
        if "record" in self.after:
            raise self.after["record"]
        return found

    async def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int:
        await self._pass("drain")
        found = await self._inside.drain(name, first, records)
        if "drain" in self.after:
            raise self.after["drain"]
        return found

    async def change(self, work: Callable[[Work], T]) -> T:
        await self._pass("change")
        return await self._inside.change(work)

    async def look(self, read: Callable[[Look], T]) -> T:
        await self._pass("look")
        return await self._inside.look(read)

    async def get_record(self, tenant: str, record_id: str, version: str, history: int) -> list[RecordFacts]:
        await self._pass("get_record")
        return await self._inside.get_record(tenant, record_id, version, history)

    async def list_records(
        self, tenant: str, label: str, record_id: str, current_only: bool, after: tuple[str, str] | None, limit: int
    ) -> list[RecordFacts]:
        return await self._inside.list_records(tenant, label, record_id, current_only, after, limit)

    async def list_grants(
        self, tenant: str, principal_id: str, history: bool, after: tuple[str, str, int] | None, limit: int
    ) -> list[GrantRow]:
        return await self._inside.list_grants(tenant, principal_id, history, after, limit)

    async def find_decisions(
        self, wanted: AuditFilter, before: tuple[int, int, int] | None, limit: int
    ) -> list[AuditHit]:
        return await self._inside.find_decisions(wanted, before, limit)

    async def find_acts(self, wanted: ActFilter, before: tuple[int, int, int] | None, limit: int) -> list[ActHit]:
        return await self._inside.find_acts(wanted, before, limit)

    async def chain_heads(self) -> ChainHeads:
        return await self._inside.chain_heads()

    async def policy_row(self, number: int) -> PolicyRow | None:
        await self._pass("policy_row")
        return await self._inside.policy_row(number)

    async def policy_name(self, number: int) -> PolicyName | None:
        await self._pass("policy_name")
        return await self._inside.policy_name(number)

    async def revisions(self, before: int | None, limit: int) -> list[Revision]:
        await self._pass("revisions")
        return await self._inside.revisions(before, limit)

    async def pins(self) -> tuple[Pin, ...]:
        await self._pass("pins")
        return await self._inside.pins()

    async def beat(self, beat: Beat) -> bool:
        await self._pass("beat")
        return await self._inside.beat(beat)

    async def servers(self, within: int) -> tuple[Micros, Sequence[ServerRow]]:
        await self._pass("servers")
        return await self._inside.servers(within)

    async def server(self, instance: str) -> ServerRow | None:
        await self._pass("server")
        return await self._inside.server(instance)
