"""What a replay came to, as plain values and as people read it. Decides nothing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from discreet.cli.printing import console, lines, note, print_pairs, print_table, text
from discreet.cli.reading import Tree
from discreet.cli.times import format_micros
from discreet.policy.replay import MEANINGS, Change, Group, Key, Outcome, Tally, Told

if TYPE_CHECKING:
    from rich.text import Text

    from discreet.server.replaying.pages import Period

NAMES_SHOWN = 5
"""Principals and records of a group that a report names."""

TITLES = {
    Change.NEWLY_ALLOWED: "newly allowed",
    Change.NEWLY_WITHHELD: "newly withheld",
    Change.PURGE: "to be purged on one side alone",
    Change.OTHERWISE: "the same verdict, otherwise told",
}


class FailOn(StrEnum):
    """What a replay is failed for."""

    NEWLY_ALLOWED = "newly-allowed"
    NEWLY_WITHHELD = "newly-withheld"
    PURGE = "purge"
    NOT_REPLAYABLE = "not-replayable"


@dataclass(frozen=True, slots=True)
class Report:
    """What was replayed, and what it came to."""

    against: str
    environment: str
    period: "Period"
    in_force: int
    """The number of the revision in force; 0: none."""
    outcome: Outcome

    def failed(self, wanted: Iterable[FailOn]) -> list[str]:
        """What came up of what must not, in words."""
        return [f"{count} {what}" for what in dict.fromkeys(wanted) for count in [self._count(what)] if count]

    def _count(self, what: FailOn) -> int:
        both = (self.outcome.decisions, self.outcome.segments)
        if what is FailOn.NOT_REPLAYABLE:
            return sum(tally.without_replay for tally in both)
        return sum(tally.count(Change(what.value)) for tally in both)


def report_tree(report: Report) -> "dict[str, Tree]":
    """The report as JSON."""
    return {
        "against": report.against,
        "environment": report.environment,
        "since": format_micros(report.period.since),
        "until": format_micros(report.period.until),
        "tenant": report.period.tenant,
        "policy_revision": report.in_force,
        "decisions": _tally_tree(report.outcome.decisions, "decision_ids"),
        "segments": _tally_tree(report.outcome.segments, "ledger_ids"),
    }


def _tally_tree(tally: Tally, ids: str) -> "dict[str, Tree]":
    counts: dict[str, Tree] = {change.value.replace("-", "_"): tally.count(change) for change in Change}
    changes: list[Tree] = [
        {**_key_tree(key), **_group_tree(group, ids)} for change in Change for key, group in tally.ordered(change)
    ]
    causes: list[Tree] = [
        {"cause": cause.value, "meaning": MEANINGS[cause], **_group_tree(group, ids)}
        for cause, group in tally.ordered_causes()
    ]
    whole: dict[str, Tree] = {"total": tally.total, "unchanged": tally.unchanged, **counts}
    left_out = sum(tally.overflow.values())
    return whole | {
        "not_replayable": tally.without_replay, "changes": changes, "changes_left_out": left_out, "causes": causes,
    }  # fmt: skip


def _key_tree(key: Key) -> "dict[str, Tree]":
    sides = {"before": key.before, "after": key.after}
    told: dict[str, Tree] = {name: {**side._asdict()} for name, side in sides.items()}
    return {"change": key.change.value, "moment": key.moment, "label": key.label, **told}


def _group_tree(group: Group, ids: str) -> "dict[str, Tree]":
    tree: dict[str, Tree] = {"count": group.count}
    for name, names in (("principals", group.principals), ("records", group.records)):
        tree[name] = [{"id": one, "count": count} for one, count in names.most(NAMES_SHOWN)]
        tree[f"{name}_total"] = len(names.counts)
        tree[f"{name}_counted_all"] = not names.others
    tree[ids] = list(group.examples)
    return tree


def print_report(report: Report) -> None:
    """Prints the report for people: who gains first."""
    decisions, segments = report.outcome.decisions, report.outcome.segments
    period = f"{format_micros(report.period.since)} to {format_micros(report.period.until)}"
    print_pairs(
        [
            ("against", report.against), ("environment", report.environment), ("decided", period),
            ("tenant", report.period.tenant), ("decisions", summary(decisions)),
            ("stored segments", summary(segments) if segments.total else ""),
        ]
    )  # fmt: skip
    if not decisions.total:
        note(NOTHING)
        return
    for change in Change:
        _print_changes(TITLES[change], decisions.ordered(change), "decisions")
    for change in Change:
        _print_changes(f"stored segments, {TITLES[change]}", segments.ordered(change), "ledger ids")
    for title, tally, ids in (
        ("not replayable", decisions, "decisions"), ("stored segments, not replayable", segments, "ledger ids"),
    ):  # fmt: skip
        if tally.causes:
            rows = [
                (str(group.count), cause.value, MEANINGS[cause], lines(*group.examples))
                for cause, group in tally.ordered_causes()
            ]
            print_table(title, ("count", "cause", "meaning", ids), rows)
    if decisions.causes:
        console().print(text("not replayable is not unchanged: nobody knows what becomes of those"))


NOTHING = "no decisions in the period: nothing was replayed, and nothing is shown by it"


def _print_changes(title: str, groups: list[tuple[Key, Group]], ids: str) -> None:
    if groups:
        columns = ("count", "who", "moment", "label, record", "was", "would be", ids)
        print_table(title, columns, [_row(key, group) for key, group in groups])


def _row(key: Key, group: Group) -> "list[Text | str]":
    return [
        str(group.count),
        lines(*named(group.principals.most(NAMES_SHOWN), len(group.principals.counts))),
        key.moment,
        lines(key.label or "no label", *named(group.records.most(NAMES_SHOWN), len(group.records.counts))),
        lines(*told(key.before)),
        lines(*told(key.after)),
        lines(*group.examples),
    ]  # fmt: skip


def named(most: list[tuple[str, int]], total: int) -> Iterator[str]:
    """Names with their counts, and how many there are besides."""
    yield from (f"{name} ({count})" for name, count in most)
    if total > len(most):
        yield f"and {total - len(most)} more"


def told(side: Told) -> Iterator[str]:
    """Verdict, reason and rule, as far as there are any."""
    yield side.verdict
    if side.reason != "NONE":
        yield side.reason
    if side.rule:
        yield f"rule {side.rule}"


def summary(tally: Tally) -> str:
    """The counts in one line; rare ones only where there are any."""
    shown = (Change.NEWLY_ALLOWED, Change.NEWLY_WITHHELD)
    parts = [f"{tally.count(change)} {TITLES[change]}" for change in Change if change in shown or tally.count(change)]
    return f"{tally.total}: {', '.join(parts)}, {tally.unchanged} unchanged, {tally.without_replay} not replayable"
