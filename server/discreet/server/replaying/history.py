"""Facts as of an earlier state, from what the index keeps of every revision. Reads by page, and keeps what it read.

Revisions, grants, standing facts and ledger entries are immutable and numbered in the one order, so what held as of a
number is what had been written up to it, whenever it is asked for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import sqlalchemy as sa

from discreet.policy.facts import Facts, LedgerFacts, PrincipalGrants, ReceiptKey, RecordFacts, Ref, Standing
from discreet.policy.replay import Want
from discreet.server.replaying import statements as sql
from discreet.server.stores.rows import ledger_facts, record_facts, standing_grants, standing_of, too_much
from discreet.server.stores.transaction import parts

KEPT_MAX = 50_000
"""Entries of each kind that are kept between two pages."""


@dataclass(frozen=True, slots=True)
class Versions:
    """The revisions of one record: by version their numbers, ascending, each with whether it was current."""

    of: dict[str, tuple[list[int], list[bool]]]

    def at(self, version: str, seq: int) -> int | None:
        """The revision of a version as of a number; None: it was not there."""
        numbers, _ = self.of.get(version, ([], []))
        place = bisect_right(numbers, seq)
        return numbers[place - 1] if place else None

    def current_at(self, seq: int) -> tuple[str, int] | None:
        """The current version with its revision as of a number."""
        for version, (numbers, current) in self.of.items():
            place = bisect_right(numbers, seq)
            if place and current[place - 1]:
                return version, numbers[place - 1]
        return None


class _Refs(NamedTuple):
    """The records of a want: asked for, and behind those."""

    asked: list[Ref]
    behind: list[Ref]


class History:
    """Reads facts as of earlier states on one connection. `seq`: the state that the database had reached before."""

    def __init__(self, connection: sa.Connection, seq: int) -> None:
        self._connection = connection
        self._seq = seq
        """What is kept is complete up to here."""
        self._versions: dict[tuple[str, str], Versions] = {}
        self._records: dict[tuple[str, Ref, int], RecordFacts] = {}
        self._grants: dict[tuple[str, str], list[Sequence[Any]]] = {}
        self._ledger: dict[tuple[str, str], LedgerFacts | None] = {}
        self._standing: dict[str, list[Sequence[Any]]] = {}
        self._stood: dict[tuple[str, int], Standing] = {}
        self._keys: tuple[ReceiptKey, ...] | None = None

    def facts(self, wants: Sequence[Want]) -> list[Facts]:
        """The facts of each want, as of its state; what is not kept yet is read for all of them together."""
        self._reach(max((want.seq for want in wants), default=0))
        by_tenant: dict[str, list[int]] = {}
        for place, want in enumerate(wants):
            by_tenant.setdefault(want.tenant, []).append(place)
        refs: dict[int, _Refs] = {}
        for tenant, places in by_tenant.items():
            refs.update(zip(places, self._read(tenant, [wants[place] for place in places]), strict=True))
        found = [self._facts(want, refs[place]) for place, want in enumerate(wants)]
        for kept in self._all():
            for key in list(islice(kept, max(0, len(kept) - KEPT_MAX))):
                del kept[key]
        return found

    def _all(self) -> tuple[dict[Any, Any], ...]:
        return self._versions, self._records, self._grants, self._ledger, self._standing, self._stood

    def _reach(self, seq: int) -> None:
        """Forgets everything where a state is asked for that came after it was read."""
        if seq <= self._seq:
            return
        for kept in self._all():
            kept.clear()
        self._keys = None
        self._seq = int(self._connection.execute(sql.SEQ).scalar_one())

    def _read(self, tenant: str, wants: Sequence[Want]) -> list[_Refs]:
        """Reads what is not kept yet; what each of them is about."""
        self._read_ledger(tenant, {name for want in wants for name in want.ids.ledger_ids})
        asked = [(want, self._asked(want)) for want in wants]
        self._read_records(tenant, [(want.seq, refs) for want, refs in asked], current=True)
        behind = [list(self._behind(want, refs)) for want, refs in asked]
        self._read_records(tenant, [(want.seq, refs) for want, refs in zip(wants, behind, strict=True)], current=False)
        self._read_grants(tenant, {want.ids.principal_id for want in wants})
        if tenant not in self._standing:
            rows = self._connection.execute(sql.STANDING, {"tenant": tenant}).all()
            self._standing[tenant] = [tuple(row) for row in rows]
        if self._keys is None:
            rows = self._connection.execute(sql.KEYS).all()
            self._keys = tuple(ReceiptKey(key_id, bytes(secret)) for key_id, secret in rows)
        return [_Refs(refs, below) for (_, refs), below in zip(asked, behind, strict=True)]

    def _rows(
        self, statement: dict[str, sa.TextClause], tenant: str, keys: Iterable[object]
    ) -> Iterator[tuple[Any, ...]]:
        """The rows that a statement gives for many keys, named as canonical JSON."""
        for some in parts(keys):
            named = {"tenant": tenant, "keys": sql.canonical(some)}
            found = self._connection.execute(statement[self._connection.dialect.name], named)
            yield from map(tuple, found)

    def _read_ledger(self, tenant: str, ledger_ids: set[str]) -> None:
        missing = sorted(name for name in ledger_ids if (tenant, name) not in self._ledger)
        if not missing:
            return
        roots: dict[str, list[Ref]] = {}
        for ledger_id, record_id, version in self._rows(sql.LEDGER_ROOTS, tenant, missing):
            roots.setdefault(ledger_id, []).append(Ref(record_id, version))
        found = {row[0]: row for row in self._rows(sql.LEDGER, tenant, missing)}
        for name in missing:
            row = found.get(name)
            entry = ledger_facts(row, sorted(roots.get(name, ()))) if row is not None else None
            self._ledger[tenant, name] = entry

    def _entries(self, want: Want) -> dict[str, LedgerFacts]:
        """The ledger entries as of the state, each with its roots."""
        found = {}
        for name in dict.fromkeys(want.ids.ledger_ids):
            entry = self._ledger[want.tenant, name]
            if entry is not None and entry.seq <= want.seq:
                found[name] = entry
        return found

    def _asked(self, want: Want) -> list[Ref]:
        """What is asked for: the records that are named, and what the ledger entries rest on."""
        refs = dict.fromkeys(want.ids.records)
        refs.update(dict.fromkeys(ref for entry in self._given(want).values() for ref in entry.roots))
        return list(refs)

    def _given(self, want: Want) -> dict[str, LedgerFacts]:
        """The entries as a call is given them: beyond what one call may rest on without their roots."""
        entries = self._entries(want)
        left_out = too_much(dict.fromkeys(want.ids.ledger_ids), {name: e.roots for name, e in entries.items()})
        return {
            name: replace(entry, roots=(), beyond=True) if name in left_out else entry
            for name, entry in entries.items()
        }

    def _read_records(self, tenant: str, asked: Sequence[tuple[int, list[Ref]]], *, current: bool) -> None:
        """Reads which revisions there are, then those that held; with `current` those of the current versions, too."""
        ids = dict.fromkeys(ref.record_id for _, refs in asked for ref in refs)
        self._read_versions(tenant, [name for name in ids if (tenant, name) not in self._versions])
        wanted: dict[tuple[Ref, int], None] = {}
        for seq, refs in asked:
            for ref in refs:
                versions = self._versions[tenant, ref.record_id]
                revision = versions.at(ref.version, seq)
                if revision is not None:
                    wanted[ref, revision] = None
                if current and (now := versions.current_at(seq)) is not None:
                    wanted[Ref(ref.record_id, now[0]), now[1]] = None
        missing = [[*ref, revision] for ref, revision in wanted if (tenant, ref, revision) not in self._records]
        for row in self._rows(sql.RECORDS, tenant, missing):
            facts = record_facts(row)
            self._records[tenant, facts.ref, facts.revision] = facts

    def _read_versions(self, tenant: str, record_ids: Sequence[str]) -> None:
        found: dict[str, dict[str, tuple[list[int], list[bool]]]] = {name: {} for name in record_ids}
        for record_id, version, revision, is_current in self._rows(sql.VERSIONS, tenant, record_ids):
            numbers, current = found[record_id].setdefault(version, ([], []))
            numbers.append(revision)
            current.append(bool(is_current))
        for record_id, of in found.items():
            self._versions[tenant, record_id] = Versions(of)

    def _record(self, want: Want, ref: Ref) -> RecordFacts | None:
        versions = self._versions[want.tenant, ref.record_id]
        revision = versions.at(ref.version, want.seq)
        return None if revision is None else self._records[want.tenant, ref, revision]

    def _current(self, want: Want, record_id: str) -> RecordFacts | None:
        found = self._versions[want.tenant, record_id].current_at(want.seq)
        return None if found is None else self._records[want.tenant, Ref(record_id, found[0]), found[1]]

    def _behind(self, want: Want, asked: Iterable[Ref]) -> Iterator[Ref]:
        for ref in asked:
            for record in (self._record(want, ref), self._current(want, ref.record_id)):
                yield from record.roots if record is not None else ()

    def _read_grants(self, tenant: str, principals: set[str]) -> None:
        missing = sorted(name for name in principals if (tenant, name) not in self._grants)
        for name in missing:
            self._grants[tenant, name] = []
        for name, *event in self._rows(sql.GRANTS, tenant, missing):
            self._grants[tenant, name].append(event)

    def _granted(self, want: Want) -> PrincipalGrants:
        events = self._grants[want.tenant, want.ids.principal_id]
        return standing_grants([event for event in events if event[2] <= want.seq])

    def _standing_at(self, tenant: str, seq: int) -> Standing:
        """What stood as of a number: events up to it that none up to it ends."""
        all_events = self._standing[tenant]
        events = all_events[: bisect_right(all_events, seq, key=_number)]
        revision = events[-1][0] if events else 0
        if (tenant, revision) not in self._stood:
            ended = {event[3] for event in events if event[-1]}
            rows = [event[:-1] for event in events if not event[-1] and event[3] not in ended]
            self._stood[tenant, revision] = standing_of(revision, rows)
        return self._stood[tenant, revision]

    def _facts(self, want: Want, refs: _Refs) -> Facts:
        asked = refs.asked
        records: dict[Ref, RecordFacts] = {}
        for ref in (*asked, *refs.behind):
            if ref not in records and (record := self._record(want, ref)) is not None:
                records[ref] = record
        ids = dict.fromkeys(ref.record_id for ref in asked)
        current = {name: record for name in ids if (record := self._current(want, name)) is not None}
        standing = self._standing_at(want.tenant, want.seq)
        granted, keys = self._granted(want), self._keys or ()
        return Facts(want.epoch, want.seq, records, current, granted, self._given(want), keys, standing)


def _number(event: Sequence[Any]) -> int:
    found: int = event[0]
    return found
