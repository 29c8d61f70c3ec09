"""What a revoke would take, expanded inside the transaction that takes it: the dry run and the run are one function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from discreet.policy.codec import Malformed
from discreet.policy.facts import RecordFacts, Ref, Revoke, Standing
from discreet.policy.receipts import message as framed
from discreet.policy.words import TombstoneKind
from discreet.server.errors import NotFound, TooMuch
from discreet.server.ports import Work
from discreet.server.ports_authority import Resting
from discreet.server.servicers.authority.extents import VERSIONS_MAX, Extent


@dataclass(frozen=True, slots=True)
class Version:
    """A version that is covered. `record` is None under a source, of which only names and digests are read."""

    ref: Ref
    digest: str
    label: str
    record: RecordFacts | None = None


@dataclass(frozen=True, slots=True)
class Covered:
    """What a revoke would do now. `marks`: it leaves a standing fact or tombstone that is not there yet.

    `built`: versions that were built on what is covered: not revoked, but they fall with it, and so do their copies.
    """

    versions: tuple[Version, ...]
    built: tuple[Version, ...]
    segments: tuple[Resting, ...]
    already: int
    terms: frozenset[Revoke]
    """The different revokes of what was revoked before."""
    without_time: int
    marks: bool
    digest: str

    @property
    def is_new(self) -> bool:
        """True where something would be written."""
        return bool(self.versions) or self.marks


def cover(index: Work, tenant: str, extent: Extent) -> Covered:
    """What the extent takes as the index stands. NotFound for what is not there, TooMuch above the limit."""
    standing = index.authority.standing(tenant)
    if extent.label:
        return _source(index, tenant, extent, standing)
    without_time = 0
    fresh: Sequence[RecordFacts]
    if extent.query is not None:
        _require_past(index, extent)
        found = index.authority.find_records(tenant, extent.query, VERSIONS_MAX)
        if found.more:
            raise TooMuch(f"query: fits more than {VERSIONS_MAX} versions; narrow it, or revoke the source")
        fresh, already, terms, without_time = found.records, found.revoked, found.terms, found.without_time
    else:
        fresh, already, terms = _named(index, tenant, extent, standing)
    versions = [Version(one.ref, one.digest, one.source_label, one) for one in fresh]
    segments = index.authority.resting(tenant, [one.ref for one in versions])
    marks = bool(extent.record_id) and not _marked(index, tenant, extent.record_id)
    return _covered(index, tenant, extent, versions, segments, (already, terms, without_time), marks)


def _require_past(index: Work, extent: Extent) -> None:
    before = extent.query.as_of_before if extent.query is not None else None
    if before is not None and before > index.now:
        raise Malformed("query.as_of_before", "lies ahead", "give a time that has come: nothing else is old by then")


def _named(
    index: Work, tenant: str, extent: Extent, standing: Standing
) -> tuple[Sequence[RecordFacts], int, frozenset[Revoke]]:
    records: Sequence[RecordFacts]
    if extent.record_id:
        records = index.authority.versions(tenant, extent.record_id)
        if not records:
            raise NotFound("all_versions_of: the index holds no such record for this tenant")
    else:
        found = index.records(tenant, extent.refs)
        for path, ref in zip(extent.paths, extent.refs, strict=True):
            if ref not in found:
                raise NotFound(f"{path}: the index holds no such version for this tenant")
        records = [found[ref] for ref in extent.refs]
    fresh = [record for record in records if standing.revoke_of(record) is None]
    if len(fresh) > VERSIONS_MAX:
        raise TooMuch(f"all_versions_of: has more than {VERSIONS_MAX} versions; name some by records first")
    terms = frozenset(revoke for record in records if (revoke := standing.revoke_of(record)) is not None)
    return fresh, len(records) - len(fresh), terms


def _marked(index: Work, tenant: str, record_id: str) -> bool:
    stones = index.authority.tombstones(tenant, [], [record_id], [])
    return any(stone.kind is TombstoneKind.RECORD for stone in stones)


def _source(index: Work, tenant: str, extent: Extent, standing: Standing) -> Covered:
    """A source is revoked once; a version under it that has a revoke of its own keeps it."""
    found = index.authority.under(tenant, extent.label)
    before = standing.revoked_sources.get(extent.label)
    if before is not None:
        return _covered(index, tenant, extent, [], (), (len(found), frozenset({before}), 0), marks=False)
    fresh = [Version(one.ref, one.digest, extent.label) for one in found if one.revoke is None]
    terms = frozenset(one.revoke for one in found if one.revoke is not None)
    segments = index.authority.resting(tenant, [], extent.label) if fresh else ()
    return _covered(index, tenant, extent, fresh, segments, (len(found) - len(fresh), terms, 0), marks=True)


def _covered(
    index: Work,
    tenant: str,
    extent: Extent,
    versions: Sequence[Version],
    segments: Sequence[Resting],
    before: tuple[int, frozenset[Revoke], int],
    marks: bool,
) -> Covered:
    ordered = tuple(sorted(versions, key=lambda one: one.ref))
    built = _built(index, tenant, extent, ordered)
    named = (index.head.epoch, tenant, extent.label if marks else "", extent.record_id if marks else "")
    digest = digest_of((*named, *_texts(ordered, built), *(segment.ledger_id for segment in segments)))
    already, terms, without_time = before
    return Covered(ordered, built, tuple(segments), already, terms, without_time, marks, digest)


def _built(index: Work, tenant: str, extent: Extent, versions: Sequence[Version]) -> tuple[Version, ...]:
    """What was built on the versions, but for those themselves and what is revoked itself or with another source."""
    if not versions:
        return ()
    mine = {version.ref for version in versions}
    standing = index.authority.standing(tenant)
    refs = () if extent.label else tuple(mine)
    others = [ref for ref in index.authority.built_on(tenant, refs, extent.label) if ref not in mine]
    found = index.records(tenant, others)
    records = [found[ref] for ref in others if standing.revoke_of(found[ref]) is None]
    return tuple(Version(one.ref, one.digest, one.source_label) for one in records)


def _texts(*lists: Sequence[Version]) -> Iterable[str]:
    for versions in lists:
        yield str(len(versions))
        for version in versions:
            yield from version.ref


def digest_of(parts: Iterable[str]) -> str:
    """Names exactly what would be done: no two different lists have the same (REV-08)."""
    return hashlib.sha256(framed(("covered-v2", *parts))).hexdigest()
