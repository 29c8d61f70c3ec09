"""The index as an in-memory model: what the server's methods make of records, grants and commits, and nothing of I/O.

It follows the server's semantics as far as decisions can tell: current versions, revisions, what a revoke makes final,
what an operator settled. A test plays the same sequences here and against a server and compares every decision.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from discreet.policy.facts import (
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
)
from discreet.policy.request import Segment
from discreet.policy.testing.purging import Item, Purges
from discreet.policy.words import PUBLIC_SCOPE, PurgeItemKind

GRANTS_PER_PRINCIPAL_MAX: Final = 256


class Refusal(Exception):
    """The server would not do it. The message says why."""


@dataclass(slots=True)
class Index:
    """One tenant's index, ledger included, at one time."""

    epoch: str
    seq: int
    now: Micros
    keys: tuple[ReceiptKey, ...]
    records: dict[Ref, RecordFacts] = field(default_factory=dict)
    grants: dict[str, PrincipalGrants] = field(default_factory=dict)
    ledger: dict[str, LedgerFacts] = field(default_factory=dict)
    stored: dict[str, Segment] = field(default_factory=dict)
    generations: dict[tuple[str, str], int] = field(default_factory=dict)
    revoked_sources: dict[str, Revoke] = field(default_factory=dict)
    holds: dict[str, Hold] = field(default_factory=dict)
    freezes: dict[str, Freeze] = field(default_factory=dict)
    stood_at: int = 0
    """The last sequence number that changed any of what stands."""
    buried_digests: set[str] = field(default_factory=set)
    buried_ids: set[str] = field(default_factory=set)
    """Records of which all versions were revoked."""
    purges: Purges = field(default_factory=Purges)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    """("hold", "freeze" or "order", the name in the test) to the id."""

    @property
    def standing(self) -> Standing:
        """What stands above single records."""
        targets = {hold.target for hold in self.holds.values()}
        by_target = {target: tuple(one for one in self.holds.values() if one.target == target) for target in targets}
        return Standing(self.stood_at, dict(self.revoked_sources), tuple(self.freezes.values()), by_target)

    def stood(self) -> None:
        """Notes that what stands has changed."""
        self.seq += 1
        self.stood_at = self.seq

    def is_held(self, item: Item) -> bool:
        """True where a hold covers the record, or anything that it was built on, or that the segment rests on."""
        record = item.kind is PurgeItemKind.RECORD
        refs = (item.ref, *self.records[item.ref].roots) if record else self.ledger[item.ledger_id].roots
        standing = self.standing
        return any(standing.holds_on(self.records[ref]) for ref in refs if ref in self.records)

    def facts(self, principal_id: str, ledger_ids: tuple[str, ...] = ()) -> Facts:
        """Returns what a decision for a principal is given now."""
        return Facts(
            epoch=self.epoch,
            seq=self.seq,
            records=dict(self.records),
            current={ref.record_id: record for ref, record in self.records.items() if record.current},
            grants=self.grants.get(principal_id, PrincipalGrants()),
            ledger={name: self.ledger[name] for name in ledger_ids if name in self.ledger},
            receipt_keys=self.keys,
            standing=self.standing,
        )

    def current(self, record_id: str) -> RecordFacts | None:
        """Returns the current version of a record."""
        found = (record for ref, record in self.records.items() if ref.record_id == record_id and record.current)
        return next(found, None)

    def held(self, ref: Ref) -> RecordFacts:
        """Returns a record version. Raises Refusal where there is none."""
        if ref not in self.records:
            raise Refusal("the index holds no such version")
        return self.records[ref]

    def edit(self, ref: Ref, settles: str = "", **changes: object) -> None:
        """Changes one record as an operator does; nothing is written where nothing changes."""
        record = self.held(ref)
        if self.standing.revoke_of(record) is not None:
            raise Refusal("TOMBSTONED: its retention is revoked, which is final")
        if "scopes" in changes and set(record.scopes) == set(_texts(changes["scopes"])):
            changes.pop("scopes")
        edited = replace(record, **changes)  # type: ignore[arg-type]  # the fields that each step names
        if settles:
            edited = replace(edited, settled=tuple(sorted({*record.settled, settles})))
        if edited != record:
            self.write(replace(edited, recorded_at=self.now))

    def write(self, *records: RecordFacts) -> None:
        """Writes revisions of one record id as one event; a current one takes over from the one before."""
        self.seq += 1
        taker = next((record for record in records if record.current), None)
        before = self.current(records[0].record_id) if taker is not None else None
        if before is not None and taker is not None and before.ref != taker.ref:
            self.records[before.ref] = replace(before, current=False, revision=self.seq)
        for record in records:
            self.records[record.ref] = replace(record, revision=self.seq)

    def supersede(self, ref: Ref, by: Ref | None) -> None:
        """Names a successor; or takes the name away, and what the current version had replaced is current again."""
        if by is not None:
            self.held(by)
            if by == ref:
                raise Refusal("the successor is the record itself")
        record = self.held(ref)
        current = self.current(ref.record_id)
        back = by is None and record.superseded_by is not None and current is not None
        back = back and current is not None and current.ref == record.superseded_by
        self.edit(ref, "successor", superseded_by=by, current=record.current or back)

    def grant(self, principal_id: str, scope: str, not_before: Micros | None, expires_at: Micros | None) -> None:
        """Gives a scope; nothing is written where the very same grant stands."""
        if scope == PUBLIC_SCOPE:
            raise Refusal(f'"{PUBLIC_SCOPE}" is held by everybody')
        standing = self.grants.get(principal_id, PrincipalGrants()).grants
        if any(_same(grant, scope, not_before, expires_at, self.now) for grant in standing):
            return
        start = self.now if not_before is None else not_before
        if expires_at is not None and expires_at <= start:
            raise Refusal("the grant's end is not after its beginning")
        if len(standing) >= GRANTS_PER_PRINCIPAL_MAX:
            raise Refusal(f"the principal holds {GRANTS_PER_PRINCIPAL_MAX} grants already")
        generation = self.generations.get((principal_id, scope), 0) + 1
        self.generations[principal_id, scope] = generation
        self.seq += 1
        given = GrantFacts(scope, generation, self.seq, start, expires_at)
        self.grants[principal_id] = PrincipalGrants((*standing, given), self.seq)

    def withdraw(self, principal_id: str, scope: str) -> None:
        """Takes a scope back, whatever the validity of its grants."""
        standing = self.grants.get(principal_id, PrincipalGrants()).grants
        left = tuple(grant for grant in standing if grant.scope != scope)
        if left != standing:
            self.seq += 1
            self.grants[principal_id] = PrincipalGrants(left, self.seq)

    def release(self, entry: LedgerFacts, segment: Segment) -> None:
        """Writes a committed segment."""
        self.seq += 1
        self.ledger[entry.ledger_id] = replace(entry, seq=self.seq, committed_at=self.now)
        self.stored[entry.ledger_id] = segment


def _same(grant: GrantFacts, scope: str, not_before: Micros | None, expires_at: Micros | None, now: Micros) -> bool:
    begun = grant.not_before <= now if not_before is None else grant.not_before == not_before
    return grant.scope == scope and begun and grant.expires_at == expires_at


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, tuple) else ()
