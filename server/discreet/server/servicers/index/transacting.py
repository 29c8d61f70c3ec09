"""Index transactions of calls.

Under the policy revision in force, within the time that there is, with their audit rows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import NamedTuple, TypeVar

from discreet.policy.facts import RecordFacts, Ref, Standing
from discreet.policy.idents import skeleton
from discreet.policy.snapshot import Snapshot
from discreet.policy.words import AuditAct, Reason, Role
from discreet.server.auditing import Change, row_of
from discreet.server.calls import Call
from discreet.server.errors import Denied, NotFound, Precondition, Unavailable
from discreet.server.policies.follower import Policies
from discreet.server.ports import Head, Store, Work

T = TypeVar("T")

TRIES_MAX = 5


class _PolicyMoved(Exception):
    """The revision that entitlements were to be read from is not the one in force."""

    def __init__(self, number: int) -> None:
        self.number = number


class Edit(NamedTuple):
    """A change of one record. `settles`: what an operator who makes it decides for good ("" where nothing is)."""

    settles: str
    apply: Callable[[Work, RecordFacts], RecordFacts]


class Transacting:
    """Runs the index's changes."""

    def __init__(
        self, store: Store, policies: Policies, instance: str, timeout_s: float, ring: Callable[[], None]
    ) -> None:
        self.store = store
        self._ring = ring
        self._policies = policies
        self._instance = instance
        self._timeout_s = timeout_s

    async def change(self, call: Call, work: Callable[[Work, Snapshot | None], T]) -> T:
        """The result of `work` in one transaction; for a collector with the snapshot that is in force in it.

        An operator's rights follow from no policy: a revoke goes through while none can be loaded. The bell rings
        however it ends, since what seems to have failed may have been written.
        """
        try:
            return await self._change(call, work)
        finally:
            self._ring()

    async def _change(self, call: Call, work: Callable[[Work, Snapshot | None], T]) -> T:
        if call.caller.role is not Role.COLLECTOR:
            return await self._within(call, self.store.change(lambda index: work(index, None)))
        for _ in range(TRIES_MAX):
            snapshot = self._policies.snapshot
            if snapshot is None:
                raise Unavailable("no policy revision is in force yet; nothing was written")
            try:
                return await self._within(call, self.store.change(_under(snapshot, work)))
            except _PolicyMoved as moved:
                await self._within(call, self._policies.at_least(moved.number))
        raise Unavailable("the policy kept changing; nothing was written, repeat the call")

    async def read(self, call: Call, read: Awaitable[T]) -> T:
        """The result of a read, within the time that there is."""
        return await self._within(call, read)

    async def _within(self, call: Call, work: Awaitable[T]) -> T:
        async with asyncio.timeout(call.time_left_s(self._timeout_s)):
            return await work

    def audit(self, index: Work, call: Call, tenant: str, changes: Iterable[Change]) -> None:
        """Puts changes, and refusals, on record in this transaction."""
        for change in changes:
            act = AuditAct.REFUSED if change.refused is Reason.COLLECTOR_NOT_ENTITLED else AuditAct.CHANGE
            seq = 0 if change.refused is not None else index.head.seq
            index.audit(row_of(call, act, tenant, index.now, self._instance, replace(change, seq=seq)))

    def edit(
        self,
        index: Work,
        call: Call,
        tenant: str,
        ref: Ref,
        snapshot: Snapshot | None,
        edit: Edit,
        change: Change,
    ) -> Head:
        """Writes the edited record as a new revision, or nothing where the edit changes nothing."""
        record = held(index, tenant, ref)
        require_keeper(call, tenant, record, snapshot)
        require_standing(record, index.authority.standing(tenant))
        edited = edit.apply(index, record)
        if edited != record and call.caller.role is Role.COLLECTOR and edit.settles in record.settled:
            raise Precondition(f"record: an operator decided its {edit.settles}, which stays; ask one to change it")
        if edit.settles and call.caller.role is not Role.COLLECTOR:
            edited = replace(edited, settled=tuple(sorted({*record.settled, edit.settles})))
        if edited != record:
            index.write_records(
                tenant, [(replace(edited, recorded_at=index.now, step=call.name), skeleton(ref.record_id))]
            )
            self.audit(index, call, tenant, [change])
        return index.head


def _under(snapshot: Snapshot, work: Callable[[Work, Snapshot], T]) -> Callable[[Work], T]:
    def checked(index: Work) -> T:
        if index.head.policy_revision != snapshot.number:
            raise _PolicyMoved(index.head.policy_revision)
        return work(index, snapshot)

    return checked


def held(index: Work, tenant: str, ref: Ref, path: str = "record") -> RecordFacts:
    """The record version. NotFound where the index holds none."""
    record = index.record(tenant, ref)
    if record is None:
        raise NotFound(f"{path}: the index holds no such version for this tenant")
    return record


def require_keeper(call: Call, tenant: str, record: RecordFacts, snapshot: Snapshot | None) -> None:
    """Raises Denied where a collector is not one of the record's label; operators may."""
    if call.caller.role is not Role.COLLECTOR:
        return
    source = snapshot.sources.get(record.source_label) if snapshot is not None else None
    if source is None or call.caller.name not in source.collectors:
        message = f"record: SourceList does not map its label to the collector {call.caller.name}"
        raise Denied(message, tenant=tenant, reason=Reason.COLLECTOR_NOT_ENTITLED)


def require_standing(record: RecordFacts, standing: Standing) -> None:
    """Raises Precondition for a version whose retention is revoked, itself or with its source.

    That is final, and nothing changes it.
    """
    if standing.revoke_of(record) is None:
        return
    what = "its retention" if record.revoked is not None else "the retention of its source"
    raise Precondition(f"record: TOMBSTONED: {what} is revoked, which is final; it cannot be changed")
