"""Plays a run of the model on a real store, one statement after the other, and compares everything that it says."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

from discreet.policy.facts import FactIds, Facts, Freeze, GrantFacts, Hold, Micros, RecordFacts, Ref, Revoke, Target
from discreet.policy.words import PurgeItemKind
from discreet.server import ports
from discreet.server.ports import Head, Job, NaturalKey, Store, Work
from discreet.server.ports_authority import ItemRow, OrderRow
from discreet.server.ports_policy import Origin, PolicyRow
from discreet.server.servicers.authority.covering import Covered, cover
from discreet.server.servicers.authority.extents import Extent
from discreet.v1 import audit_pb2, disclosure_pb2
from tests.contract.making import entry, job, record
from tests.history.world import label_of
from tests.model.authority import (
    RECORDS,
    A,
    B,
    Does,
    Exists,
    Offered,
    Overtaken,
    Recorded,
    Segment,
    State,
)
from tests.model.exploring import Process, Replay, Run, Step

READER, DESK = "reader", "desk"
FOREVER = Micros(2**60)


class Seen(NamedTuple):
    """What a commit read."""

    head: Head
    facts: Facts


@dataclass(slots=True)
class Played:
    """A run on a store, in a tenant and on records of its own."""

    store: Store
    number: int
    start: Head | None = None
    seen: dict[int, Seen] = field(default_factory=dict)
    ledger_ids: dict[str, str] = field(default_factory=dict)

    @property
    def tenant(self) -> str:
        """The tenant of this run alone."""
        return f"t{self.number}"

    def ref(self, name: str) -> Ref:
        """The record that the model knows by a name."""
        return Ref(f"b{self.number:04}/r{RECORDS.index(name):02}", "1")

    @property
    def label(self) -> str:
        """The source of both."""
        return label_of(self.ref(A).record_id)

    async def play(self, processes: Sequence[Process], run: Run) -> None:
        """Takes every step; AssertionError where the store says something else."""
        await self.store.change(self._furnish)
        self.start = await self.store.head()
        for step in run:
            process = processes[step.process]
            if isinstance(process, Does):
                await self.store.change(partial(self._change, process))
            elif isinstance(process, Replay):
                await self._replay(process.key, step)
            elif step.what == "read":
                await self._read(step, process.segment)
            else:
                assert await self._offer(step, process.segment) == step.gives, step
            await self._agrees(step.after)

    def _furnish(self, work: Work) -> None:
        given = [replace(record(self.ref(name).record_id), source_label=self.label) for name in RECORDS]
        work.write_records(self.tenant, [(one, one.record_id) for one in given])
        work.write_grant(self.tenant, READER, GrantFacts(DESK, 1, 0, work.now))

    async def _agrees(self, state: State) -> None:
        head, start = await self.store.head(), self.start
        assert start is not None
        policy = head.policy_revision - start.policy_revision
        moved = head.changed_seq - start.seq if head.changed_seq != start.changed_seq else 0
        assert (head.seq - start.seq, moved, policy) == (state.seq, state.changed, state.policy), state

    async def _read(self, step: Step, segment: Segment) -> None:
        head = await self.store.head()
        ids = FactIds(tuple(self.ref(name) for name in segment.rests_on), READER)
        facts = await self.store.fetch(self.tenant, ids)
        self.seen[step.process] = Seen(head, facts)
        self._same(facts, step.before, segment.rests_on)

    async def _replay(self, key: str, step: Step) -> None:
        ledger_id = self.ledger_ids.get(key)
        assert (ledger_id is None) == (step.gives is None)
        if ledger_id is None:
            return
        facts = await self.store.fetch(self.tenant, FactIds((), READER, (ledger_id,)))
        entry_of = step.before.entry(key)
        assert entry_of is not None
        assert facts.ledger[ledger_id].roots == tuple(self.ref(name) for name in entry_of.rests_on)
        self._same(facts, step.before, entry_of.rests_on)

    def _same(self, facts: Facts, state: State, names: Sequence[str]) -> None:
        """The facts that were read are those of the model's state."""
        assert self.start is not None
        for name in names:
            found, known = facts.records[self.ref(name)], state.record(name)
            assert (found.revoked is not None, found.suspended) == (bool(known.order), known.suspended), state
            assert (found.superseded_by is not None) == known.superseded
            assert max(found.revision - self.start.seq, 0) == known.revision
        assert max(facts.grants.revision - self.start.seq, 0) == state.grants
        assert bool(facts.grants.grants) == state.granted
        stands = facts.standing
        assert max(stands.revision - self.start.seq, 0) == state.standing
        assert (len(stands.freezes), sum(map(len, stands.holds.values()))) == (state.frozen, state.held)
        assert (self.label in stands.revoked_sources) == bool(state.source_order)

    async def _offer(self, step: Step, segment: Segment) -> Offered:
        seen = self.seen[step.process]
        bases = tuple((ref, seen.facts.records[ref].revision) for ref in map(self.ref, segment.rests_on))
        key = NaturalKey(self.tenant, "s", segment.key, "s1")
        made = replace(entry(*bases, key=key, fingerprint=segment.fingerprint.encode() * 8), principal_id=READER)
        asked = job(seen.head, made)
        asked = replace(
            asked,
            grants=(self.tenant, READER, seen.facts.grants.revision),
            standing=(self.tenant, seen.facts.standing.revision),
        )
        (outcome,) = await self.store.record([_audited(asked)])
        if isinstance(outcome, ports.Recorded):
            self.ledger_ids[segment.key] = made.ledger_id
        return self._outcome(outcome, segment)

    def _outcome(self, outcome: ports.JobOutcome, segment: Segment) -> Offered:
        assert self.start is not None
        if isinstance(outcome, ports.Recorded):
            return Recorded(outcome.seq - self.start.seq)
        if isinstance(outcome, ports.Exists):
            return Exists(outcome.same)
        assert not outcome.expired
        names = tuple(name for name in segment.rests_on if self.ref(name) in outcome.records)
        assert len(names) == len(outcome.records)
        return Overtaken(outcome.policy, outcome.grants, outcome.standing, names)

    # --- changes, as the server makes them

    def _change(self, does: Does, work: Work) -> None:
        change: Callable[[Work], object] = {
            Does.REVOKE_A: lambda work: self._revoke(work, Extent(refs=(self.ref(A),), paths=("record",))),
            Does.REVOKE_BOTH: lambda work: self._revoke(
                work, Extent(refs=(self.ref(A), self.ref(B)), paths=("records[0]", "records[1]"))
            ),
            Does.REVOKE_SOURCE: lambda work: self._revoke(work, Extent(label=self.label)),
            Does.SUSPEND_A: lambda work: self._edit(work, A, lambda one: replace(one, suspended=True)),
            Does.RESUME_A: lambda work: self._edit(work, A, lambda one: replace(one, suspended=False)),
            Does.SUPERSEDE_B: lambda work: self._edit(work, B, lambda one: replace(one, superseded_by=self.ref(A))),
            Does.WITHDRAW: lambda work: work.withdraw(self.tenant, READER, DESK),
            Does.GRANT: self._grant,
            Does.FREEZE: self._freeze,
            Does.UNFREEZE: self._unfreeze,
            Does.HOLD_A: self._hold,
            Does.LIFT: self._lift,
            Does.PUBLISH: _publish,
        }[does]
        change(work)

    def _edit(self, work: Work, name: str, edit: Callable[[RecordFacts], RecordFacts]) -> None:
        found = work.record(self.tenant, self.ref(name))
        assert found is not None
        edited = edit(found)
        if work.authority.standing(self.tenant).revoke_of(found) is None and edited != found:
            work.write_records(self.tenant, [(edited, edited.record_id)])

    def _revoke(self, work: Work, extent: Extent) -> None:
        covered = cover(work, self.tenant, extent)
        if not covered.is_new:
            return
        order = OrderRow(
            secrets.token_hex(16), extent.words(), "op", "why", "T-1", work.now, work.now, work.now, None,
            len(covered.versions), len(covered.segments),
        )  # fmt: skip
        if extent.label:
            work.authority.revoke_source(self.tenant, extent.label, order)
        else:
            revoke = Revoke("op", "why", "T-1", work.now, work.now, 0, order.order_id)
            records = [replace(one.record, revoked=revoke) for one in covered.versions if one.record is not None]
            work.write_records(self.tenant, [(one, one.record_id) for one in records])
        work.purges.write_order(self.tenant, order, _items(order.order_id, covered))

    def _grant(self, work: Work) -> None:
        if not work.grants(self.tenant, READER).grants:
            generation = work.generation(self.tenant, READER, DESK) + 1
            work.write_grant(self.tenant, READER, GrantFacts(DESK, generation, 0, work.now))

    def _freeze(self, work: Work) -> None:
        freeze = Freeze(secrets.token_hex(8), self.label, "op", "why", work.now, FOREVER, everywhere=False)
        work.authority.write_freeze(self.tenant, freeze)

    def _unfreeze(self, work: Work) -> None:
        for freeze in work.authority.standing(self.tenant).freezes:
            work.authority.end_freeze(self.tenant, freeze.freeze_id, "op", "over")

    def _hold(self, work: Work) -> None:
        ref = self.ref(A)
        target = Target(record_id=ref.record_id, version=ref.version)
        work.authority.write_hold(self.tenant, Hold(secrets.token_hex(8), target, "op", "why", "T-1", work.now))

    def _lift(self, work: Work) -> None:
        for holds in work.authority.standing(self.tenant).holds.values():
            for hold in holds:
                work.authority.end_hold(self.tenant, hold.hold_id, "op", "over", "T-1")


def _publish(work: Work) -> None:
    number = work.head.policy_revision
    work.policies.publish(
        number, PolicyRow(number + 1, "c" * 40, "d" * 64, False, b"bundle", work.now), Origin("server")
    )


def _items(order_id: str, covered: Covered) -> list[ItemRow]:
    segments = [
        ItemRow(order_id, number, PurgeItemKind.SEGMENT, one.digest, one.ledger_id, store_by=one.store_by)
        for number, one in enumerate(covered.segments, 1)
    ]
    records = [
        ItemRow(order_id, number, PurgeItemKind.RECORD, one.digest, ref=one.ref, label=one.label)
        for number, one in enumerate(covered.versions, len(segments) + 1)
    ]
    return [*segments, *records]


def _audited(asked: Job) -> Job:
    """The job with an audit row that names what it commits, as the server's does."""
    row = audit_pb2.AuditRow(version=1, request_id=asked.audit.request_id)
    for one in asked.entries:
        decision = row.decisions.add(ledger_id=one.ledger_id)
        decision.order.kind = disclosure_pb2.CommitOrder.KIND_COMMITTED
    return replace(asked, audit=replace(asked.audit, body=row.SerializeToString()))
