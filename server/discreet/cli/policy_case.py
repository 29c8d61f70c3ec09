"""A policy test from a recorded decision: what the audit says was asked and decided, on the facts that it was read on.

The audit names the revision of each fact, and the index keeps every revision; what neither keeps is said in a note.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.cli.errors import InputError
from discreet.cli.escaping import safe
from discreet.cli.policy_standing import Stood, revoked_tree
from discreet.cli.shapes import from_value, micros
from discreet.cli.times import format_micros
from discreet.policy.token import BadToken, decode
from discreet.policy.words import (
    ActionTendency,
    Gate,
    Grounding,
    Moment,
    Next,
    OrderKind,
    Origin,
    Reason,
    RecordKind,
    Verdict,
)

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.v1.audit_pb2 import AuditDecision, AuditFact, DecisionRecord, ExplainResponse
    from discreet.v1.common_pb2 import RecordRef
    from discreet.v1.disclosure_pb2 import Binding, Claim
    from discreet.v1.index_pb2 import Grant, Record

GRANTS_MAX = 1_000
BEYOND_A_CASE = frozenset({Reason.PRINCIPAL_MISMATCH, Reason.SESSION_MISMATCH})
LONGEST = "36500d"


@dataclass
class Recorded:
    """The test in the making."""

    line: "Line"
    answer: "ExplainResponse"
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.stood = Stood(self.answer.decision, notes=self.notes)

    @property
    def record(self) -> "DecisionRecord":
        """What was asked and decided."""
        return self.answer.decision

    @property
    def decision(self) -> "AuditDecision":
        """What was decided."""
        return self.answer.decision.decision

    def tree(self) -> dict[str, object]:
        """The PolicyTest as plain values. Raises InputError for a decision that no case can make."""
        self._require_a_case()
        records = list(self._records())
        names = {(str(item["record-id"]), str(item["version"])) for item in records}
        tree: dict[str, object] = {
            "apiVersion": "discreet/v1",
            "kind": "PolicyTest",
            "name": f"recorded-{self.decision.decision_id[-8:].lower()}",
            "now": format_micros(micros(self.record.at)),
            "tenant": self.record.tenant,
        }
        found = {"records": records, "grants": self._grants()}
        tree |= {name: items for name, items in found.items() if items}
        return tree | self.stood.tree() | {"cases": [self._case(names)]}

    def _require_a_case(self) -> None:
        reason, gate = Reason(self.decision.reason), Gate(self.decision.gate)
        if gate is Gate.DEPENDENCY or not self.record.token:
            raise InputError("nothing was read for this decision: a service failed", "name another decision")
        masked = [one.name for one in self.answer.principal_attributes if one.masked]
        if masked:
            what = f"the audit holds no value of {', '.join(masked)}: the policy masks it"
            raise InputError(what, "write the case by hand, with a value of your own")
        if self.decision.parents:
            raise InputError("the segment was made from others", "write a sequence: with their commits, and this one")
        overtaken = self.decision.order.kind == OrderKind.OVERTAKEN.value
        if reason in BEYOND_A_CASE or overtaken or not self.decision.grounding:
            what = f"no single case makes this decision ({reason.short})"
            raise InputError(what, "write a sequence: with a commit, and what came after it")

    def _records(self) -> Iterable[dict[str, object]]:
        """The records that the decision was made on, each as it stood then; those behind a binding after it."""
        read = {(fact.id, fact.version): fact for fact in self.answer.facts if fact.kind == "record"}
        bound = {binding.record_id for binding in self.decision.bindings}
        waiting = [key for key in read if key[0] in bound]
        done: set[tuple[str, str]] = set()
        while waiting:
            key = waiting.pop(0)
            fact = read.get(key)
            if key in done or fact is None or not fact.revision:
                continue
            done.add(key)
            record, latest = self._as_read(fact)
            waiting += [(below.record_id, below.version) for below in (*record.of, *record.inputs)]
            yield self.stood.as_it_stood(record_tree(record), fact, latest)

    def _as_read(self, fact: "AuditFact") -> "tuple[Record, Record]":
        """The revision that was read, and the latest one."""
        from discreet.v1.index_pb2 import GetRecordRequest
        from discreet.v1.index_pb2_grpc import IndexServiceStub

        request = GetRecordRequest(tenant=self.record.tenant, record_id=fact.id, version=fact.version, history=True)
        answer = self.line.call(IndexServiceStub(self.line.channel).GetRecord, request)
        for record in (answer.record, *answer.history):
            if decode(record.revision_token).seq == fact.revision:
                return record, answer.record
        raise InputError(
            f"{fact.id} version {fact.version}: its revision {fact.revision} is too far back to be read",
            "the index tells the last 101 revisions of a version",
        )

    def _grants(self) -> list[dict[str, object]]:
        from discreet.v1.index_pb2 import ListGrantsRequest
        from discreet.v1.index_pb2_grpc import IndexServiceStub

        whose = self.record.principal_id
        request = ListGrantsRequest(tenant=self.record.tenant, principal_id=whose, history=True, page_size=GRANTS_MAX)
        answer = self.line.call(IndexServiceStub(self.line.channel).ListGrants, request)
        read = decode(self.record.token).seq
        passed = any(step.gate == Gate.AVAILABILITY.value and step.passed for step in self.decision.trace)
        found = []
        for grant in answer.grants:
            if decode(grant.revision_token).seq > read:
                continue
            if grant.withdrawn:
                word = "taken to have stood" if passed else "left out"
                self.notes.append(f"the grant of {grant.scope} to {whose} was withdrawn since or before: {word}")
            if passed or not grant.withdrawn:
                found.append(grant_tree(grant))
        return found

    def _case(self, names: set[tuple[str, str]]) -> dict[str, object]:
        record, decision = self.record, self.decision
        case: dict[str, object] = {
            "name": f"as decided in {decision.decision_id}",
            "moment": Moment(record.moment).short,
            "principal": self._principal(),
            "caller": record.caller.name,
            "session": record.session_id,
            "kind": decision.segment_kind,
        }
        case |= {"locale": self.answer.locale} if self.answer.locale != "en" else {}
        case |= {"need-numbers": True} if self.answer.need_numbers else {}
        case |= {"need-advice": True} if self.answer.need_advice else {}
        case |= {"policy-age": LONGEST} if decision.reason == Reason.POLICY_STALE.value else {}
        if decision.grounding == Grounding.UNBOUND.value:
            case["grounding"] = Grounding.UNBOUND.short
        elif decision.bindings:
            case["bindings"] = [self._binding(binding, names) for binding in decision.bindings]
        if decision.HasField("claim"):
            case["claim"] = claim_tree(decision.claim)
        return case | {"expect": expected(decision)}

    def _principal(self) -> object:
        made: dict[str, object] = {"id": self.record.principal_id}
        if self.answer.claimed_scopes:
            made["claimed-scopes"] = list(self.answer.claimed_scopes)
        if self.answer.principal_attributes:
            made["attributes"] = {one.name: json.loads(one.value) for one in self.answer.principal_attributes}
        return made if len(made) > 1 else self.record.principal_id

    def _binding(self, binding: "Binding", names: set[tuple[str, str]]) -> dict[str, object]:
        made: dict[str, object] = {"record-id": binding.record_id, "version": binding.version, "digest": binding.digest}
        made |= {"locator": binding.locator} if binding.locator else {}
        made |= {"unregistered": True} if (binding.record_id, binding.version) not in names else {}
        retrieved = self._retrieved(binding)
        made |= {"retrieved": retrieved} if retrieved else {}
        made |= {"claimed-label": binding.claimed_label} if binding.claimed_label else {}
        made |= {"claimed-basis": binding.claimed_basis} if binding.claimed_basis else {}
        if binding.HasField("claimed_as_of"):
            made["claimed-as-of"] = format_micros(micros(binding.claimed_as_of))
        return made

    def _retrieved(self, binding: "Binding") -> str:
        """Under which state it was read; whether the receipt was right shows in the decision alone."""
        if not binding.granted_under:
            return ""
        if self.decision.reason == Reason.NOT_RETRIEVED.value:
            return "without-receipt"
        try:
            read, now = decode(binding.granted_under), decode(self.record.token)
        except BadToken:
            return ""
        if read.policy_revision != now.policy_revision:
            return "under-earlier-policy"
        grants = next((fact.revision for fact in self.answer.facts if fact.kind == "grants"), 0)
        return "before-grants-changed" if grants > read.seq else "now"


def record_tree(record: "Record") -> dict[str, object]:
    """A record version as a test writes it; what it has not is left out."""
    made: dict[str, object] = {
        "record-id": record.record_id,
        "version": record.version,
        "kind": RecordKind(record.kind).short,
        "source-label": record.source_label,
        "digest": record.digest,
        "collector": record.collector,
        "recorded-at": format_micros(micros(record.recorded_at)),
    }
    for name in ("as_of", "assessment_expires_at", "suspended_until"):
        if record.HasField(name):
            made[name.replace("_", "-")] = format_micros(micros(getattr(record, name)))
    values: dict[str, object] = {
        "basis": record.basis,
        "scopes": list(record.scopes),
        "attributes": {name: from_value(record.attributes[name]) for name in sorted(record.attributes)},
        "suspended": record.suspended,
        "unreachable": record.unreachable,
        "own-source": record.own_source,
        "of": [ref_tree(ref) for ref in record.of],
        "fields": {name: from_value(record.fields[name]) for name in sorted(record.fields)},
        "formula": record.formula,
        "inputs": [ref_tree(ref) for ref in record.inputs],
    }
    made |= {name: value for name, value in values.items() if value}
    made |= {} if record.current else {"current": False}
    made |= {"origin": Origin(record.origin).short} if record.origin != Origin.COLLECTED.value else {}
    made |= {"superseded-by": ref_tree(record.superseded_by)} if record.HasField("superseded_by") else {}
    if record.HasField("retention_revoke"):
        made["revoked"] = revoked_tree(record)
    return made


def ref_tree(ref: "RecordRef") -> dict[str, object]:
    """A record version's name."""
    return {"record-id": ref.record_id, "version": ref.version}


def grant_tree(grant: "Grant") -> dict[str, object]:
    """A grant as a test writes it."""
    made: dict[str, object] = {"principal": grant.principal_id, "scope": grant.scope}
    made["not-before"] = format_micros(micros(grant.not_before))
    if grant.HasField("expires_at"):
        made["expires-at"] = format_micros(micros(grant.expires_at))
    return made


def claim_tree(claim: "Claim") -> dict[str, object]:
    """What the segment asserted."""
    made: dict[str, object] = {"basis": claim.basis} if claim.basis else {}
    if claim.HasField("about"):
        start, end = (format_micros(micros(time)) for time in (claim.about.start, claim.about.end))
        made["about"] = {"start": start, "end": end}
    return made | ({"required-fields": list(claim.required_fields)} if claim.required_fields else {})


def expected(decision: "AuditDecision") -> dict[str, object]:
    """All of the decision that a test can expect."""
    reason = Reason(decision.reason)
    made: dict[str, object] = {"verdict": Verdict(decision.verdict).short}
    made |= {"reason": reason.short} if reason is not Reason.NONE else {}
    made |= {"gate": Gate(decision.gate).short}
    for name, value in (
        ("rule", decision.rule),
        ("custom-reason", decision.custom_reason),
        ("text", decision.template_id),
        ("error", decision.detail if reason is Reason.POLICY_ERROR else ""),
        ("next", Next(decision.next).short if decision.next else ""),
        ("advice", decision.action_tendency == ActionTendency.ADVISE.value),
        ("observed", list(decision.observed_rules)),
    ):
        made |= {name: value} if value else {}
    return made


def case_of(line: "Line", tenant: str, decision_id: str) -> str:
    """The test file for a recorded decision. Raises CliError."""
    from discreet.policy.testing.write import written
    from discreet.v1.audit_pb2 import ExplainRequest
    from discreet.v1.audit_pb2_grpc import AuditServiceStub

    request = ExplainRequest(tenant=tenant, decision_id=decision_id)
    recorded = Recorded(line, line.call(AuditServiceStub(line.channel).Explain, request))
    tree = recorded.tree()
    record = recorded.record
    policy = f"policy revision {record.policy.number}, commit {record.policy.commit or 'none'}"
    head = [f"Decision {decision_id}, recorded under {policy}."]
    return "".join(f"# {safe(said)}\n" for said in (*head, *recorded.notes)) + written(tree)
