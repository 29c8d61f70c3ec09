"""What was read of the index, kept as long as no change names it. No I/O.

An entry was right at the sequence number it was fetched at, and is still right at S if no change in between names it.
Changes up to `tail` have been applied: whatever they name is gone. Absent ids are kept in the same way as present
ones, so that a hit, a miss and an absence take the same path (F11). Keys are tuples, never joined texts (REV-08).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from discreet.policy.facts import FactIds, Facts, PrincipalGrants, ReceiptKey, RecordFacts, Ref, Standing
from discreet.server.ports import Change, ChangeKind

RECORD_IDS_MAX = 50_000
PRINCIPALS_MAX = 20_000
TENANTS_MAX = 10_000
VERSIONS_PER_ID_MAX = 64


class _Held(NamedTuple):
    """A record version, or a record's current version (None: there is none), as fetched at `seq`."""

    seq: int
    record: RecordFacts | None


class _HeldGrants(NamedTuple):
    seq: int
    grants: PrincipalGrants


class _HeldStanding(NamedTuple):
    seq: int
    standing: Standing


class FactCache:
    """Bounded: what was used least recently goes first."""

    def __init__(
        self,
        epoch: str,
        tail: int,
        record_ids_max: int = RECORD_IDS_MAX,
        principals_max: int = PRINCIPALS_MAX,
        tenants_max: int = TENANTS_MAX,
    ) -> None:
        self.epoch = epoch
        self.tail = tail
        self._record_ids_max = record_ids_max
        self._principals_max = principals_max
        self._tenants_max = tenants_max
        self._records: OrderedDict[tuple[str, str], dict[str | None, _Held]] = OrderedDict()
        self._grants: OrderedDict[tuple[str, str], _HeldGrants] = OrderedDict()
        self._receipt_keys: tuple[ReceiptKey, ...] | None = None
        self._standing: OrderedDict[str, _HeldStanding] = OrderedDict()

    def apply(self, changes: Iterable[Change], up_to: int) -> None:
        """Drops what the changes name; they are all there are up to the given number.

        What stands above a tenant's records is revoked there as well, by source: so with it go all of its records.
        """
        stood: set[str] = set()
        for change in changes:
            if change.kind is ChangeKind.RECORD:
                self._records.pop((change.tenant, change.id), None)
            elif change.kind is ChangeKind.GRANTS:
                self._grants.pop((change.tenant, change.id), None)
            elif change.kind is ChangeKind.STANDING:
                stood.add(change.tenant)
            up_to = max(up_to, change.seq)
        self._forget_standing(stood)
        self.tail = max(self.tail, up_to)

    def _forget_standing(self, tenants: set[str]) -> None:
        """Where it is for every tenant it is a freeze, which revokes nothing."""
        if "" in tenants:
            self._standing.clear()
        for tenant in tenants:
            self._standing.pop(tenant, None)
        if tenants - {""}:
            for key in [key for key in self._records if key[0] in tenants]:
                del self._records[key]

    def clear(self, tail: int) -> None:
        """Forgets everything; for when there were too many changes to apply."""
        self._records.clear()
        self._grants.clear()
        self._standing.clear()
        self.tail = max(self.tail, tail)

    def put(self, tenant: str, ids: FactIds, facts: Facts) -> None:
        """Keeps what a fetch gave, absences included, unless changes that it may have missed were applied meanwhile."""
        if facts.seq < self.tail:
            return
        asked = [facts.records[ref] for ref in ids.records if ref in facts.records]
        behind = [root for record in asked for root in record.roots]
        for ref in {*ids.records, *facts.records, *behind}:
            self._put(tenant, ref.record_id, ref.version, _Held(facts.seq, facts.records.get(ref)))
        for record_id in {ref.record_id for ref in ids.records} | set(facts.current):
            self._put(tenant, record_id, None, _Held(facts.seq, facts.current.get(record_id)))
        key = (tenant, ids.principal_id)
        self._grants[key] = _HeldGrants(facts.seq, facts.grants)
        self._grants.move_to_end(key)
        while len(self._grants) > self._principals_max:
            self._grants.popitem(last=False)
        self._receipt_keys = facts.receipt_keys
        self._standing[tenant] = _HeldStanding(facts.seq, facts.standing)
        self._standing.move_to_end(tenant)
        while len(self._standing) > self._tenants_max:
            self._standing.popitem(last=False)

    def _put(self, tenant: str, record_id: str, version: str | None, held: _Held) -> None:
        key = (tenant, record_id)
        versions = self._records.setdefault(key, {})
        if len(versions) >= VERSIONS_PER_ID_MAX and version not in versions:
            versions.clear()
        versions[version] = held
        self._records.move_to_end(key)
        while len(self._records) > self._record_ids_max:
            self._records.popitem(last=False)

    def facts(self, tenant: str, ids: FactIds, seq: int) -> Facts | None:
        """All facts that the ids name as of max(seq, tail); None where anything is missing or was fetched later."""
        if self._receipt_keys is None or ids.ledger_ids:
            return None
        at = max(seq, self.tail)
        grants = self._grants.get((tenant, ids.principal_id))
        if grants is None or grants.seq > at:
            return None
        stands = self._standing.get(tenant)
        if stands is None or stands.seq > at:
            return None
        records: dict[Ref, RecordFacts] = {}
        current: dict[str, RecordFacts] = {}
        # Lists, not generators: every id is looked at, whatever became of the ones before it.
        found = [self._take(tenant, ref, at, records) for ref in ids.records]
        found += [self._take_current(tenant, ref.record_id, at, current) for ref in ids.records]
        behind = [root for record in records.values() for root in record.roots]
        found += [self._take(tenant, ref, at, records) for ref in behind]
        if not all(found):
            return None
        self._grants.move_to_end((tenant, ids.principal_id))
        keys = self._receipt_keys
        return Facts(self.epoch, at, records, current, grants.grants, receipt_keys=keys, standing=stands.standing)

    def _take(self, tenant: str, ref: Ref, at: int, records: dict[Ref, RecordFacts]) -> bool:
        """Adds a record version, or nothing where it is known to be absent. False where it is not known as of `at`."""
        versions = self._records.get((tenant, ref.record_id))
        held = versions.get(ref.version) if versions is not None else None
        if held is None or held.seq > at:
            return False
        if held.record is not None:
            records[ref] = held.record
        self._records.move_to_end((tenant, ref.record_id))
        return True

    def _take_current(self, tenant: str, record_id: str, at: int, current: dict[str, RecordFacts]) -> bool:
        versions = self._records.get((tenant, record_id))
        held = versions.get(None) if versions is not None else None
        if held is None or held.seq > at:
            return False
        if held.record is not None:
            current[record_id] = held.record
        return True
