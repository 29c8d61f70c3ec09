"""What the server needs from the world: clock and store.

Adapters implement these; servicers and workers know nothing else. The store's contract, held by one suite on every
adapter:
- One row `authority(epoch, seq, changed_seq, policy_revision)`. Every transaction that changes what may be disclosed,
  or records a disclosure, takes it exclusively first and numbers its events from `seq`; so number order is commit
  order, without gaps.
- Record revisions, grants, ledger entries and audit rows are immutable; nothing is updated or deleted.
- Decision reads run on connections that cannot write; commits and audit rows on ones that can write ledger, audit and
  authority alone; index changes on a third kind (A13).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, TypeVar

from discreet.policy.facts import FactIds, Facts, GrantFacts, Micros, PrincipalGrants, RecordFacts, Ref
from discreet.server.ports_authority import AuthorityWork, Look, PurgeWork
from discreet.server.ports_found import ActFilter, ActHit, ActKey, AuditFilter, AuditHit, ChainHeads, GrantRow
from discreet.server.ports_policy import PolicyStore, PolicyWork

T = TypeVar("T")

LEDGER_ROOTS_MAX = 32_000
"""Roots of ledger entries that one fetch gives: as many as the bindings of the most segments that a call may have."""


class StoreError(Exception):
    """The store could not answer: lost, busy past its limit, or refusing. Nothing is known to have been written."""


class OutcomeUnknown(StoreError):
    """A write was sent and its outcome could not be learned, even by looking it up."""


class DatabaseChanged(StoreError):
    """The database is not the one that was opened, or has lost what was seen of it.

    A failover, a restored backup, an adoption. It does not pass by itself: an operator must act.
    """


class Clock(Protocol):
    """Wall and monotonic time of this process. The database's clock is read with the head and is what decisions use."""

    def wall(self) -> Micros:
        """Microseconds since 1970 UTC."""
        ...

    def monotonic_ns(self) -> int:
        """Nanoseconds that never step back."""
        ...


class Head(NamedTuple):
    """The authority row, with the database's clock.

    `seq` numbers every event, `changed_seq` is the last that changed facts.
    """

    epoch: str
    seq: int
    changed_seq: int
    policy_revision: int
    now: Micros


class Adoption(NamedTuple):
    """An operator's word that a database which may have lost something is meant; it gave the database a new epoch.

    `accepted`: up to which number of which earlier epochs it stands in for what was there, lost or not.
    """

    epoch: str
    previous: str
    found_seq: int
    accepted: tuple[tuple[str, int], ...]
    at: Micros
    actor: str
    reason: str


class ChangeKind(Enum):
    """Which kind of fact an event changed."""

    RECORD = "record"
    GRANTS = "grants"
    POLICY = "policy"
    STANDING = "standing"


class Change(NamedTuple):
    """One event that changed facts. `id`: record id (all its versions) or principal id; else empty.

    STANDING with an empty tenant: for every tenant.
    """

    seq: int
    kind: ChangeKind
    tenant: str
    id: str


class NaturalKey(NamedTuple):
    """What makes a repeated commit the same commit."""

    tenant: str
    session_id: str
    answer_id: str
    segment_id: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A segment to be committed.

    `fingerprint`: SHA-256 over digest, bindings and principal; another one under the same key refuses the whole job.
    `bases`: every root with the revision it was judged at; a differing one overtakes the job.
    """

    ledger_id: str
    key: NaturalKey
    fingerprint: bytes
    principal_id: str
    segment_digest: str
    grounding: int
    segment: bytes
    need_numbers: bool
    need_advice: bool
    bases: tuple[tuple[Ref, int], ...]
    valid_until: Micros | None
    """The earliest end of any assessment or grant that it rests on.

    Compared with the database's clock inside the lock.
    """


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One audit row: stored bytes and the columns that find it."""

    request_id: str
    tenant: str
    act: int
    at: Micros
    principal_id: str
    session_id: str
    body: bytes
    decisions: tuple["DecisionKey", ...]
    found_by: ActKey | None = None
    """Where the row holds no decision."""


class DecisionKey(NamedTuple):
    """The columns by which a decision is found. `record_ids` and `labels`: those of its bindings and roots."""

    decision_id: str
    verdict: int
    reason: int
    rule: str
    moment: int
    policy_revision: int
    record_ids: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """What one call records in one transaction: audit row, and for a commit its entries.

    With entries: the whole job is written only if policy revision, grant revision, what stands for the tenant and every
    base are as they were read and nothing has expired, else nothing of it. `store_by` is the commit's time plus
    `store_within_us`.
    """

    audit: AuditRecord
    entries: tuple[LedgerEntry, ...] = ()
    policy_revision: int = 0
    grants: tuple[str, str, int] | None = None
    """Tenant, principal id, revision of the principal's grants as they were read."""
    store_within_us: int = 0
    standing: tuple[str, int] | None = None
    """Tenant, revision of what stands for it as it was read."""
    shown: tuple[tuple[str, str], ...] = ()
    """(tenant, ledger id) of entries to be confirmed as shown; those that are already stay as they are."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """The job is durable. `seq` 0 where it had no entries."""

    seq: int
    now: Micros


@dataclass(frozen=True, slots=True)
class Overtaken:
    """Nothing of the job was written: what it was decided on has changed. Decide again from `head` on."""

    head: Head
    policy: bool = False
    grants: bool = False
    expired: bool = False
    records: tuple[Ref, ...] = ()
    standing: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """Nothing of the job was written: these natural keys are taken. `same`: all with the same fingerprint."""

    ledger_ids: Mapping[NaturalKey, str]
    same: bool


JobOutcome = Recorded | Overtaken | Exists


class Work(Protocol):
    """One index transaction: the authority row is held, writes are numbered by `seq`, and all land or none.

    Reads see the present. Runs in the store's writer, synchronously; it must be quick and do nothing but reads and
    writes of this port.
    """

    @property
    def now(self) -> Micros:
        """The database's clock."""
        ...

    @property
    def head(self) -> Head:
        """The authority row as it will be after the events so far."""
        ...

    @property
    def authority(self) -> AuthorityWork:
        """Standing facts, tombstones, approvals."""
        ...

    @property
    def purges(self) -> PurgeWork:
        """Holders and purge orders."""
        ...

    @property
    def policies(self) -> PolicyWork:
        """Policy revisions, pins, servers."""
        ...

    def record(self, tenant: str, ref: Ref) -> RecordFacts | None:
        """The latest revision of a record version."""
        ...

    def current(self, tenant: str, record_id: str) -> RecordFacts | None:
        """The latest revision of the record's current version."""
        ...

    def records(self, tenant: str, refs: Sequence[Ref]) -> Mapping[Ref, RecordFacts]:
        """The latest revisions of many record versions."""
        ...

    def currents(self, tenant: str, record_ids: Sequence[str]) -> Mapping[str, RecordFacts]:
        """The current versions of many record ids."""
        ...

    def lookalike(self, tenant: str, label: str, record_id: str, skeleton: str) -> str | None:
        """Another record id of the same source with the same skeleton (see `discreet.policy.idents`).

        If there is one.
        """
        ...

    def write_records(self, tenant: str, records: Sequence[tuple[RecordFacts, str]]) -> int:
        """Appends revisions with their id's skeleton; returns the last seq.

        `revision` is set by the store. A record with `current` takes over from the present current version, of which
        the store writes the new revision. One event a record id.
        """
        ...

    def grants(self, tenant: str, principal_id: str) -> PrincipalGrants:
        """The principal's grants that are not withdrawn."""
        ...

    def generation(self, tenant: str, principal_id: str, scope: str) -> int:
        """How many grants were ever given under this key."""
        ...

    def write_grant(self, tenant: str, principal_id: str, grant: GrantFacts) -> int:
        """Appends a grant; returns its seq."""
        ...

    def withdraw(self, tenant: str, principal_id: str, scope: str) -> int:
        """Ends all standing grants of the key; returns how many."""
        ...

    def audit(self, record: AuditRecord) -> None:
        """Adds an audit row to this transaction."""
        ...


class Store(PolicyStore, Protocol):
    """The one authority. All methods raise StoreError where it cannot answer within its time limits."""

    @property
    def kind(self) -> str:
        """Which database: "sqlite" or "postgresql"."""
        ...

    async def open(self) -> Head:
        """Connects, checks version, durability and schema, and returns the head.

        Raises StoreError saying what is wrong.
        """
        ...

    async def close(self) -> None:
        """Finishes what is under way and lets go of the database."""
        ...

    async def head(self) -> Head:
        """Reads the authority row and the clock; begun after the call."""
        ...

    async def adoptions(self) -> list[Adoption]:
        """How the database came by its epoch, the newest adoption first; empty where it has its first epoch."""
        ...

    async def changes(self, after: int, limit: int) -> list[Change]:
        """Events that changed facts, with seq > after, in order."""
        ...

    async def fetch(self, tenant: str, ids: FactIds) -> Facts:
        """All facts that the ids name, in one consistent read.

        The record versions, the current version of each record id, the roots of both, the principal's grants, ledger
        entries with the records of their roots, receipt keys. Entries whose roots would be more than LEDGER_ROOTS_MAX
        in all, in the order of the ids, come without them, and say so (`beyond`).
        """
        ...

    async def find_commits(self, keys: Sequence[NaturalKey]) -> Mapping[NaturalKey, tuple[str, bytes]]:
        """Ledger id and fingerprint of keys that are committed."""
        ...

    async def record(self, jobs: Sequence[Job]) -> list[JobOutcome]:
        """Records many jobs in one transaction and one link of the audit chain.

        A job that fails on data fails alone.
        """
        ...

    async def drain(self, name: str, first: int, records: Sequence[AuditRecord]) -> int:
        """Records rows of a spool file, in one link of a chain of the file's own; `first`: the first one's number.

        Returns how many of the file's rows are recorded then; those that were before are left out. Ask again after any
        StoreError.
        """
        ...

    async def change(self, work: Callable[[Work], T]) -> T:
        """Runs `work` in one index transaction; an exception rolls everything back and is raised."""
        ...

    async def look(self, read: Callable[[Look], T]) -> T:
        """What `read` returns of one state of what follows from revocations; it can write nothing."""
        ...

    async def get_record(self, tenant: str, record_id: str, version: str, history: int) -> list[RecordFacts]:
        """The version (empty: current) at its latest revision, then up to `history` earlier revisions, newest first."""
        ...

    async def list_records(
        self, tenant: str, label: str, record_id: str, current_only: bool, after: tuple[str, str] | None, limit: int
    ) -> list[RecordFacts]:
        """Latest revisions in the order (record id, version), after the given one."""
        ...

    async def list_grants(
        self, tenant: str, principal_id: str, history: bool, after: tuple[str, str, int] | None, limit: int
    ) -> list[GrantRow]:
        """Grants in the order (principal, scope, generation)."""
        ...

    async def find_decisions(
        self, wanted: AuditFilter, before: tuple[int, int, int] | None, limit: int
    ) -> list[AuditHit]:
        """Decisions that match, newest first, before the cursor."""
        ...

    async def find_acts(self, wanted: ActFilter, before: tuple[int, int, int] | None, limit: int) -> list[ActHit]:
        """Rows without decisions that match, newest first, before the cursor."""
        ...

    async def chain_heads(self) -> ChainHeads:
        """The ends of the audit chain that no link names, with the epoch and the database's clock."""
        ...
