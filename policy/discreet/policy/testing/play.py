"""Plays a sequence: the steps on an in-memory index of its own, each question decided by the server's decision.

Must do nothing that a decision on the server would not see: receipts, tokens and ledger entries are the core's own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from discreet.policy import receipts as receipts_of
from discreet.policy import token
from discreet.policy.decide import Judged, one_by_one
from discreet.policy.facts import Caller, LedgerFacts, Micros, Ref
from discreet.policy.model.load import Placed
from discreet.policy.request import Binding, Request, Segment
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing import authority
from discreet.policy.testing.expectations import Difference, differences
from discreet.policy.testing.index import Index, Refusal
from discreet.policy.testing.kinds import NamedItem, PolicyTest, PrincipalItem
from discreet.policy.testing.load import LoadedSequence, PlacedStep
from discreet.policy.testing.registering import register
from discreet.policy.testing.results import StepResult
from discreet.policy.testing.revisions import Key, key_of
from discreet.policy.testing.state import (
    EPOCH,
    KEY,
    NOW_SEQ,
    POLICY_NUMBER,
    binding_of,
    claim_of,
    grants_of,
    principal_of,
    record_of,
    records_of,
    ref_of,
    standing_of,
)
from discreet.policy.testing.steps import ActStep, AskStep, OrderStep, SequenceItem
from discreet.policy.words import Moment, PurgeState, Role, Verdict

MOMENTS: Mapping[str, Moment] = {
    "retrieve": Moment.RETRIEVE,
    "publish": Moment.PUBLISH,
    "commit": Moment.PUBLISH,
    "commit-again": Moment.PUBLISH,
    "replay": Moment.REPLAY,
    "export": Moment.EXPORT,
}
Given = tuple[str, str]
"""The token and the receipt that a RETRIEVE gave for a record version."""


@dataclass(slots=True)
class Playing:
    """A sequence under way. What the last question asked and gave stays to be looked at."""

    test: PolicyTest
    snapshot: Snapshot
    sequence: SequenceItem
    index: Index
    environment: str = ""
    revisions: Mapping[Key, Snapshot] = field(default_factory=dict)
    own: dict[tuple[str, str, Ref], Given] = field(default_factory=dict)
    by_name: dict[str, dict[Ref, Given]] = field(default_factory=dict)
    committed: dict[str, str] = field(default_factory=dict)
    asked: dict[str, tuple[Request, Segment]] = field(default_factory=dict)
    """Every commit that was asked for, whatever came of it."""

    def step(self, step: PlacedStep) -> tuple[StepResult, Judged | None]:
        """Takes a step and returns what became of it, with what was judged where it asked."""
        placed, place = step.placed, step.placed.place()
        if isinstance(placed.value, AskStep):
            judged = self.ask(step.verb, placed.value)
            found = differences(placed.value.expect, judged.decision, placed.value.never)
            label = f"{step.verb} {said(step.verb, placed.value)}"
            return StepResult(place.file, place.line, label, found, judged.decision), judged
        refused = self._refused(step.verb, placed.value)
        found = () if refused or placed.value.purge_order is None else self._of_order(placed.value.purge_order)
        if bool(refused) != placed.value.refused:
            expected = "refused" if placed.value.refused else "done"
            found = (Difference("step", expected, f"refused: {refused}" if refused else "done"),)
        return StepResult(place.file, place.line, f"{step.verb} {said(step.verb, placed.value)}", found), None

    def _of_order(self, step: OrderStep) -> tuple[Difference, ...]:
        """Returns what is not as expected of a purge order."""
        index = self.index
        order_id = authority.order_of(index, step.order)
        counts = index.purges.counts(order_id, step.holder or "", index.now, index.is_held)
        found: list[Difference] = []
        if step.items is not None and Counter(step.items) != counts:
            found.append(Difference("items", _counted(Counter(step.items)), _counted(counts)))
        done = index.purges.done(order_id, index.now)
        if step.done is not None and step.done != done:
            found.append(Difference("done", str(step.done).lower(), str(done).lower()))
        return tuple(found)

    def _refused(self, verb: str, step: ActStep) -> str:
        try:
            self.act(verb, step)
        except Refusal as refusal:
            return str(refusal)
        return ""

    def act(self, verb: str, step: ActStep) -> None:
        """Does what a step says. Raises Refusal where the server would not."""
        index = self.index
        if step.wait is not None:
            index.now = Micros(index.now + step.wait)
        elif step.at is not None:
            if step.at < index.now:
                raise Refusal("time does not go back")
            index.now = Micros(step.at)
        elif step.policy is not None:
            following = self.revisions[key_of(step.policy, self.environment)]
            self.snapshot = replace(following, number=self.snapshot.number + 1)
        elif step.grant is not None:
            given = step.grant
            index.grant(given.principal, given.scope, micros(given.not_before), micros(given.expires_at))
        elif step.withdraw is not None:
            index.withdraw(step.withdraw.principal, step.withdraw.scope)
        elif step.put is not None:
            record = record_of(step.put.record, {}, index.now, self.snapshot)
            earlier = step.put.supersedes
            register(
                index, record, Ref(earlier.record_id, earlier.version) if earlier is not None else None, self.snapshot
            )
        else:
            self._edit(verb, step)

    def _edit(self, verb: str, step: ActStep) -> None:
        index = self.index
        if verb in {"suspend", "resume"}:
            until = micros(step.suspend.until) if step.suspend is not None else None
            if until is not None and until <= index.now:
                raise Refusal("until: is past already")
            index.edit(self.ref(step.suspend or step.resume), suspended=verb == "suspend", suspended_until=until)
        elif verb in {"unreachable", "reachable"}:
            index.edit(self.ref(step.unreachable or step.reachable), "reachability", unreachable=verb == "unreachable")
        elif step.supersede is not None:
            by = None if step.supersede.by is None else self.ref(step.supersede.by)
            index.supersede(self.ref(step.supersede.record), by)
        elif step.set_scopes is not None:
            index.edit(self.ref(step.set_scopes.record), "scopes", scopes=step.set_scopes.scopes)
        elif step.assess is not None:
            until = micros(step.assess.expires_at)
            index.edit(self.ref(step.assess.record), "assessment", assessment_expires_at=until)
        else:
            self._stand(step)

    def _stand(self, step: ActStep) -> None:
        index = self.index
        if step.revoke is not None:
            authority.revoke(index, step.revoke, self.ref, self.snapshot)
        elif step.place_hold is not None:
            authority.place_hold(index, step.place_hold, step.place_hold.ticket, self.snapshot)
        elif step.lift_hold is not None:
            authority.lift_hold(index, step.lift_hold)
        elif step.freeze is not None:
            authority.freeze(index, step.freeze, self.snapshot)
        elif step.unfreeze is not None:
            authority.unfreeze(index, step.unfreeze)
        elif step.register_holder is not None:
            authority.register_holder(index, step.register_holder)
        elif step.acknowledge is not None:
            authority.acknowledge(index, step.acknowledge)
        elif step.purge_order is not None:
            authority.order_of(index, step.purge_order.order)

    def ref(self, item: NamedItem | None) -> Ref:
        """Returns the record version that a step names, as the index stands."""
        assert item is not None
        return ref_of(item, self.index.records)

    def ask(self, verb: str, step: AskStep) -> Judged:
        """Decides a question, and does what the server does where it is allowed: a receipt, a ledger entry."""
        if verb == "commit-again":
            return self._again(step.commit_again or "", step)
        request, segment = self.request(verb, step)
        judged = self._judged(request, step)
        if segment is not None and verb == "commit":
            self.asked[step.name or ""] = request, segment
        if judged.decision.verdict is Verdict.ALLOW and segment is not None:
            if verb == "retrieve":
                self._note(request, step, judged.decision.receipts, segment)
            elif verb == "commit":
                self._release(request, step.name or "", judged, segment)
        return judged

    def _again(self, name: str, step: AskStep) -> Judged:
        """The very same commit: what stands in the ledger is not written twice but judged anew, as at REPLAY."""
        request, segment = self.asked[name]
        request = replace(request, locale=step.locale)
        if name in self.committed:
            ids = (self.committed[name],)
            return self._judged(replace(request, moment=Moment.REPLAY, segments=(), ledger_ids=ids, commit=False), step)
        judged = self._judged(request, step)
        if judged.decision.verdict is Verdict.ALLOW:
            self._release(request, name, judged, segment)
        return judged

    def _judged(self, request: Request, step: AskStep) -> Judged:
        parents = tuple(parent for segment in request.segments for parent in segment.parents)
        facts = self.index.facts(request.principal.id, (*request.ledger_ids, *parents))
        caller = Caller(step.caller or self.sequence.caller, Role.AGENT, frozenset((self.test.tenant,)))
        age = step.policy_age or 0
        stored = {name: self.index.stored[name] for name in facts.ledger}
        return next(one_by_one(self.snapshot, facts, caller, self.index.now, request, age, stored))

    def request(self, verb: str, step: AskStep) -> tuple[Request, Segment | None]:
        """Returns the question of a step, and the segment that it asks about; by ledger id none."""
        whose = step.principal or self.sequence.principal or PrincipalItem(id="nobody")
        bare = Request(
            tenant=self.test.tenant,
            moment=MOMENTS[verb],
            principal=principal_of(self.test, whose),
            session_id=step.session or self.sequence.session,
            locale=step.locale,
            need_numbers=step.need_numbers,
            need_advice=step.need_advice,
        )
        if verb in {"replay", "export"}:
            name = step.recalled or ""
            return replace(bare, ledger_ids=(self.committed.get(name, ledger_id(name)),)), None
        parents = tuple(self.committed.get(name, ledger_id(name)) for name in step.parents)
        bindings = tuple(self._carrying(binding_of(item, self.index.records), bare, step) for item in step.bindings)
        name = f"{self.sequence.name}/{step.name or verb}"
        digest = hashlib.sha256(name.encode()).hexdigest()
        segment = Segment("segment-1", step.kind, step.grounding, bindings, digest, claim_of(step.claim), parents)
        answer = step.name or "" if verb == "commit" else ""
        return replace(bare, segments=(segment,), answer_id=answer, commit=verb == "commit"), segment

    def _carrying(self, binding: Binding, request: Request, step: AskStep) -> Binding:
        ref = Ref(binding.record_id, binding.version)
        if request.moment is Moment.RETRIEVE or step.receipts == "none":
            return binding
        if step.receipts == "own":
            given = self.own.get((request.principal.id, request.session_id, ref))
        else:
            given = self.by_name.get(step.receipts, {}).get(ref)
        return binding if given is None else binding._replace(granted_under=given[0], receipt=given[1])

    def _note(self, request: Request, step: AskStep, given: tuple[str, ...], segment: Segment) -> None:
        state = token.encode(token.Token(EPOCH, self.index.seq, self.snapshot.number))
        for binding, receipt in zip(segment.bindings, given, strict=True):
            ref = Ref(binding.record_id, binding.version)
            self.own[request.principal.id, request.session_id, ref] = state, receipt
            if step.name is not None:
                self.by_name.setdefault(step.name, {})[ref] = state, receipt

    def _release(self, request: Request, commit: str, judged: Judged, segment: Segment) -> None:
        name = ledger_id(commit)
        entry = LedgerFacts(
            ledger_id=name,
            principal_id=request.principal.id,
            session_id=request.session_id,
            answer_id=request.answer_id,
            segment_id=segment.id,
            segment_digest=segment.digest,
            grounding=segment.grounding,
            segment=b"",
            roots=tuple(ref for ref, _ in judged.decision.bases),
            seq=0,
            committed_at=self.index.now,
            store_by=Micros(self.index.now + self.snapshot.store_within_us),
            need_numbers=request.need_numbers,
            need_advice=request.need_advice,
        )
        self.index.release(entry, segment)
        self.committed[commit] = name


def begin(
    test: PolicyTest, snapshot: Snapshot, sequence: Placed[SequenceItem], revisions: Mapping[Key, Snapshot]
) -> Playing:
    """Returns a sequence before its first step, on the index as its file says."""
    numbered = replace(snapshot, number=POLICY_NUMBER)
    index = Index(EPOCH, NOW_SEQ, Micros(test.now), (KEY,), dict(records_of(test, numbered)))
    for principal_id in dict.fromkeys(grant.principal for grant in test.grants):
        index.grants[principal_id] = grants_of(test, principal_id)
    for grant in test.grants:
        key = grant.principal, grant.scope
        index.generations[key] = index.generations.get(key, 0) + 1
    stands = standing_of(test)
    index.revoked_sources.update(stands.revoked_sources)
    under = [one for one in index.records.values() if stands.revoke_of(one) is not None]
    index.buried_digests |= {one.digest for one in under}
    index.freezes = {freeze.freeze_id: freeze for freeze in stands.freezes}
    for item in test.holds:
        authority.place_hold(index, item, "TEST-1")
    return Playing(test, numbered, sequence.value, index, snapshot.environment, revisions)


def play(
    test: PolicyTest, snapshot: Snapshot, loaded: LoadedSequence, revisions: Mapping[Key, Snapshot]
) -> list[tuple[StepResult, Judged | None]]:
    """Returns what became of each step of a sequence, all steps, also those after one that failed."""
    playing = begin(test, snapshot, loaded.sequence, revisions)
    return [playing.step(step) for step in loaded.steps]


def ledger_id(name: str) -> str:
    """Returns the ledger id of a commit, or of one that was never made."""
    return f"ledger-{hashlib.sha256(receipts_of.message((name,))).hexdigest()[:16]}"


def micros(value: int | None) -> Micros | None:
    """Returns a time of a test file as one of the facts."""
    return None if value is None else Micros(value)


def said(verb: str, step: ActStep | AskStep) -> str:
    """Returns what a step is about, in few words, for people."""
    if isinstance(step, AskStep):
        return step.recalled or step.name or ", ".join(item.record_id for item in step.bindings) or step.kind
    value = getattr(step, verb.replace("-", "_"))
    if isinstance(value, int):
        return f"{value / 1_000_000:g}s" if verb == "wait" else "a time"
    if step.policy is not None:
        return ", ".join((*filter(None, [step.policy.environment]), *step.policy.parameters)) or "as it is"
    if isinstance(value, str):
        return value
    if step.grant is not None or step.withdraw is not None:
        return f"{value.principal} {value.scope}"
    named = (getattr(value, name, "") for name in ("record_id", "called", "order", "holder"))
    return next((str(name) for name in named if name), "") or str(value.record.record_id)


def _counted(counts: Counter[PurgeState]) -> str:
    return ", ".join(f"{state.short}: {count}" for state, count in sorted(counts.items()) if count) or "none"
