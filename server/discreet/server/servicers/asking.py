"""What Check and Commit share: the right snapshot, the right facts, in time; and the audit row of what was decided."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import ParamSpec, TypeVar

from discreet.policy.codec import CallRecord, CommitOutcome, ReadingRecord, audit_row, segment_from
from discreet.policy.decide import Judged, gathered, one_by_one
from discreet.policy.decision import Decided, SegmentDecision
from discreet.policy.facts import FactIds, Facts, Micros, Ref
from discreet.policy.request import Request
from discreet.policy.snapshot import Snapshot
from discreet.policy.token import Token, encode
from discreet.policy.words import AuditAct, Moment, Reason, Verdict
from discreet.server.calls import Call
from discreet.server.config import ServerConfig
from discreet.server.fleet.presence import Presence
from discreet.server.identity.access import tenant_of
from discreet.server.logs import Log
from discreet.server.policies.follower import Policies
from discreet.server.ports import AuditRecord, Clock, DecisionKey, Job, Recorded, Store, StoreError
from discreet.server.ports_spool import Spooling
from discreet.server.reading.reader import FactReader

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a call is decided on. `reason` instead of facts: why nothing could be decided."""

    request: Request
    snapshot: Snapshot | None
    facts: Facts | None = None
    now: Micros = Micros(0)
    reason: Reason | None = None
    policy_age_us: int | None = None
    """For how long the snapshot may have been outdated when the facts were there; None: nothing can be decided."""
    facts_age_us: int | None = None
    """How old the facts may be that were not read for this call; None: they were."""

    @property
    def reading(self) -> ReadingRecord | None:
        """The read of the facts, for the audit; None where there was none."""
        return ReadingRecord(self.now, self.token, self.policy_age_us) if self.facts is not None else None

    @property
    def token(self) -> str:
        """Names the state that was read; empty where none was."""
        if self.facts is None or self.snapshot is None:
            return ""
        return encode(Token(self.facts.epoch, self.facts.seq, self.snapshot.number))

    def size_with(self, size: int) -> int:
        """The size of a question with that of what was read for it."""
        return size + RECORD_BYTES * (len(self.facts.records) if self.facts is not None else 0)


INLINE_BYTES_MAX = 64 * 1024
"""Larger questions are computed in a thread, so that smaller ones need not wait behind them."""


RECORD_BYTES = 128
"""What a record that is read counts as, beside the bytes of its question: a short one may rest on very much."""


INLINE_S = 0.005
"""How long a call's decisions may keep all others waiting."""


async def computed(size: int, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What a pure function returns, beside the event loop where the question is a large one."""
    if size <= INLINE_BYTES_MAX:
        return function(*args, **kwargs)
    return await asyncio.to_thread(function, *args, **kwargs)


EVEN_S = 0.01
"""Answers that tell nothing of a ledger entry leave at whole multiples of this after their call came."""
TIMER_S = 0.0015
"""How late the event loop's timers may be.

They are rounded up to milliseconds from when a wait began, and so would tell when that was. So long before its time, an
answer waits by looking at the clock.
"""


async def evened(call: Call, began: float, results: Sequence[SegmentDecision]) -> None:
    """Waits where the time may tell whether an entry is there: what it rests on is looked up then (F11).

    `began` is on the event loop's clock. By what the reader is told alone, so that both kinds wait alike. A larger
    difference than EVEN_S, from very many roots, stays.
    """
    if not any(_tells_nothing(one) for one in results):
        return
    loop = asyncio.get_running_loop()
    now = loop.time()
    due = now + call.time_left_s(EVEN_S - (now - began) % EVEN_S)
    await asyncio.sleep(due - now - TIMER_S)
    while loop.time() < due:  # noqa: ASYNC110 - no event says that a time has come
        await asyncio.sleep(0)


def _tells_nothing(one: SegmentDecision) -> bool:
    told = one.reader_reason
    return told is Reason.PARENT_UNUSABLE or (one.by_ledger_id and told is Reason.NOT_AVAILABLE)


@dataclass(slots=True)
class Tally:
    """What went wrong without stopping anybody: shown in status, never silent. And which verdicts were given."""

    audit_failures: int = 0
    dependency_failures: int = 0
    verdicts: dict[tuple[Moment, Verdict, Reason], int] = field(default_factory=dict)
    """By what readers are told: metrics have no identity of their own, so they may not tell causes apart (F11)."""

    def told(self, moment: Moment, results: Sequence[SegmentDecision]) -> None:
        """Counts the verdicts of an answer."""
        for one in results:
            key = moment, one.verdict, one.reader_reason
            self.verdicts[key] = self.verdicts.get(key, 0) + 1


class Asking:
    """Gathers what decisions need and records what they said."""

    def __init__(
        self,
        config: ServerConfig,
        instance: str,
        store: Store,
        reader: FactReader,
        policies: Policies,
        clock: Clock,
        log: Log,
        presence: Presence,
        spool: Spooling,
    ) -> None:
        self.store = store
        self.policies = policies
        self.instance = instance
        self.timeout_s = config.store_timeout_s
        self.tally = Tally()
        self._spool = spool
        self._reader = reader
        self._presence = presence
        self.lease = presence.lease
        self._clock = clock
        self._log = log

    def addressed(self, call: Call, request: Request) -> Request:
        """The request with the tenant that it is for."""
        tenant = tenant_of(call.caller, request.tenant)
        return request if tenant == request.tenant else replace(request, tenant=tenant)

    async def gather(
        self,
        call: Call,
        request: Request,
        ids: FactIds,
        not_before: Snapshot | None = None,
        *,
        bounded: bool = False,
    ) -> Asked:
        """Facts as of a head read after the call arrived, and a snapshot at least as new as that head's policy.

        `bounded`: as of an earlier one, where the policy lets them and they are at hand. Precondition where `min_token`
        names no state of this database; any other failure is a reason to withhold.
        """
        lease, began = self.lease, False
        try:
            async with asyncio.timeout(call.time_left_s(self.timeout_s)):
                if not lease.held:
                    await self._presence.renew()
                recent = self._recent(call, request, ids) if bounded else None
                if recent is not None:
                    return recent
                began = lease.begin(call.rest)
                reading = await self._reader.read(request.tenant, ids, request.min_token)
                snapshot = await self._snapshot(reading.head.policy_revision)
        except (StoreError, TimeoutError) as error:
            if began:
                lease.end(call.rest)
            self.tally.dependency_failures += 1
            self._log.warning(
                "withheld: the store does not answer", request_id=call.request_id, error=type(error).__name__
            )
            return Asked(request, self.policies.snapshot, reason=Reason.DEPENDENCY_UNAVAILABLE)
        if snapshot is None or (not_before is not None and snapshot is not not_before):
            held = self.policies.snapshot
            changed = Reason.POLICY_REVISION_CHANGED if held is not None else Reason.DEPENDENCY_UNAVAILABLE
            return Asked(request, held, reason=changed)
        return Asked(request, snapshot, reading.facts, reading.now, policy_age_us=self.policies.age_us())

    def _recent(self, call: Call, request: Request, ids: FactIds) -> Asked | None:
        """What is in memory of an earlier read, of the time of the policy in force and no older than it allows."""
        snapshot, read = self.policies.snapshot, self._reader.heads.last_read
        if snapshot is None or read is None or read.head.policy_revision != snapshot.number:
            return None
        staleness_us = self.lease.staleness_us(snapshot, read.began_ns)
        if staleness_us is None:
            return None
        reading = self._reader.recent(read, request.tenant, ids, request.min_token)
        if reading is None or not self.lease.begin(call.rest, read.began_ns, staleness_us):
            return None
        age_us = self.policies.age_us()
        return Asked(request, snapshot, reading.facts, reading.now, policy_age_us=age_us, facts_age_us=reading.age_us)

    async def _snapshot(self, number: int) -> Snapshot | None:
        held = self.policies.snapshot
        return held if held is not None and held.number >= number else await self.policies.at_least(number)

    async def decide(self, call: Call, asked: Asked) -> Decided:
        """The decision of the core. Only where there are facts.

        What is not judged after a moment goes on in a thread: how long it takes is up to the policy, not to the size
        of the question. It ends with the call.
        """
        assert asked.snapshot is not None and asked.facts is not None  # noqa: PT018 - the caller looked at `reason`
        ledger = asked.facts.ledger
        stored = {one: segment_from(ledger[one].segment) for one in asked.request.ledger_ids if one in ledger}
        age = asked.policy_age_us
        assert age is not None
        rest = one_by_one(asked.snapshot, asked.facts, call.caller, asked.now, asked.request, age, stored)
        judged: list[Judged] = []
        size = asked.size_with(0)
        end = time.monotonic() + INLINE_S
        if size > INLINE_BYTES_MAX or _take(rest, judged, lambda: time.monotonic() >= end):
            given_up = threading.Event()
            try:
                await asyncio.to_thread(_take, rest, judged, given_up.is_set)
            finally:
                given_up.set()
        return await computed(size, gathered, judged)

    def record_of(
        self,
        call: Call,
        act: AuditAct,
        asked: Asked,
        decided: Decided,
        decision_ids: Sequence[str],
        outcomes: Sequence[CommitOutcome] = (),
        repeated_under: ReadingRecord | None = None,
    ) -> AuditRecord:
        """The audit row with the columns that find it."""
        at = asked.now or self._clock.wall()
        snapshot = asked.snapshot
        row = CallRecord(
            act=act,
            request=asked.request,
            request_id=call.request_id,
            at=at,
            instance=self.instance,
            caller=call.caller,
            snapshot=snapshot,
            facts=asked.facts,
            token=asked.token,
            decision_ids=decision_ids,
            outcomes=outcomes,
            policy_age_us=asked.policy_age_us,
            facts_age_us=asked.facts_age_us,
            repeated_under=repeated_under,
        )
        labels = {ref: record.source_label for ref, record in decided.records_read if record is not None}
        number = snapshot.number if snapshot is not None else 0
        pairs = zip(decision_ids, decided.results, strict=True)
        return AuditRecord(
            request_id=call.request_id,
            tenant=asked.request.tenant,
            act=act.value,
            at=at,
            principal_id=asked.request.principal.id,
            session_id=asked.request.session_id,
            body=audit_row(decided, row),
            decisions=tuple(_key(i, decision, asked.request, number, labels) for i, decision in pairs),
        )

    async def record(self, call: Call, record: AuditRecord, *, spooled: bool = False) -> bool:
        """True once the row is durable, in the database or on this machine; False where it could not be so in time."""
        try:
            async with asyncio.timeout(call.time_left_s(self.timeout_s)):
                if spooled:
                    await self._spool.append(record)
                    return True
                outcomes = await self.store.record([Job(record)])
        except (StoreError, TimeoutError) as error:
            self.audit_failed(call, error)
            return False
        return isinstance(outcomes[0], Recorded)

    def audit_failed(self, call: Call, error: Exception) -> None:
        """Counts and logs an audit row that could not be written."""
        self.tally.audit_failures += 1
        self._log.error("withheld: the audit cannot be written", request_id=call.request_id, error=type(error).__name__)


def _take(rest: Iterator[Judged], judged: list[Judged], enough: Callable[[], bool]) -> bool:
    """Judges until there is enough; True where there may be more."""
    for one in rest:
        judged.append(one)
        if enough():
            return True
    return False


def _key(
    decision_id: str, decision: SegmentDecision, request: Request, policy: int, labels: dict[Ref, str]
) -> DecisionKey:
    bindings = decision.segment.bindings if decision.segment is not None else ()
    refs = dict.fromkeys(Ref(b.record_id, b.version) for b in bindings)
    refs.update(dict.fromkeys(ref for ref, _ in decision.bases))
    if decision.stop is not None and decision.stop.ref is not None:
        refs[decision.stop.ref] = None
    named = [view.source_label for view in decision.evidence] + [labels.get(ref, "") for ref in refs]
    return DecisionKey(
        decision_id=decision_id,
        verdict=decision.verdict.value,
        reason=decision.reason.value,
        rule=decision.rule,
        moment=request.moment.value,
        policy_revision=policy,
        record_ids=tuple(dict.fromkeys(ref.record_id for ref in refs)),
        # An unknown record has the label "", which no query asks for: as many rows are written as for a known one.
        labels=tuple(dict.fromkeys(named)),
    )
