"""`discreet policy diff`: what changes in meaning between two policy sets. Needs no server."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError, PolicyDiffers
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.policy.diff import Difference

_EPILOG = """\b
Examples:
  discreet policy diff main..HEAD --path policies
  discreet policy diff origin/main...HEAD --fail-on loosens --markdown diff.md
  discreet policy diff --dirty
  discreet policy diff HEAD ./policies

A range is as in Git: a side left out is HEAD, `OLD...NEW` begins where both parted, and OLD alone is compared with the
files as they lie there. A side that begins with `/`, `./` or `../` is a folder as it lies there. Layout, comments, the
order of files and rules, and names of constants are no change.

Exit code: 0 compared, 3 a set has problems, 12 what --fail-on names came up.
"""


@click.command(epilog=_EPILOG)
@click.argument("sides", nargs=-1, metavar="[OLD..NEW]")
@click.option(
    "-C", "repo", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="As if started in DIR."
)
@click.option("--path", default="", metavar="DIR", help="Directory of the policy set, seen from where you are.")
@click.option("--dirty", is_flag=True, help="The new side is the files as they lie there.")
@click.option(
    "--environment", default="", metavar="NAME", help="Only as served in this environment (default: in each)."
)
@click.option(
    "--markdown",
    "report",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Also write Markdown, for a pull request.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["loosens", "change"]),
    help="End with 12 where something loosens or may loosen, or where anything changes in meaning.",
)
@shared_options
def diff(
    sides: tuple[str, ...],
    repo: Path,
    path: str,
    dirty: bool,
    environment: str,
    report: Path | None,
    fail_on: str | None,
) -> None:
    """Say what changes in meaning between two commits or folders: what loosens first."""
    settings = current()
    from discreet.cli.policy_differences import counts, difference_tree, markdown, print_difference
    from discreet.cli.policy_problems import uncollected
    from discreet.cli.policy_sides import editions_of, names_of, sides_of
    from discreet.cli.printing import print_tree
    from discreet.policy.diff import compare_sets

    pair = sides_of(names_of(sides, dirty), repo, path)
    old, new = editions_of(settings, pair, environment)
    with uncollected():
        found = compare_sets(old, new)
    if report is not None:
        _write(report, markdown(pair, found))
    if settings.output == "pretty":
        print_difference(pair, found)
    else:
        print_tree(settings, difference_tree(pair, found))
    if _fails(found, fail_on):
        raise PolicyDiffers(counts(found), f"look at them before they are merged (--fail-on {fail_on})")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{file}: {(error.strerror or 'cannot be written').lower()}", "name another file") from None


def _fails(found: "Difference", fail_on: str | None) -> bool:
    return bool(found.changes) if fail_on == "change" else fail_on == "loosens" and found.may_loosen
