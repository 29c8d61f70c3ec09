"""Records, jobs and grants for the stores' suite, each valid unless a test says otherwise. Must open nothing."""

import hashlib
import secrets
from dataclasses import replace

from discreet.policy.facts import FactIds, GrantFacts, Micros, RecordFacts, Ref
from discreet.policy.words import AuditAct, Grounding, Moment, Reason, RecordKind, Verdict
from discreet.server.ports import AuditRecord, DecisionKey, Head, Job, LedgerEntry, NaturalKey, Store, Work

TENANT = "acme"
ALICE = "alice@example.com"
LABEL = "handbook"
NEVER = Micros(2**60)


def record(record_id: str = "doc/a", version: str = "1", *, current: bool = True, revision: int = 0) -> RecordFacts:
    """A document version that every rule would let through."""
    return RecordFacts(
        record_id=record_id,
        version=version,
        revision=revision,
        kind=RecordKind.DOCUMENT,
        digest=hashlib.sha256(f"{record_id}@{version}".encode()).hexdigest(),
        source_label=LABEL,
        collector="importer",
        recorded_at=Micros(1_700_000_000_000_000),
        current=current,
        scopes=("public",),
        assessment_expires_at=NEVER,
    )


async def put(store: Store, *records: RecordFacts, tenant: str = TENANT) -> int:
    """Registers records in one transaction; returns its last seq."""
    return await store.change(lambda work: work.write_records(tenant, [(one, one.record_id) for one in records]))


async def facts_of(store: Store, *refs: Ref, tenant: str = TENANT) -> dict[Ref, RecordFacts]:
    """The latest revisions of record versions."""
    return dict((await store.fetch(tenant, FactIds(refs, ALICE))).records)


async def suspend(store: Store, ref: Ref, tenant: str = TENANT) -> int:
    """Writes a new revision of a record: what every operator's change comes down to."""

    def work(work: Work) -> int:
        found = work.record(tenant, ref)
        assert found is not None
        return work.write_records(tenant, [(replace(found, suspended=True), ref.record_id)])

    return await store.change(work)


async def grant(store: Store, scope: str, principal_id: str = ALICE, tenant: str = TENANT) -> int:
    """Gives a scope in the next generation; returns its seq."""

    def work(work: Work) -> int:
        generation = work.generation(tenant, principal_id, scope) + 1
        return work.write_grant(tenant, principal_id, GrantFacts(scope, generation, 0, work.now))

    return await store.change(work)


async def withdraw(store: Store, scope: str, principal_id: str = ALICE, tenant: str = TENANT) -> int:
    """Takes a scope back; returns how many grants that ended."""
    return await store.change(lambda work: work.withdraw(tenant, principal_id, scope))


def audit(
    *,
    tenant: str = TENANT,
    at: int = 1_800_000_000_000_000,
    principal_id: str = ALICE,
    session_id: str = "s-1",
    body: bytes = b"row",
    decisions: tuple[DecisionKey, ...] = (),
) -> AuditRecord:
    """An audit row."""
    return AuditRecord(
        secrets.token_hex(16), tenant, AuditAct.CHECK, Micros(at), principal_id, session_id, body, decisions
    )


def decision(
    *,
    verdict: Verdict = Verdict.ALLOW,
    reason: Reason = Reason.NONE,
    rule: str = "r",
    moment: Moment = Moment.PUBLISH,
    policy_revision: int = 1,
    record_ids: tuple[str, ...] = (),
    labels: tuple[str, ...] = (),
) -> DecisionKey:
    """The columns by which a decision is found."""
    return DecisionKey(secrets.token_hex(16), verdict, reason, rule, moment, policy_revision, record_ids, labels)


def entry(
    *bases: tuple[Ref, int],
    key: NaturalKey | None = None,
    fingerprint: bytes = b"f" * 32,
    valid_until: int | None = None,
) -> LedgerEntry:
    """A segment to be committed that rests on `bases`."""
    return LedgerEntry(
        ledger_id=secrets.token_hex(16),
        key=key or NaturalKey(TENANT, "s-1", secrets.token_hex(8), "seg-1"),
        fingerprint=fingerprint,
        principal_id=ALICE,
        segment_digest="d" * 64,
        grounding=Grounding.BOUND,
        segment=b"\x00segment\xff",
        need_numbers=False,
        need_advice=True,
        bases=bases,
        valid_until=None if valid_until is None else Micros(valid_until),
    )


def job(head: Head, *entries: LedgerEntry, grants_revision: int = 0, body: bytes = b"commit") -> Job:
    """A commit of entries, decided at `head`."""
    tenant = entries[0].key.tenant
    ids = tuple(ref.record_id for one in entries for ref, _ in one.bases)
    row = replace(audit(body=body, tenant=tenant), decisions=tuple(decision(record_ids=ids) for _ in entries))
    return Job(row, entries, head.policy_revision, (tenant, ALICE, grants_revision), 1_000_000)


def revisions(facts: dict[Ref, RecordFacts]) -> tuple[tuple[Ref, int], ...]:
    """The bases of an entry that rests on all of these."""
    return tuple((ref, one.revision) for ref, one in facts.items())
