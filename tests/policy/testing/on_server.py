"""Plays sequences of policy tests against a running server, over its sockets, and reads the audit for what it decided.

Knows nothing of the in-memory index: it sends what a collector, an operator and an agent send.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from discreet.policy.codec.stored import binding_message, claim_message
from discreet.policy.codec.values import stamp_of, value_of
from discreet.policy.decision import SegmentDecision
from discreet.policy.facts import Micros, RecordFacts, Ref
from discreet.policy.request import Binding, Principal
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.expectations import error_of
from discreet.policy.testing.kinds import BoundItem, NamedItem, PolicyTest, PrincipalItem, RecordItem, RefItem
from discreet.policy.testing.state import binding_of, claim_of, principal_of, record_of, ref_of
from discreet.policy.testing.steps import ActStep, AskStep, SequenceItem
from discreet.policy.words import ActionTendency, Gate, Next, Reason, RecordKind, Verdict
from discreet.server.ports import Store
from discreet.v1 import audit_pb2, common_pb2, disclosure_pb2, index_pb2
from tests.policy.testing.authority_on_server import AuthorityOnServer
from tests.server.support import Line, Lines, PolicyRepo, eventually


class Said(NamedTuple):
    """What can be compared of a decision."""

    verdict: str
    reason: str
    told: str
    gate: str
    rule: str
    custom_reason: str
    text: str
    next: str
    tendency: str
    error: str


def said(decision: SegmentDecision) -> Said:
    """A decision of the core."""
    return Said(
        *(decision.verdict.short, decision.reason.short, decision.reader_reason.short, decision.gate.short),
        *(decision.rule, decision.custom_reason, decision.template_id, decision.next.short),
        *(decision.action_tendency.short, error_of(decision)),
    )


def audited(decision: audit_pb2.AuditDecision) -> Said:
    """A decision as the audit holds it."""
    reason = Reason(decision.reason)
    return Said(
        *(Verdict(decision.verdict).short, reason.short, Reason(decision.reader_reason).short),
        *(Gate(decision.gate).short, decision.rule, decision.custom_reason, decision.template_id),
        *(Next(decision.next).short, ActionTendency(decision.action_tendency).short),
        decision.detail if reason is Reason.POLICY_ERROR else "",
    )


class Setting:
    """A clock that stands until it is moved. Threads wait by the machine's own."""

    def __init__(self, now: int) -> None:
        self.now = Micros(now)

    def wall(self) -> Micros:
        """The time that it was set to."""
        return self.now

    def monotonic_ns(self) -> int:
        """The same in nanoseconds; nothing that is compared here ages by it."""
        return self.now * 1_000


@dataclass(slots=True)
class Publishing:
    """The policy repository of a server: commits the set with other defaults of its parameters, and waits for each."""

    repo: PolicyRepo
    lines: Lines
    text: str
    """What `discreet.yaml` is, with `default: NAME` for the default of each parameter."""
    defaults: Mapping[str, object]
    count: int = 0

    async def publish(self, parameters: Mapping[str, object]) -> None:
        """Brings a new revision into force, also where it says what the one before said."""
        self.count += 1
        text = self.text + f"# {self.count}\n"
        for name, value in {**self.defaults, **parameters}.items():
            text = text.replace(f"default: {name}", f"default: {json.dumps(value)}")
        commit = self.repo.commit({"discreet.yaml": text})

        async def in_force() -> bool:
            return (await self.lines.operator.status()).policy.commit == commit

        await eventually(in_force)


@dataclass
class OnServer:
    """One sequence against a server, in a tenant of its own."""

    lines: Lines
    store: Store
    publishing: Publishing
    clock: Setting
    tenant: str
    test: PolicyTest
    sequence: SequenceItem
    snapshot: Snapshot
    records: dict[Ref, RecordFacts] = field(default_factory=dict)
    own: dict[tuple[str, str, Ref], tuple[str, str]] = field(default_factory=dict)
    by_name: dict[str, dict[Ref, tuple[str, str]]] = field(default_factory=dict)
    committed: dict[str, str] = field(default_factory=dict)
    asked: dict[str, disclosure_pb2.CommitRequest] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.authority = AuthorityOnServer(self.lines, self.store, self.tenant)

    async def begin(self) -> None:
        """Registers the records of the test and gives its grants, under the set as its files say it."""
        if self.publishing.count:
            await self.publishing.publish({})
        for item in self.test.records:
            await self.put(item, None)
        for grant in self.test.grants:
            await self._operator("GrantScope", index_pb2.GrantScopeRequest(
                tenant=self.tenant, principal_id=grant.principal, scope=grant.scope, reason="test",
                not_before=_stamp(grant.not_before), expires_at=_stamp(grant.expires_at),
            ))  # fmt: skip

    async def _operator(self, method: str, request: Message) -> None:
        await self.lines.operator.raw(f"IndexService/{method}", request.SerializeToString())

    async def put(self, item: RecordItem, supersedes: Ref | None) -> bool:
        """Registers a version; False where it was refused."""
        record = record_of(item, {}, self.clock.now, self.snapshot)
        given: dict[str, Any] = {
            "record_id": item.record_id, "version": item.version, "digest": record.digest,
            "source_label": item.source_label, "basis": item.basis, "scopes": item.scopes,
            "as_of": _stamp(item.as_of), "assessment_expires_at": _stamp(item.assessment_expires_at),
            "attributes": {name: value_of(value) for name, value in item.attributes.items()},
            "supersedes_version": supersedes.version if supersedes is not None else "",
        }  # fmt: skip
        if item.kind is RecordKind.DOCUMENT:
            documents = [index_pb2.DocumentInput(**given)]
            sent: Message = index_pb2.PutDocumentsRequest(tenant=self.tenant, documents=documents)
        else:
            evidence = index_pb2.EvidenceInput(
                **given,
                origin=index_pb2.Origin.ValueType(item.origin.value), own_source=item.own_source,
                of=_refs(item.of), fields={name: value_of(value) for name, value in item.fields_.items()},
                formula=item.formula, inputs=_refs(item.inputs),
            )  # fmt: skip
            sent = index_pb2.RegisterEvidenceRequest(tenant=self.tenant, evidence=[evidence])
        answer = await self.lines.collector.call(sent)
        assert isinstance(answer, index_pb2.PutDocumentsResponse | index_pb2.RegisterEvidenceResponse)
        taken = answer.outcomes[0].kind != index_pb2.PutOutcome.KIND_REFUSED
        if taken:
            self.records[record.ref] = record
        return taken

    async def act(self, verb: str, step: ActStep) -> bool:
        """Does what a step says; False where the server refuses."""
        if step.wait is not None or step.at is not None:
            later = step.at if step.at is not None else self.clock.now + (step.wait or 0)
            done = later >= self.clock.now
            self.clock.now = Micros(max(later, self.clock.now))
            return done
        if step.purge_order is not None:
            return ("order", step.purge_order.order) in self.authority.names
        if step.policy is not None:
            await self.publishing.publish(step.policy.parameters)
            return True
        if step.put is not None:
            earlier = step.put.supersedes
            return await self.put(step.put.record, None if earlier is None else Ref(earlier.record_id, earlier.version))
        try:
            if step.acknowledge is not None:
                return await self.authority.acknowledge(step.acknowledge)
            if not await self._stand(step):
                await self._operator(*await self._change(verb, step))
        except grpc.aio.AioRpcError:
            return False
        return True

    async def _stand(self, step: ActStep) -> bool:
        """Does what a step says of revokes, holds, freezes or holders; False where it says nothing of them."""
        authority = self.authority
        if step.revoke is not None:
            ref = None if step.revoke.record is None else await self._named(step.revoke.record)
            await authority.revoke(step.revoke, ref)
        elif step.place_hold is not None:
            await authority.place_hold(step.place_hold, step.place_hold.ticket)
        elif step.lift_hold is not None:
            await authority.lift_hold(step.lift_hold)
        elif step.freeze is not None:
            await authority.freeze(step.freeze, self.clock.now)
        elif step.unfreeze is not None:
            await authority.unfreeze(step.unfreeze)
        elif step.register_holder is not None:
            await authority.register_holder(step.register_holder)
        else:
            return False
        return True

    async def _change(self, verb: str, step: ActStep) -> tuple[str, Message]:
        common: dict[str, Any] = {"tenant": self.tenant, "reason": "test"}
        if step.grant is not None:
            return "GrantScope", index_pb2.GrantScopeRequest(
                **common, principal_id=step.grant.principal, scope=step.grant.scope,
                not_before=_stamp(step.grant.not_before), expires_at=_stamp(step.grant.expires_at),
            )  # fmt: skip
        if step.withdraw is not None:
            given = step.withdraw
            return "WithdrawScope", index_pb2.WithdrawScopeRequest(
                **common, principal_id=given.principal, scope=given.scope
            )
        value = getattr(step, verb.replace("-", "_"))
        ref = _ref(await self._named(value if hasattr(value, "record_id") else value.record))
        match verb:
            case "suspend":
                return "Suspend", index_pb2.SuspendRequest(**common, record=ref, until=_stamp(value.until))
            case "resume":
                return "Resume", index_pb2.ResumeRequest(**common, record=ref)
            case "unreachable" | "reachable":
                reachable = verb == "reachable"
                return "MarkUnreachable", index_pb2.MarkUnreachableRequest(**common, record=ref, reachable=reachable)
            case "supersede":
                by = None if value.by is None else _ref(await self._named(value.by))
                return "Supersede", index_pb2.SupersedeRequest(**common, record=ref, successor=by, clear=by is None)
            case "set-scopes":
                return "SetScopes", index_pb2.SetScopesRequest(**common, record=ref, scopes=value.scopes)
            case _:
                assert verb == "assess"
                until = _stamp(value.expires_at)
                return "RecordAssessment", index_pb2.RecordAssessmentRequest(**common, record=ref, expires_at=until)

    async def _named(self, item: NamedItem) -> Ref:
        """The version named; the current one, as the server knows it, where none is."""
        if item.version is not None:
            return Ref(item.record_id, item.version)
        asked = index_pb2.GetRecordRequest(tenant=self.tenant, record_id=item.record_id)
        answer = await self.lines.operator.call(asked)
        assert isinstance(answer, index_pb2.GetRecordResponse)
        return Ref(item.record_id, answer.record.version)

    async def ask(self, verb: str, step: AskStep) -> Said:
        """What the server decides and writes into its audit."""
        principal = principal_of(self.test, step.principal or self.sequence.principal or PrincipalItem(id="nobody"))
        session = step.session or self.sequence.session
        caller = self.lines[step.caller or self.sequence.caller]
        common: dict[str, Any] = {
            "tenant": self.tenant, "principal": _principal(principal), "session_id": session, "locale": step.locale,
            "need_numbers": step.need_numbers, "need_advice": step.need_advice,
        }  # fmt: skip
        if verb == "commit-again":
            return await self._commit(step.commit_again or "", step, caller)
        if verb in {"replay", "export"}:
            moment = common_pb2.MOMENT_REPLAY if verb == "replay" else common_pb2.MOMENT_EXPORT
            ids = [self._ledger_id(step.recalled or "")]
            request = disclosure_pb2.CheckRequest(**common, moment=moment, ledger_ids=ids)
            return await self._explained((await caller.check(request)).results[0].decision_id)
        bindings = [await self._bound(item, verb, step, principal.id, session) for item in step.bindings]
        segment = disclosure_pb2.Segment(
            id="segment-1", kind=step.kind, digest="0" * 64,
            grounding=common_pb2.Grounding.ValueType(step.grounding.value),
            bindings=[binding_message(bound) for bound in bindings],
            parents=[self._ledger_id(name) for name in step.parents],
        )  # fmt: skip
        claim = claim_of(step.claim)
        if claim is not None:
            segment.claim.CopyFrom(claim_message(claim))
        if verb == "commit":
            name = step.name or ""
            self.asked[name] = disclosure_pb2.CommitRequest(**common, answer_id=name, segments=[segment])
            return await self._commit(name, step, caller)
        moment = common_pb2.MOMENT_RETRIEVE if verb == "retrieve" else common_pb2.MOMENT_PUBLISH
        answer = await caller.check(disclosure_pb2.CheckRequest(**common, moment=moment, segments=[segment]))
        if verb == "retrieve":
            self._note(answer, step, bindings, principal.id, session)
        return await self._explained(answer.results[0].decision_id)

    def _ledger_id(self, name: str) -> str:
        """That of a commit, or one that never was."""
        return self.committed.get(name) or str(uuid.uuid5(uuid.NAMESPACE_OID, name))

    async def _commit(self, name: str, step: AskStep, caller: Line) -> Said:
        """Makes a commit, or the very same again, which has the ledger entry of the first time."""
        request = self.asked[name]
        request.locale = step.locale
        (result,) = (await caller.commit(request)).results
        if name in self.committed:
            assert result.ledger_id in {self.committed[name], ""}
        elif result.order.kind == disclosure_pb2.CommitOrder.KIND_COMMITTED:
            self.committed[name] = result.ledger_id
        return await self._explained(result.result.decision_id)

    async def _bound(self, item: BoundItem, verb: str, step: AskStep, principal_id: str, session: str) -> Binding:
        try:
            ref = await self._named(item)
        except grpc.aio.AioRpcError:
            ref = ref_of(item, self.records)
        exact = item.model_copy(update={"version": ref.version})
        bound = binding_of(exact, self.records)
        if verb == "retrieve" or step.receipts == "none":
            return bound
        if step.receipts == "own":
            given = self.own.get((principal_id, session, ref))
        else:
            given = self.by_name.get(step.receipts, {}).get(ref)
        return bound if given is None else bound._replace(granted_under=given[0], receipt=given[1])

    def _note(
        self, answer: disclosure_pb2.CheckResponse, step: AskStep, bound: list[Binding], whose: str, session: str
    ) -> None:
        for binding, receipt in zip(bound, answer.results[0].receipts, strict=False):
            ref = Ref(binding.record_id, binding.version)
            self.own[whose, session, ref] = answer.token, receipt
            if step.name is not None:
                self.by_name.setdefault(step.name, {})[ref] = answer.token, receipt

    async def _explained(self, decision_id: str) -> Said:
        answer = await self.lines.auditor.call(audit_pb2.ExplainRequest(tenant=self.tenant, decision_id=decision_id))
        assert isinstance(answer, audit_pb2.ExplainResponse)
        return audited(answer.decision.decision)


def _stamp(us: int | None) -> Timestamp | None:
    return None if us is None else stamp_of(Micros(us))


def _ref(ref: Ref) -> common_pb2.RecordRef:
    return common_pb2.RecordRef(record_id=ref.record_id, version=ref.version)


def _refs(items: tuple[RefItem, ...]) -> list[common_pb2.RecordRef]:
    return [common_pb2.RecordRef(record_id=one.record_id, version=one.version) for one in items]


def _principal(principal: Principal) -> disclosure_pb2.Principal:
    return disclosure_pb2.Principal(
        id=principal.id,
        claimed_scopes=principal.claimed_scopes,
        attributes={name: value_of(value) for name, value in principal.attributes.items()},
    )
