"""Commit: the only permission to publish.

Decided outside any lock, written only if what it was decided on still stands.

Each round reads, decides and offers the store one job. A job that was overtaken is decided again on fresh facts; after
ROUNDS_MAX rounds what keeps changing is withheld and the rest is offered once more. What was committed by an earlier
call is not written again: it is judged anew, as at REPLAY.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from discreet.policy.codec import (
    CommitOutcome,
    Parsed,
    ReadingRecord,
    Reply,
    encode_commit,
    fingerprint,
    parse_commit,
    segment_bytes,
)
from discreet.policy.decide import withhold_all, withhold_one
from discreet.policy.decision import Decided, SegmentDecision
from discreet.policy.facts import FactIds, LedgerFacts, Micros, RecordFacts, Ref
from discreet.policy.request import Request, Segment
from discreet.policy.token import Token, encode
from discreet.policy.words import AuditAct, Moment, OrderKind, Reason, Verdict
from discreet.server.calls import Call, new_id
from discreet.server.errors import AlreadyExists, Unavailable
from discreet.server.ports import (
    Job,
    JobOutcome,
    LedgerEntry,
    NaturalKey,
    OutcomeUnknown,
    Overtaken,
    Recorded,
    StoreError,
)
from discreet.server.servicers.asking import Asked, Asking, computed, evened

ROUNDS_MAX = 5
LAST_ROUNDS_MAX = 8
"""Rounds in which what was overtaken again is left out; then all of it is withheld."""


@dataclass(slots=True)
class _Progress:
    """What a commit remembers from round to round."""

    size: int
    """Of the question with what was read for it, in bytes."""
    allowed_once: set[str] = field(default_factory=set)
    given_up: dict[str, tuple[Reason, str]] = field(default_factory=dict)
    """By segment id, with what kept changing, in fixed words."""


@dataclass(frozen=True, slots=True)
class _Round:
    """One round's decisions, in the order of the request, and what goes into the ledger."""

    asked: Asked
    decided: Decided
    decision_ids: tuple[str, ...]
    repeats: Mapping[str, tuple[str, LedgerFacts | None]] = field(default_factory=dict)
    entries: Mapping[str, LedgerEntry] = field(default_factory=dict)
    """By segment id."""
    repeated_under: ReadingRecord | None = None


class _Replayed(NamedTuple):
    """Fresh verdicts on what was committed before, by segment id."""

    ledger: Mapping[str, LedgerFacts]
    decisions: Mapping[str, SegmentDecision]
    read: tuple[tuple[Ref, RecordFacts | None], ...]
    under: ReadingRecord | None = None


class Committing:
    """Answers Commit."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def commit(self, call: Call, data: bytes) -> bytes:
        """The bytes of a CommitResponse.

        Raises Malformed, Denied, Precondition, AlreadyExists, Unavailable (outcome unknown).
        """
        began = asyncio.get_running_loop().time()
        parsed: Parsed = await computed(len(data), parse_commit, data)
        request = self._asking.addressed(call, parsed.request)
        progress = _Progress(len(data))
        for number in range(ROUNDS_MAX + LAST_ROUNDS_MAX):
            self._asking.lease.end(call.rest)
            this = await self._round(call, request, parsed.ids, progress)
            if this is None:
                continue
            outcome = await self._offer(call, this, progress)
            if isinstance(outcome, Recorded):
                self._asking.tally.told(request.moment, this.decided.results)
                reply = await computed(progress.size, self._reply, call, this, progress, outcome)
                await evened(call, began, this.decided.results)
                return reply
            if outcome is None:
                self._asking.lease.end(call.rest)
                return self._withheld(call, this.asked, Reason.AUDIT_UNAVAILABLE)
            if isinstance(outcome, Overtaken):
                final = number >= ROUNDS_MAX + LAST_ROUNDS_MAX - 2
                _note(progress, outcome, this, last=number + 1 >= ROUNDS_MAX, final=final)
            elif not outcome.same:
                raise _taken(request, set(outcome.ledger_ids))
        raise Unavailable("the commit kept being overtaken; nothing was written, repeat it")

    async def _round(self, call: Call, request: Request, ids: FactIds, progress: _Progress) -> _Round | None:
        """Reads and decides once; None where the policy changed between its two reads: read again."""
        try:
            async with asyncio.timeout(call.time_left_s(self._asking.timeout_s)):
                found = await self._asking.store.find_commits([_key(request, segment) for segment in request.segments])
        except (StoreError, TimeoutError):
            found = None
        asked = await self._asking.gather(call, request, ids)
        progress.size = max(progress.size, asked.size_with(0))
        if found is None and asked.reason is None:
            asked = replace(asked, reason=Reason.DEPENDENCY_UNAVAILABLE)
        if asked.reason is not None or found is None:
            decided = withhold_all(request, asked.snapshot, asked.reason or Reason.DEPENDENCY_UNAVAILABLE)
            return _Round(asked, decided, _new_ids(decided))
        known = _repeats(request, found)
        replayed = await self._replayed(call, asked, known)
        if replayed is None:
            return None
        fresh, read = await self._fresh(call, asked, known, progress)
        return await computed(progress.size, _decided, asked, known, replayed, fresh, read, progress)

    async def _fresh(
        self, call: Call, asked: Asked, known: Mapping[str, str], progress: _Progress
    ) -> tuple[dict[str, SegmentDecision], tuple[tuple[Ref, RecordFacts | None], ...]]:
        """Decisions on the segments that no earlier call committed, and what was read for them."""
        segments = tuple(segment for segment in asked.request.segments if segment.id not in known)
        if not segments or asked.snapshot is None:
            return {}, ()
        decided = await self._asking.decide(call, replace(asked, request=replace(asked.request, segments=segments)))
        found = {decision.key: decision for decision in decided.results}
        for segment_id, why in progress.given_up.items():
            if segment_id in found and found[segment_id].verdict is Verdict.ALLOW:
                found[segment_id] = withhold_one(found[segment_id], asked.snapshot, asked.request.locale, *why)
        return found, decided.records_read

    async def _replayed(self, call: Call, asked: Asked, known: Mapping[str, str]) -> _Replayed | None:
        """Fresh verdicts, as at REPLAY, under the same snapshot; None where the policy changed meanwhile."""
        if not known:
            return _Replayed({}, {}, ())
        ids = tuple(known.values())
        request = replace(asked.request, moment=Moment.REPLAY, segments=(), ledger_ids=ids, commit=False)
        again = await self._asking.gather(call, request, FactIds((), request.principal.id, ids), asked.snapshot)
        if again.reason is Reason.POLICY_REVISION_CHANGED:
            return None
        if again.reason is not None or again.facts is None:
            decided = withhold_all(request, asked.snapshot, again.reason or Reason.DEPENDENCY_UNAVAILABLE)
        else:
            decided = await self._asking.decide(call, again)
        pairs = zip(known, decided.results, strict=True)
        ledger = again.facts.ledger if again.facts is not None else {}
        decisions = {name: found._replace(key=name) for name, found in pairs}
        return _Replayed(ledger, decisions, decided.records_read, again.reading)

    async def _offer(self, call: Call, this: _Round, progress: _Progress) -> JobOutcome | None:
        """Offers the round to the store; None where its audit row could not be written and nothing of it was."""
        asked = this.asked
        if asked.reason is Reason.DEPENDENCY_UNAVAILABLE:
            return Recorded(0, asked.now)
        token = asked.token
        outcomes = [_outcome(decision, this, progress, token, token, asked.now) for decision in this.decided.results]
        record = await computed(
            progress.size,
            self._asking.record_of,
            call,
            AuditAct.COMMIT,
            asked,
            this.decided,
            this.decision_ids,
            outcomes,
            this.repeated_under,
        )
        job = Job(record)
        if this.entries and asked.snapshot is not None and asked.facts is not None:
            request, snapshot = asked.request, asked.snapshot
            grants = (request.tenant, request.principal.id, asked.facts.grants.revision)
            standing = (request.tenant, asked.facts.standing.revision)
            entries = tuple(this.entries.values())
            job = Job(record, entries, snapshot.number, grants, snapshot.store_within_us, standing)
        try:
            async with asyncio.timeout(call.time_left_s(self._asking.timeout_s)):
                return (await self._asking.store.record([job]))[0]
        except (OutcomeUnknown, TimeoutError) as error:
            self._asking.audit_failed(call, error)
            raise Unavailable(
                "the outcome is unknown: the store did not say in time; repeat the call, it is safe to"
            ) from None
        except StoreError as error:
            self._asking.audit_failed(call, error)
            return None

    def _reply(self, call: Call, this: _Round, progress: _Progress, recorded: Recorded) -> bytes:
        asked, token = this.asked, this.asked.token
        after = token
        if recorded.seq and asked.facts is not None and asked.snapshot is not None:
            after = encode(Token(asked.facts.epoch, recorded.seq, asked.snapshot.number))
        outcomes = [_outcome(d, this, progress, token, after, recorded.now) for d in this.decided.results]
        reply = Reply(asked.request, call.request_id, after, asked.snapshot, self._asking.instance, this.decision_ids)
        return encode_commit(this.decided, reply, outcomes)

    def _withheld(self, call: Call, asked: Asked, reason: Reason) -> bytes:
        decided = withhold_all(asked.request, asked.snapshot, reason)
        self._asking.tally.told(asked.request.moment, decided.results)
        outcomes = [CommitOutcome(OrderKind.REFUSED, asked.token) for _ in decided.results]
        reply = Reply(
            asked.request, call.request_id, asked.token, asked.snapshot, self._asking.instance, _new_ids(decided)
        )
        return encode_commit(decided, reply, outcomes)


def _decided(
    asked: Asked,
    known: Mapping[str, str],
    replayed: _Replayed,
    fresh: Mapping[str, SegmentDecision],
    read: tuple[tuple[Ref, RecordFacts | None], ...],
    progress: _Progress,
) -> _Round:
    """All decisions of a round in the order of the request."""
    request = asked.request
    results = tuple(replayed.decisions[s.id] if s.id in known else fresh[s.id] for s in request.segments)
    decided = Decided(results, tuple({**dict(replayed.read), **dict(read)}.items()))
    repeats = {segment_id: (ledger_id, replayed.ledger.get(ledger_id)) for segment_id, ledger_id in known.items()}
    entries = {d.key: _entry(request, d) for d in fresh.values() if d.verdict is Verdict.ALLOW}
    progress.allowed_once.update(entries)
    return _Round(asked, decided, _new_ids(decided), repeats, entries, replayed.under)


def _new_ids(decided: Decided) -> tuple[str, ...]:
    return tuple(new_id() for _ in decided.results)


def _key(request: Request, segment: Segment) -> NaturalKey:
    return NaturalKey(request.tenant, request.session_id, request.answer_id, segment.id)


def _fingerprint(request: Request, segment: Segment) -> bytes:
    return fingerprint(request.principal.id, segment, (request.need_numbers, request.need_advice))


def _repeats(request: Request, found: Mapping[NaturalKey, tuple[str, bytes]]) -> dict[str, str]:
    """Segment id to ledger id of what an earlier call committed.

    AlreadyExists where one of them was committed differently.
    """
    known: dict[str, str] = {}
    different: set[NaturalKey] = set()
    for segment in request.segments:
        key = _key(request, segment)
        if key in found:
            ledger_id, print_found = found[key]
            known[segment.id] = ledger_id
            if print_found != _fingerprint(request, segment):
                different.add(key)
    if different:
        raise _taken(request, different)
    return known


def _taken(request: Request, keys: set[NaturalKey]) -> AlreadyExists:
    places = [f"segments[{i}]" for i, segment in enumerate(request.segments) if _key(request, segment) in keys]
    return AlreadyExists(
        f"{', '.join(places[:10])}: committed before under this session, answer and segment id with another digest, "
        "other bindings, other needs or another principal; nothing of this call was written"
    )


def _entry(request: Request, decision: SegmentDecision) -> LedgerEntry:
    segment = decision.segment
    assert segment is not None
    return LedgerEntry(
        ledger_id=str(uuid.uuid4()),
        key=_key(request, segment),
        fingerprint=_fingerprint(request, segment),
        principal_id=request.principal.id,
        segment_digest=segment.digest,
        grounding=segment.grounding.value,
        segment=segment_bytes(segment),
        need_numbers=request.need_numbers,
        need_advice=request.need_advice,
        bases=decision.bases,
        valid_until=decision.valid_until,
    )


def _note(progress: _Progress, overtaken: Overtaken, this: _Round, *, final: bool, last: bool) -> None:
    """Once the rounds are used up, gives up what was overtaken.

    By policy or grants all, by a record what rests on it. What stands above records has no reason of its own: that a
    freeze or a hold of something else kept coming says nothing of this segment, so only the audit names it.
    """
    if not last:
        return
    changed = set(overtaken.records)
    for segment_id, entry in this.entries.items():
        refs: Sequence[Ref] = [ref for ref, _ in entry.bases]
        if overtaken.policy:
            progress.given_up[segment_id] = Reason.POLICY_REVISION_CHANGED, "the policy kept changing"
        elif overtaken.grants:
            progress.given_up[segment_id] = Reason.AUTH_REVISION_CHANGED, "the grants kept changing"
        elif final or not changed or changed.intersection(refs):
            progress.given_up[segment_id] = _facts_kept_changing(overtaken)


def _facts_kept_changing(overtaken: Overtaken) -> tuple[Reason, str]:
    if overtaken.expired:
        return Reason.ASSESSMENT_EXPIRED, "what it rests on kept expiring"
    which = "what stands above the records" if overtaken.standing else "the records"
    return Reason.DEPENDENCY_UNAVAILABLE, f"{which} kept changing"


def _outcome(
    decision: SegmentDecision, this: _Round, progress: _Progress, token: str, after: str, now: Micros
) -> CommitOutcome:
    """Where one segment stands. `token` names the state that was read, `after` the one after the commit."""
    repeat = this.repeats.get(decision.key)
    if repeat is not None:
        ledger_id, stored = repeat
        return CommitOutcome(OrderKind.REPEATED, token, ledger_id, stored.store_by if stored is not None else None)
    entry = this.entries.get(decision.key)
    if entry is not None and this.asked.snapshot is not None:
        store_by = Micros(now + this.asked.snapshot.store_within_us)
        return CommitOutcome(OrderKind.COMMITTED, after, entry.ledger_id, store_by)
    overtaken = decision.key in progress.allowed_once
    return CommitOutcome(OrderKind.OVERTAKEN if overtaken else OrderKind.REFUSED, token)
