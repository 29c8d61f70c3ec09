"""What a replay came to as Markdown, for a pull request. Text from data cannot become markup: it stands in code."""

from collections.abc import Iterable, Iterator, Sequence

from discreet.cli.markdown import code
from discreet.cli.policy_replaying import NAMES_SHOWN, NOTHING, TITLES, Report, named, told
from discreet.cli.times import format_micros
from discreet.policy.replay import MEANINGS, Change, Group, Key, Tally

ROWS_MAX = 50
"""Groups of a change that are told; further ones are counted."""


def markdown(report: Report) -> str:
    """The report; newly allowed first."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    decisions, segments = report.outcome.decisions, report.outcome.segments
    period = f"{format_micros(report.period.since)} to {format_micros(report.period.until)}"
    tenant = f", tenant {code(report.period.tenant)}" if report.period.tenant else ""
    yield "## Recorded decisions under this policy"
    yield ""
    yield f"Against {code(report.against)}; decided {period}{tenant}."
    yield ""
    if not decisions.total:
        yield f"**{NOTHING}**"
        return
    yield from _table(("", "decisions", "stored segments"), _counts(decisions, segments))
    for change in Change:
        yield from _changes(TITLES[change], decisions, change, "decisions")
    for change in Change:
        yield from _changes(f"stored segments, {TITLES[change]}", segments, change, "ledger ids")
    yield from _causes("not replayable", decisions, "decisions")
    yield from _causes("stored segments, not replayable", segments, "ledger ids")


def _counts(decisions: Tally, segments: Tally) -> Iterator[tuple[str, ...]]:
    for change in Change:
        both = (decisions.count(change), segments.count(change))
        marked = "**" if change is Change.NEWLY_ALLOWED and any(both) else ""
        yield (f"{marked}{TITLES[change]}{marked}", *(f"{marked}{count}{marked}" for count in both))
    yield "unchanged", str(decisions.unchanged), str(segments.unchanged)
    yield "not replayable", str(decisions.without_replay), str(segments.without_replay)
    yield "all", str(decisions.total), str(segments.total)


def _changes(title: str, tally: Tally, change: Change, ids: str) -> Iterator[str]:
    groups = tally.ordered(change)
    if not groups:
        return
    yield from ("", f"### {title.capitalize()}: {tally.count(change)}", "")
    columns = ("count", "who", "moment", "label, record", "was", "would be", ids)
    yield from _table(columns, (_row(key, group) for key, group in groups[:ROWS_MAX]))
    if len(groups) > ROWS_MAX:
        yield from ("", f"And {len(groups) - ROWS_MAX} more kinds of change.")


def _row(key: Key, group: Group) -> tuple[str, ...]:
    return (
        str(group.count),
        _cell(named(group.principals.most(NAMES_SHOWN), len(group.principals.counts))),
        code(key.moment),
        _cell((key.label or "no label", *named(group.records.most(NAMES_SHOWN), len(group.records.counts)))),
        _cell(told(key.before)),
        _cell(told(key.after)),
        _cell(group.examples),
    )


def _causes(title: str, tally: Tally, ids: str) -> Iterator[str]:
    if not tally.causes:
        return
    yield from (
        "",
        f"### {title.capitalize()}: {tally.without_replay}",
        "",
        "These are not unchanged: nobody knows.",
        "",
    )
    rows = (
        (str(group.count), code(cause.value), MEANINGS[cause], _cell(group.examples))
        for cause, group in tally.ordered_causes()
    )
    yield from _table(("count", "cause", "meaning", ids), rows)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _cell(parts: Iterable[str]) -> str:
    return "<br>".join(code(part) for part in parts)
