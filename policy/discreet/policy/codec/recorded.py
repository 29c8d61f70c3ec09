"""From an audit row back to the call that it records, and whether a decision made again is the recorded one.

What a row says is taken as it stands: it was judged when the call came in. What it does not say is not made up.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from google.protobuf.message import DecodeError

from discreet.policy.codec.audit import VERSION, CallRecord, ReadingRecord, row_message
from discreet.policy.codec.encode import CommitOutcome
from discreet.policy.codec.malformed import Malformed
from discreet.policy.codec.shapes import binding_of, claim_of
from discreet.policy.codec.values import micros_of
from discreet.policy.decision import Decided
from discreet.policy.facts import Caller, Facts, Micros
from discreet.policy.request import Principal, Request, Segment
from discreet.policy.snapshot import Snapshot
from discreet.policy.token import BadToken, Token, decode
from discreet.policy.words import AuditAct, Gate, Grounding, Moment, OrderKind, Reason, Role, Verdict
from discreet.v1 import audit_pb2 as pb

_ROLES = {role.short: role for role in Role}
_ACTS = {int(act): act for act in AuditAct}
_GATES = {int(gate): gate for gate in Gate}


class BadRow(ValueError):
    """The bytes are no audit row of a form that this program knows."""


class Read(NamedTuple):
    """A read of the facts. `policy_age_us` None: not on record."""

    token: Token
    text: str
    at: Micros
    policy_age_us: int | None


class PolicyRef(NamedTuple):
    """The policy revision that decided. `number` 0: none was in force."""

    number: int
    commit: str
    digest: str
    dirty: bool


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One decision of a row. `segment` None: the row does not know it."""

    decision_id: str
    segment: Segment | None
    verdict: Verdict
    reason: Reason
    gate: Gate
    rule: str
    trace: tuple[Gate, ...]
    labels: tuple[str, ...]
    """Of the records that it was bound to, as far as they were known."""
    ledger_id: str
    outcome: CommitOutcome | None
    """Where a commit left it; None for checks."""

    @property
    def repeated(self) -> bool:
        """True where an earlier call had committed it, so that it was judged as at REPLAY."""
        return self.outcome is not None and self.outcome.kind is OrderKind.REPEATED

    @property
    def overtaken(self) -> bool:
        """True where a commit gave up on it: it was allowed, and withheld since facts kept changing."""
        return Gate.RULES in self.trace and self.trace[-1] is Gate.BINDING


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A row of Check or Commit. The request has what the row tells; a masked attribute holds an empty text."""

    data: bytes
    """The row as it is stored."""
    row: pb.AuditRow
    act: AuditAct
    request: Request
    caller: Caller
    at: Micros
    masked: frozenset[str]
    claimed_scopes_left_out: bool | None
    """None: not on record."""
    policy: PolicyRef
    read: Read | None
    repeated_under: Read | None
    decisions: tuple[RecordedDecision, ...]


def recorded_call(data: bytes) -> RecordedCall | None:
    """The call of a row; None for a row of another act than Check and Commit. Raises BadRow."""
    row = pb.AuditRow()
    try:
        row.ParseFromString(data)
        if row.version != VERSION:
            raise BadRow(f"the row is of form {row.version}")
        return _call(data, row) if _ACTS[row.act] in (AuditAct.CHECK, AuditAct.COMMIT) else None
    except (DecodeError, Malformed, BadToken, KeyError, json.JSONDecodeError) as error:
        raise BadRow(f"the row cannot be read ({type(error).__name__})") from None
    except ValueError as error:
        raise BadRow(str(error)) from None


def _call(data: bytes, row: pb.AuditRow) -> RecordedCall:
    decisions = tuple(_decision(one, _ACTS[row.act]) for one in row.decisions)
    policy, kept = row.policy, row.HasField("policy_age")
    return RecordedCall(
        data=data,
        row=row,
        act=_ACTS[row.act],
        request=_request(row, decisions),
        caller=Caller(row.caller.name, _ROLES[row.caller.role], None),
        at=micros_of(row.at, "at"),
        masked=frozenset(one.name for one in row.principal_attributes if one.masked),
        claimed_scopes_left_out=row.claimed_scopes_left_out if kept else None,
        policy=PolicyRef(policy.number, policy.commit, policy.digest, policy.dirty),
        read=_read(row.token, row) if row.token else None,
        repeated_under=_read(row.repeated_under.token, row.repeated_under) if row.HasField("repeated_under") else None,
        decisions=decisions,
    )


def _request(row: pb.AuditRow, decisions: Sequence[RecordedDecision]) -> Request:
    moment = Moment(row.moment)
    by_ledger_id = moment.by_ledger_id
    attributes = {one.name: "" if one.masked else json.loads(one.value) for one in row.principal_attributes}
    return Request(
        tenant=row.tenant,
        moment=moment,
        principal=Principal(row.principal_id, tuple(row.claimed_scopes), attributes),
        session_id=row.session_id,
        segments=() if by_ledger_id else tuple(one.segment for one in decisions if one.segment is not None),
        ledger_ids=tuple(one.ledger_id for one in decisions) if by_ledger_id else (),
        answer_id=row.answer_id,
        locale=row.locale,
        need_numbers=row.need_numbers,
        need_advice=row.need_advice,
        commit=_ACTS[row.act] is AuditAct.COMMIT,
    )


def _read(token: str, of: pb.AuditRow | pb.AuditReading) -> Read:
    age = of.policy_age.ToMicroseconds() if of.HasField("policy_age") else None
    return Read(decode(token), token, micros_of(of.at, "at"), age)


def _decision(given: pb.AuditDecision, act: AuditAct) -> RecordedDecision:
    outcome = None
    if act is AuditAct.COMMIT:
        outcome = CommitOutcome(OrderKind(given.order.kind), given.order.token, given.ledger_id)
    labels = dict.fromkeys(view.source_label for view in given.evidence if view.source_label)
    return RecordedDecision(
        decision_id=given.decision_id,
        segment=_segment(given) if given.grounding else None,
        verdict=Verdict(given.verdict),
        reason=Reason(given.reason),
        gate=Gate(given.gate),
        rule=given.rule,
        trace=tuple([_GATES[step.gate] for step in given.trace]),
        labels=tuple(labels),
        ledger_id=given.ledger_id,
        outcome=outcome,
    )


def _segment(given: pb.AuditDecision) -> Segment:
    return Segment(
        given.segment_id,
        given.segment_kind,
        Grounding(given.grounding),
        tuple(binding_of(item) for item in given.bindings),
        given.segment_digest,
        claim_of(given.claim) if given.HasField("claim") else None,
        tuple(given.parents),
    )


class Agreement(NamedTuple):
    """How far a call that was decided again is the recorded one, byte by byte."""

    facts: bool
    """The facts that were read are those that the row names, with their revisions and states."""
    decisions: tuple[bool, ...]
    """One a decision; all False where anything else of the row differs."""


def agreement(
    call: RecordedCall, decided: Decided, snapshot: Snapshot, facts: Facts, *, facts_left_out: bool
) -> Agreement:
    """Writes the row again and compares it with the stored one.

    `facts_left_out`: some decisions could not be made again, so facts that were read for them alone may be missing.
    """
    made, stored = row_message(decided, _record(call, snapshot, facts)), call.row
    if made.SerializeToString(deterministic=True) == call.data:
        return Agreement(True, (True,) * len(call.decisions))
    known = [fact.SerializeToString(deterministic=True) for fact in stored.facts]
    found = [fact.SerializeToString(deterministic=True) for fact in made.facts]
    same_facts = set(found) <= set(known) if facts_left_out else found == known
    pairs = zip(made.decisions, stored.decisions, strict=True)
    same = tuple(_bytes(mine) == _bytes(theirs) for mine, theirs in pairs)
    made.ClearField("facts")
    made.ClearField("decisions")
    made.facts.extend(stored.facts)
    made.decisions.extend(stored.decisions)
    rest = made.SerializeToString(deterministic=True) == call.data
    return Agreement(same_facts, tuple(rest and one for one in same))


def _bytes(message: pb.AuditDecision) -> bytes:
    return message.SerializeToString(deterministic=True)


def _record(call: RecordedCall, snapshot: Snapshot, facts: Facts) -> CallRecord:
    """What the row says of the call as a whole, to be written again."""
    row, read, again = call.row, call.read, call.repeated_under
    left_out = call.claimed_scopes_left_out
    return CallRecord(
        act=call.act,
        request=call.request,
        request_id=row.request_id,
        at=call.at,
        instance=row.instance,
        caller=call.caller,
        snapshot=snapshot,
        facts=facts,
        token=row.token,
        decision_ids=[one.decision_id for one in call.decisions],
        outcomes=[one.outcome for one in call.decisions if one.outcome is not None],
        policy_age_us=read.policy_age_us if read is not None else None,
        repeated_under=ReadingRecord(again.at, again.text, again.policy_age_us) if again is not None else None,
        facts_age_us=row.facts_age.ToMicroseconds() if row.HasField("facts_age") else None,
        claimed_scopes_left_out=bool(left_out),
    )
