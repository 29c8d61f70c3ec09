"""Turns what a test file says into what a decision is given: facts, caller, question.

The state is made up, the decision is not: it is the server's own. Sequence numbers stand in the order
grants, records, now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from discreet.policy import receipts, token
from discreet.policy.facts import (
    Caller,
    Facts,
    Freeze,
    GrantFacts,
    Hold,
    LedgerFacts,
    Micros,
    PrincipalGrants,
    ReceiptKey,
    RecordFacts,
    Ref,
    Revoke,
    Standing,
    Target,
)
from discreet.policy.request import Binding, Claim, Principal, Request, Segment
from discreet.policy.snapshot import Snapshot
from discreet.policy.testing.kinds import (
    BoundItem,
    CaseItem,
    ClaimItem,
    HeldItem,
    NamedItem,
    PolicyTest,
    PrincipalItem,
    RecordItem,
    RefItem,
)
from discreet.policy.words import Role

EPOCH: Final = "00" * 16
POLICY_NUMBER: Final = 2
_BEFORE_GRANTS, _GRANTS, _RECORDS, NOW_SEQ = 1, 2, 3, 4
KEY: Final = ReceiptKey("test", b"a key for tests, which guard nothing")
_LEDGER_ID: Final = "ledger-1"
SEGMENT_ID: Final = "segment-1"
_TOKENS: Final = {
    "now": token.encode(token.Token(EPOCH, NOW_SEQ, POLICY_NUMBER)),
    "under-earlier-policy": token.encode(token.Token(EPOCH, NOW_SEQ, POLICY_NUMBER - 1)),
    "without-receipt": token.encode(token.Token(EPOCH, NOW_SEQ, POLICY_NUMBER)),
    "before-grants-changed": token.encode(token.Token(EPOCH, _BEFORE_GRANTS, POLICY_NUMBER)),
}


@dataclass(frozen=True, slots=True)
class Question:
    """All arguments of one decision but the policy."""

    facts: Facts
    caller: Caller
    now: Micros
    request: Request
    policy_age_us: int
    stored: dict[str, Segment]


def question_of(test: PolicyTest, case: CaseItem, records: Mapping[Ref, RecordFacts]) -> Question:
    """Returns what a case asks, on the records of its test."""
    request, segment = _request(test, case, records)
    now = Micros(test.now if case.now is None else case.now)
    replay = case.moment.by_ledger_id
    facts = Facts(
        epoch=EPOCH,
        seq=NOW_SEQ,
        records=records,
        current={ref.record_id: record for ref, record in records.items() if record.current},
        grants=grants_of(test, case.principal.id),
        ledger={_LEDGER_ID: _released(case, segment, records, now)} if replay else {},
        receipt_keys=(KEY,),
        standing=standing_of(test),
    )
    caller = Caller(case.caller, Role.AGENT, frozenset((test.tenant,)))
    return Question(facts, caller, now, request, case.policy_age or 0, {_LEDGER_ID: segment} if replay else {})


def records_of(test: PolicyTest, snapshot: Snapshot) -> dict[Ref, RecordFacts]:
    """Returns the records of a test as the index would hold them."""
    items = {Ref(item.record_id, item.version): item for item in test.records}
    return {ref: record_of(item, items, Micros(test.now), snapshot) for ref, item in items.items()}


def record_of(item: RecordItem, items: Mapping[Ref, RecordItem], now: Micros, snapshot: Snapshot) -> RecordFacts:
    """Returns a record of a test as the index would hold it; what it rests on is looked up in `items`."""
    source = snapshot.sources.get(item.source_label)
    collector = item.collector or (min(source.collectors) if source is not None else "unknown")
    return RecordFacts(
        record_id=item.record_id,
        version=item.version,
        revision=_RECORDS,
        kind=item.kind,
        digest=item.digest or digest_of(item),
        source_label=item.source_label,
        collector=collector,
        recorded_at=_micros(item.recorded_at) or _micros(item.as_of) or now,
        current=item.current,
        as_of=_micros(item.as_of),
        basis=item.basis,
        scopes=item.scopes,
        attributes=item.attributes,
        assessment_expires_at=_micros(item.assessment_expires_at),
        superseded_by=None if item.superseded_by is None else _ref(item.superseded_by),
        suspended=item.suspended,
        suspended_until=_micros(item.suspended_until),
        unreachable=item.unreachable,
        revoked=_revoke(item),
        origin=item.origin,
        own_source=item.own_source,
        of=tuple(map(_ref, item.of)),
        fields=item.fields_,
        formula=item.formula,
        inputs=tuple(map(_ref, item.inputs)),
        roots=_roots(item, items),
    )


def _roots(item: RecordItem, items: Mapping[Ref, RecordItem]) -> tuple[Ref, ...]:
    found: dict[Ref, None] = {}
    waiting = [_ref(below) for below in (*item.of, *item.inputs)]
    while waiting:
        ref = waiting.pop(0)
        if ref not in found:
            found[ref] = None
            below = items.get(ref)
            waiting += [_ref(each) for each in (*below.of, *below.inputs)] if below is not None else []
    return tuple(found)


def _revoke(item: RecordItem) -> Revoke | None:
    return None if item.revoked is None else _revoked(item.revoked.at, item.revoked.purge_not_before)


def _revoked(at: int, not_before: int | None) -> Revoke:
    due = Micros(at if not_before is None else not_before)
    return Revoke("operator", "test", "TEST-1", Micros(at), due, _RECORDS)


def standing_of(test: PolicyTest) -> Standing:
    """Returns what a test says that stands above single records."""
    held: dict[Target, tuple[Hold, ...]] = {}
    for at, item in enumerate(test.holds):
        target = target_of(item)
        hold = Hold(f"hold-{at + 1}", target, "operator", "test", "TEST-1", Micros(test.now))
        held[target] = (*held.get(target, ()), hold)
    freezes = tuple(
        Freeze(f"freeze-{at + 1}", item.source or "", "operator", "test", Micros(test.now), Micros(item.until))
        for at, item in enumerate(test.freezes)
    )
    revoked = {item.source: _revoked(item.at, item.purge_not_before) for item in test.revoked_sources}
    return Standing(_GRANTS if held or freezes or revoked else 0, revoked, freezes, held)


def target_of(item: HeldItem) -> Target:
    """Returns what a hold is on: a version, all versions of a record, a source."""
    if item.record is None:
        return Target(label=item.source or "")
    return Target(record_id=item.record.record_id, version=item.record.version or "")


def grants_of(test: PolicyTest, principal_id: str) -> PrincipalGrants:
    """Returns the grants that a test gives to a principal."""
    mine = [grant for grant in test.grants if grant.principal == principal_id]
    grants = tuple(
        GrantFacts(
            scope=grant.scope,
            generation=generation,
            revision=_GRANTS,
            not_before=_micros(grant.not_before) or Micros(0),
            expires_at=_micros(grant.expires_at),
        )
        for generation, grant in enumerate(mine, start=1)
    )
    return PrincipalGrants(grants, _GRANTS if grants else 0)


def _request(test: PolicyTest, case: CaseItem, records: Mapping[Ref, RecordFacts]) -> tuple[Request, Segment]:
    replay = case.moment.by_ledger_id
    principal = principal_of(test, case.principal)
    bare = Request(
        tenant=test.tenant,
        moment=case.moment,
        principal=principal,
        session_id=case.session,
        ledger_ids=(_LEDGER_ID,) if replay else (),
        locale=case.locale,
        need_numbers=case.need_numbers,
        need_advice=case.need_advice,
    )
    bindings = []
    for item in case.bindings:
        bound = binding_of(item, records)
        if item.retrieved is not None:
            receipt = receipts.issue((KEY,), bare, bound) if item.retrieved != "without-receipt" else ""
            bound = bound._replace(receipt=receipt, granted_under=_TOKENS[item.retrieved])
        bindings.append(bound)
    digest = hashlib.sha256(case.name.encode()).hexdigest()
    segment = Segment(SEGMENT_ID, case.kind, case.grounding, tuple(bindings), digest, claim_of(case.claim))
    return (bare if replay else replace(bare, segments=(segment,))), segment


def principal_of(test: PolicyTest, item: PrincipalItem) -> Principal:
    """Returns the principal that is named: as it is declared, where it is, but for what is said on the spot."""
    declared = next((one for one in test.principals if one.id == item.id), None)
    if declared is not None and item.model_fields_set == {"id"}:
        item = declared
    return Principal(item.id, item.claimed_scopes, item.attributes)


def ref_of(item: NamedItem, records: Mapping[Ref, RecordFacts]) -> Ref:
    """Returns the record version that is named: the current one where the record's id stands alone."""
    if item.version is not None:
        return Ref(item.record_id, item.version)
    versions = [record for ref, record in records.items() if ref.record_id == item.record_id]
    versions.sort(key=lambda record: not record.current)
    return versions[0].ref if versions else Ref(item.record_id, "1")


def binding_of(item: BoundItem, records: Mapping[Ref, RecordFacts]) -> Binding:
    """Returns a binding as a request makes it, with the digest that the record has unless the test says another."""
    ref = ref_of(item, records)
    record = records.get(ref)
    return Binding(
        record_id=ref.record_id,
        version=ref.version,
        digest=item.digest or (record.digest if record is not None else _digest(ref)),
        locator=item.locator,
        claimed_label=item.claimed_label,
        claimed_as_of=_micros(item.claimed_as_of),
        claimed_basis=item.claimed_basis,
    )


def claim_of(item: ClaimItem | None) -> Claim | None:
    """Returns what a segment asserts."""
    if item is None:
        return None
    about = None if item.about is None else (Micros(item.about.start), Micros(item.about.end))
    return Claim(item.basis, about, item.required_fields)


def _released(case: CaseItem, segment: Segment, records: Mapping[Ref, RecordFacts], now: Micros) -> LedgerFacts:
    direct = [Ref(binding.record_id, binding.version) for binding in segment.bindings]
    behind = [root for ref in direct if ref in records for root in records[ref].roots]
    return LedgerFacts(
        ledger_id=_LEDGER_ID,
        principal_id=case.principal.id,
        session_id=case.session,
        answer_id="answer-1",
        segment_id=segment.id,
        segment_digest=segment.digest,
        grounding=segment.grounding,
        segment=b"",
        roots=tuple(dict.fromkeys((*direct, *behind))),
        seq=_RECORDS,
        committed_at=now,
        store_by=now,
        need_numbers=case.need_numbers,
        need_advice=case.need_advice,
    )


def digest_of(item: RefItem) -> str:
    """Returns the digest of a record whose test gives none: made from its name, so that no two versions share it."""
    return _digest(_ref(item))


def _digest(ref: Ref) -> str:
    return hashlib.sha256(receipts.message((ref.record_id, ref.version))).hexdigest()


def twice(items: Iterable[RecordItem]) -> list[tuple[int, str]]:
    """Returns positions of records that a list may not hold besides earlier ones, and why."""
    seen: set[Ref] = set()
    current: set[str] = set()
    found: list[tuple[int, str]] = []
    for position, item in enumerate(items):
        if _ref(item) in seen:
            found.append((position, "this record version is given twice"))
        elif item.current and item.record_id in current:
            found.append((position, "two versions of this record are current; say current: false for one"))
        seen.add(_ref(item))
        current |= {item.record_id} if item.current else set()
    return found


def _ref(item: RefItem) -> Ref:
    return Ref(item.record_id, item.version)


def _micros(value: int | None) -> Micros | None:
    return None if value is None else Micros(value)
