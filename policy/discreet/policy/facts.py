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
    order_id: str = ""
    """The purge order that it made; empty for one from before orders were kept."""


class Target(NamedTuple):
    """What a standing fact is about: a source by its label, a record, or with `version` one version of it.

    All empty: everything of the tenant.
    """

    label: str = ""
    record_id: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """A legal hold: what it covers is kept, shown to nobody, purged by nobody."""

    hold_id: str
    target: Target
    actor: str
    reason: str
    ticket: str
    placed_at: Micros


@dataclass(frozen=True, slots=True)
class Freeze:
    """Withholds a source, or with an empty label everything, until before `until`."""

    freeze_id: str
    label: str
    actor: str
    reason: str
    frozen_at: Micros
    until: Micros
    everywhere: bool = False
    """True where it stands for every tenant."""


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
    suspended_until: Micros | None = None
    """The suspension ends by itself then; None: it does not."""
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

    def suspended_at(self, now: Micros) -> bool:
        """True from Suspend until Resume, or until before the time that the suspension was given."""
        return self.suspended and (self.suspended_until is None or now < self.suspended_until)


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
class Standing:
    """What stands above single records for one tenant. `revision`: the last sequence number that changed any of it."""

    revision: int = 0
    revoked_sources: Mapping[str, Revoke] = field(default_factory=dict)
    """By label: everything under it is revoked, whatever its records say."""
    freezes: tuple[Freeze, ...] = ()
    holds: Mapping[Target, tuple[Hold, ...]] = field(default_factory=dict)

    def revoke_of(self, record: RecordFacts) -> Revoke | None:
        """The retention revoke that a record version is under: its own, or its source's."""
        return record.revoked if record.revoked is not None else self.revoked_sources.get(record.source_label)

    def holds_on(self, record: RecordFacts) -> tuple[Hold, ...]:
        """The legal holds that a record version is under."""
        if not self.holds:
            return ()
        name = record.record_id
        targets = (Target(record_id=name, version=record.version), Target(record_id=name), Target(record.source_label))
        return tuple(hold for target in targets for hold in self.holds.get(target, ()))

    def frozen(self, record: RecordFacts | None, now: Micros) -> Freeze | None:
        """A freeze that withholds the record now; of no record: one that withholds everything of the tenant."""
        for freeze in self.freezes:
            if now < freeze.until and freeze.label in ("", record.source_label if record is not None else ""):
                return freeze
        return None


NOTHING_STANDS = Standing()


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
    beyond: bool = False
    """It rests on more than one call is given: `roots` is empty, and nothing may be shown or purged for it."""


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
    standing: Standing = NOTHING_STANDS


class FactIds(NamedTuple):
    """What a call needs to know: parse yields it, the server fetches it (and the roots of what it fetched)."""

    records: tuple[Ref, ...]
    principal_id: str
    ledger_ids: tuple[str, ...] = ()
    """Entries that are asked about, and parents of segments that are."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The process on the line, as the server's identity port knows it. Tenants: None means all."""

    name: str
    role: Role
    tenants: frozenset[str] | None

    def may_reach(self, tenant: str) -> bool:
        """True where the caller is entitled to the tenant."""
        return self.tenants is None or tenant in self.tenants
