"""What a decision is given: records, grants and ledger entries as the index held them at one state.

Values only; where they come from is the server's business. Times are microseconds since 1970-01-01 UTC (`Micros`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NewType

from discreet.policy.words import Grounding, Origin, RecordKind, Role

Micros = NewType("Micros", int)


Attributes = Mapping[str, object]


class Ref(NamedTuple):
    """One version of one record."""

    record_id: str
    version: str


@dataclass(frozen=True, slots=True)
class Revoke:
    """An explicit retention revoke. Copies are withheld at once and purged from `purge_not_before` on."""

    actor: str
    reason: str
    ticket: str
    revoked_at: Micros
    purge_not_before: Micros
    seq: int


@dataclass(frozen=True, slots=True)
class RecordFacts:
    """One immutable revision of one record version. `revision` is the sequence number that it was written under."""

    record_id: str
    version: str
    revision: int
    kind: RecordKind
    digest: str
    source_label: str
    collector: str
    recorded_at: Micros
    current: bool
    as_of: Micros | None = None
    basis: str = ""
    scopes: tuple[str, ...] = ()
    attributes: Attributes = field(default_factory=dict)
    assessment_expires_at: Micros | None = None
    superseded_by: Ref | None = None
    suspended: bool = False
    unreachable: bool = False
    revoked: Revoke | None = None
    origin: Origin = Origin.COLLECTED
    own_source: bool = False
    of: tuple[Ref, ...] = ()
    fields: Attributes = field(default_factory=dict)
    formula: str = ""
    inputs: tuple[Ref, ...] = ()
    step: str = ""
    """The act that wrote this revision, for example "PutDocuments" or "Suspend"."""
    settled: tuple[str, ...] = ()
    """What an operator decided of it, sorted: "assessment", "reachability", "scopes", "successor". No collector
    undoes it.
    """
    roots: tuple[Ref, ...] = ()
    """Everything that it rests on, transitively (`of` and `inputs` and theirs), fixed at registration; at most 256."""

    @property
    def ref(self) -> Ref:
        """The record version's name."""
        return Ref(self.record_id, self.version)


@dataclass(frozen=True, slots=True)
class GrantFacts:
    """One scope that a principal was given and that was not withdrawn. Validity: not_before <= now < expires_at."""

    scope: str
    generation: int
    revision: int
    not_before: Micros
    expires_at: Micros | None = None


@dataclass(frozen=True, slots=True)
class PrincipalGrants:
    """All grants of one principal.

    `revision` is the last sequence number that changed them (0: never), withdrawals included.
    """

    grants: tuple[GrantFacts, ...] = ()
    revision: int = 0


@dataclass(frozen=True, slots=True)
class LedgerFacts:
    """One committed segment. `segment` is the stored bytes of the v1 Segment message as it was committed."""

    ledger_id: str
    principal_id: str
    session_id: str
    answer_id: str
    segment_id: str
    segment_digest: str
    grounding: Grounding
    segment: bytes
    roots: tuple[Ref, ...]
    seq: int
    committed_at: Micros
    store_by: Micros
    need_numbers: bool = False
    need_advice: bool = False


@dataclass(frozen=True, slots=True)
class ReceiptKey:
    """A key for retrieval receipts; the newest signs, the older ones still verify."""

    key_id: str
    secret: bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that one call's decision may read, as of `seq` of `epoch`.

    What is absent from a map does not exist.
    """

    epoch: str
    seq: int
    records: Mapping[Ref, RecordFacts]
    current: Mapping[str, RecordFacts]
    """The current version of each record id that was asked about."""
    grants: PrincipalGrants
    ledger: Mapping[str, LedgerFacts] = field(default_factory=dict)
    receipt_keys: tuple[ReceiptKey, ...] = ()
    """Oldest first."""


class FactIds(NamedTuple):
    """What a call needs to know: parse yields it, the server fetches it (and the roots of what it fetched)."""

    records: tuple[Ref, ...]
    principal_id: str
    ledger_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Caller:
    """The process on the line, as the server's identity port knows it. Tenants: None means all."""

    name: str
    role: Role
    tenants: frozenset[str] | None

    def may_reach(self, tenant: str) -> bool:
        """True where the caller is entitled to the tenant."""
        return self.tenants is None or tenant in self.tenants
