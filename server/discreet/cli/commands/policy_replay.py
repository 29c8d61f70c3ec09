"""`discreet policy replay`: recorded decisions under a policy that is not in force yet. Reads the database itself."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import CliError, InputError, ReplayDiffers
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.cli.policy_replaying import Report
    from discreet.server.ports import Head
    from discreet.server.replaying.pages import Period

FAIL_ON = ("newly-allowed", "newly-withheld", "purge", "not-replayable")

_EPILOG = """\b
Examples:
  discreet policy replay --against policies
  discreet policy replay --against HEAD --repo policies --since 7d --markdown replay.md --fail-on newly-allowed
  discreet policy replay --against v2 --db postgresql://discreet@db/discreet -o json

Each decision is made again on the facts and at the time that the audit names: first under the revision that made it,
where it must come out byte by byte, then under the candidate. What cannot be made again is counted apart, with its
cause. The database is only read; servers may go on beside it.

Exit code: 0 done, 3 the candidate has problems, 12 something of --fail-on came up.
"""


@click.command(epilog=_EPILOG)
@click.option(
    "--against", required=True, metavar="REF|DIR", help="The candidate: a folder, or a branch, tag or commit."
)
@click.option(
    "--repo",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Take --against as a ref of this repository: the policy set of this folder in it.",
)
@click.option("--environment", metavar="NAME", help="Of the candidate (default: that of the revision in force).")
@click.option(
    "--db",
    "url",
    metavar="FILE|URL",
    default="discreet.db",
    show_default=True,
    help="SQLite file, or URL of a PostgreSQL database.",
)
@click.option(
    "--since", default="7d", show_default=True, metavar="TIME", help="Decisions from then on: RFC 3339, or a span."
)
@click.option("--until", default="now", show_default=True, metavar="TIME", help="Decisions before then.")
@click.option("--markdown", type=click.Path(path_type=Path), metavar="FILE", help="Also write Markdown.")
@click.option(
    "--fail-on",
    "fail_on",
    type=click.Choice(FAIL_ON),
    multiple=True,
    help="End with 12 where any decision or stored segment is that; may be repeated.",
)
@click.option("--jobs", type=click.IntRange(1, 64), metavar="N", help="Processes (default: one a core).")
@shared_options
def replay(
    against: str,
    repo: Path | None,
    environment: str | None,
    url: str,
    since: str,
    until: str,
    markdown: Path | None,
    fail_on: tuple[str, ...],
    jobs: int | None,
) -> None:  # fmt: skip
    """Decide recorded decisions again under a candidate, and say who gains, who loses, and what nobody can know."""
    from discreet.cli.policy_replaying import FailOn
    from discreet.server.ports import StoreError

    try:
        report = _report(against, repo, environment, url, (since, until), jobs or 0)
    except StoreError as error:
        raise _unreachable(error) from None
    _print(report, markdown)
    came_up = report.failed([FailOn(one) for one in fail_on])
    if came_up:
        raise ReplayDiffers(f"{', '.join(came_up)} under {report.against}", "see above which, and under which rule")


def _report(
    against: str, repo: Path | None, environment: str | None, url: str, times: tuple[str, str], jobs: int
) -> "Report":
    from discreet.cli.policy_candidate import candidate_of
    from discreet.cli.policy_replaying import Report
    from discreet.cli.progress import decisions_bar
    from discreet.server.replaying import Job, replay_period, start, total

    settings = current()
    started = start(url)
    period = _period(started.head, times, settings.tenant)
    wanted = started.environment if environment is None else environment
    named = candidate_of(settings, against, repo, wanted)
    with decisions_bar(total(url, period)) as progress:
        outcome = replay_period(Job(url, period, named.candidate, started.head, jobs), progress)
    return Report(named.shown, wanted, period, started.head.policy_revision, outcome)


def _period(head: "Head", times: tuple[str, str], tenant: str) -> "Period":
    from discreet.cli.times import parse_moment_of_time
    from discreet.policy.facts import Micros
    from discreet.server.replaying.pages import Period

    since, until = (Micros(parse_moment_of_time(one, head.now)) for one in times)
    if until <= since:
        raise InputError("--until is not after --since", "give a later time")
    # A decision of this very moment is one of before now.
    return Period(since, Micros(min(until, head.now) + 1) if times[1] == "now" else until, tenant)


def _print(report: "Report", file: Path | None) -> None:
    from discreet.cli import policy_replaying
    from discreet.cli.policy_replay_markdown import markdown
    from discreet.cli.printing import print_tree

    settings = current()
    if file is not None:
        try:
            file.write_text(markdown(report), encoding="utf-8")
        except OSError as error:
            raise InputError(f"{file}: {(error.strerror or 'cannot be written').lower()}") from None
    if settings.output == "pretty":
        policy_replaying.print_report(report)
    else:
        print_tree(settings, policy_replaying.report_tree(report))


def _unreachable(error: Exception) -> CliError:
    from discreet.cli.errors import Unreachable

    return Unreachable(str(error))
