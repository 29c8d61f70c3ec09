"""What differs between what two sets say of the whole: demands, limits, audit, retention, and texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields

from discreet.policy.diff import wording
from discreet.policy.diff.changes import Change, Direction, Kind
from discreet.policy.diff.order import of_limits, of_sets
from discreet.policy.diff.sources import Reads
from discreet.policy.snapshot import Requires, Retention, Snapshot
from discreet.policy.words import LOCALES, AuditMode, Reason

_HIDDEN = frozenset(reason.short for reason in Reason if reason.looks_unavailable)
"""The causes whose text is always that of NOT_AVAILABLE."""
_AUDIT_MODES = (AuditMode.REQUIRED, AuditMode.SPOOLED, AuditMode.NONE)
"""The strictest first."""


def whole_changes(old: Snapshot, new: Snapshot, reads: Reads) -> Iterator[Change]:
    """Every difference that is of no single source and of no single rule."""
    yield from _requires(old.requires, new.requires)
    yield from _claimed(old, new, reads)
    yield from _audit(old, new)
    yield from _limits(old, new)
    yield from _retention(old.retention, new.retention)
    for locale in LOCALES:
        yield from _texts(old, new, locale)
    if old.name != new.name:
        yield Change(Kind.SET_NAME, Direction.NEITHER, "", old.name, new.name)


def _requires(old: Requires, new: Requires) -> Iterator[Change]:
    for each in fields(Requires):
        before, after = getattr(old, each.name), getattr(new, each.name)
        if before != after:
            direction = Direction.TIGHTENS if after else Direction.LOOSENS
            subject = each.name.replace("_", "-")
            yield Change(Kind.REQUIRES, direction, subject, wording.truth(before), wording.truth(after))


def _claimed(old: Snapshot, new: Snapshot, reads: Reads) -> Iterator[Change]:
    """Whose claims count. Scopes open records, and a rule may read them to withhold."""
    before, after = old.claimed_scopes_from, new.claimed_scopes_from
    if before != after:
        found = Direction.EITHER if reads.may_read("principal.scopes") else of_sets(before, after).direction
        yield Change(Kind.CLAIMED_FROM, found, "", wording.listed(before), wording.listed(after))


def _audit(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    """The less must be durable first, the more answers leave that would have been withheld for want of it."""
    if old.audit_checks is not new.audit_checks:
        looser = _AUDIT_MODES.index(new.audit_checks) > _AUDIT_MODES.index(old.audit_checks)
        direction = Direction.LOOSENS if looser else Direction.TIGHTENS
        yield Change(Kind.AUDIT_CHECKS, direction, "", old.audit_checks.short, new.audit_checks.short)
    if old.masked_attributes != new.masked_attributes:
        texts = wording.listed(old.masked_attributes), wording.listed(new.masked_attributes)
        yield Change(Kind.AUDIT_MASK, Direction.NEITHER, "", *texts)


def _limits(old: Snapshot, new: Snapshot) -> Iterator[Change]:
    found = (
        (Kind.POLICY_MAX_AGE, old.policy_max_age_us, new.policy_max_age_us),
        (Kind.USE_WITHIN, old.use_within_ms * 1_000, new.use_within_ms * 1_000),
        (Kind.STORE_WITHIN, old.store_within_us, new.store_within_us),
    )
    for kind, before, after in found:
        if before != after:
            texts = wording.duration(before), wording.duration(after)
            yield Change(kind, of_limits(before, after).direction, "", *texts)
    # Without one facts are as new as can be: that is the strictest, where elsewhere no limit is the widest.
    stale, staler = old.read_max_staleness_us, new.read_max_staleness_us
    if stale != staler:
        texts = wording.duration(stale), wording.duration(staler)
        yield Change(Kind.READ_MAX_STALENESS, of_limits(stale or 0, staler or 0).direction, "", *texts)


def _retention(old: Retention, new: Retention) -> Iterator[Change]:
    """Until when copies may stay, and what a large revoke takes: a dry run guards against one and delays one."""
    if old.dry_run_above != new.dry_run_above:
        texts = str(old.dry_run_above), str(new.dry_run_above)
        yield Change(Kind.RETENTION_DRY_RUN_ABOVE, Direction.EITHER, "", *texts)
    found = (
        (Kind.RETENTION_PURGE_WITHIN, old.purge_within_us, new.purge_within_us),
        (Kind.RETENTION_RECHECK_AFTER, old.recheck_after_us, new.recheck_after_us),
    )
    for kind, before, after in found:
        if before != after:
            texts = wording.duration(before, "never"), wording.duration(after, "never")
            yield Change(kind, of_limits(before, after).direction, "", *texts)


def _texts(old: Snapshot, new: Snapshot, locale: str) -> Iterator[Change]:
    before, after = old.texts[locale], new.texts[locale]
    for name in sorted((before.keys() | after.keys()) - _HIDDEN):
        was, becomes = before.get(name), after.get(name)
        if was != becomes:
            kind = Kind.TEXT_ADDED if was is None else Kind.TEXT_REMOVED if becomes is None else Kind.TEXT_CHANGED
            yield Change(kind, Direction.NEITHER, f"{locale} {name}", was or "", becomes or "")
