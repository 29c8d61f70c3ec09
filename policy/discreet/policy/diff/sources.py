"""What differs between the sources of two sets, by label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from discreet.policy.diff import wording
from discreet.policy.diff.changes import Change, Direction, Kind
from discreet.policy.diff.order import of_limits, of_sets
from discreet.policy.diff.rules import Does, does
from discreet.policy.snapshot import Rule, Source


class Reads:
    """What the rules of both sides read that decides anything."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        counted = (rule for rule in rules if does(rule) is not Does.WATCHES)
        self._paths = {path for rule in counted if rule.when is not None for path in rule.when.reads}

    def may_read(self, path: str) -> bool:
        """Whether a condition may depend on what a path holds: it reads it, a part of it, or what it is a part of."""
        root = path.split(".", maxsplit=1)[0]
        return any(
            read == root or read.startswith((path, f"{root}[")) or path.startswith(f"{read}.") for read in self._paths
        )


def source_changes(old: Mapping[str, Source], new: Mapping[str, Source], reads: Reads) -> Iterator[Change]:
    """Every difference between the sources of two sets."""
    for label in sorted(old.keys() | new.keys()):
        before, after = old.get(label), new.get(label)
        if before is None and after is not None:
            direction = Direction.LOOSENS if after.listed else Direction.NEITHER
            yield Change(Kind.SOURCE_ADDED, direction, label, "", described(after))
        elif after is None and before is not None:
            direction = Direction.TIGHTENS if before.listed else Direction.NEITHER
            yield Change(Kind.SOURCE_REMOVED, direction, label, described(before), "")
        elif before is not None and after is not None:
            yield from _changed(before, after, reads)


def described(source: Source) -> str:
    """All that is declared of a source, in a line."""
    said = [
        source.duty.short,
        f"collectors {wording.listed(source.collectors)}",
        f"max-age {wording.duration(source.max_age_us)}",
        f"record-ids {_record_ids(source)}",
        f"title {source.title}",
    ]
    return "; ".join(said if source.listed else [*said, "not listed"])


def _record_ids(source: Source) -> str:
    return "case-sensitive" if source.case_sensitive_ids else "lower-case"


def _changed(old: Source, new: Source, reads: Reads) -> Iterator[Change]:
    """Every difference of one source. Nothing of a source is shown while it is not listed, whatever else it says."""
    turned = None if old.listed and new.listed else Direction.NEITHER
    if old.listed != new.listed:
        turned = Direction.LOOSENS if new.listed else Direction.TIGHTENS
        kind = Kind.SOURCE_LISTED if new.listed else Kind.SOURCE_UNLISTED
        yield Change(kind, turned, new.label, wording.truth(old.listed), wording.truth(new.listed))
    for kind, direction, before, after in _fields(old, new, reads):
        if before != after:
            yield Change(kind, turned or direction, new.label, before, after)


def _fields(old: Source, new: Source, reads: Reads) -> Iterator[tuple[Kind, Direction, str, str]]:
    """What may differ, with where it leads where the source is listed on both sides, and what either side says."""
    collectors = of_sets(old.collectors, new.collectors).direction
    yield Kind.SOURCE_COLLECTORS, collectors, wording.listed(old.collectors), wording.listed(new.collectors)
    yield Kind.SOURCE_DUTY, Direction.EITHER, old.duty.short, new.duty.short
    age = Direction.EITHER if reads.may_read("source.max_age") else of_limits(old.max_age_us, new.max_age_us).direction
    yield Kind.SOURCE_MAX_AGE, age, wording.duration(old.max_age_us), wording.duration(new.max_age_us)
    yield Kind.SOURCE_RECORD_IDS, Direction.EITHER, _record_ids(old), _record_ids(new)
    title = Direction.EITHER if reads.may_read("source.title") else Direction.NEITHER
    yield Kind.SOURCE_TITLE, title, old.title, new.title
