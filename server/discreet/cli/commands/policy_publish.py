"""`discreet policy publish`: the policy set of one commit comes into force, whole or not at all."""

from typing import TYPE_CHECKING

import click

from discreet.cli.errors import InputError
from discreet.cli.settings import current, shared_options
from discreet.cli.waiting import wait_for_servers, wait_option

if TYPE_CHECKING:
    from discreet.cli.policy_publishing import Published

_EPILOG = """\b
Examples:
  discreet policy publish --repo policies --ref main
  discreet policy publish --repo https://git.example/policies.git --ref refs/heads/live --wait
  discreet policy publish --repo . --policy-path policies --dry-run

The server compiles the set, runs its tests, and publishes it only if no other revision came into force since the ref
was read; if one did, the ref is read again. The commit in force is left as it is.

Exit code: 0 in force, 3 the set has problems, 4 its tests fail, 9 --wait ran out.
"""


@click.command(epilog=_EPILOG)
@click.option("--repo", required=True, metavar="URL|PATH", help="The repository, or a directory in it.")
@click.option("--ref", default="", metavar="REF", help="Branch, tag or commit (default: HEAD).")
@click.option(
    "--policy-path", default="", metavar="DIR", help="Directory of the policy set, seen from what --repo names."
)
@click.option("--dry-run", is_flag=True, help="Compile, test and compare, and publish nothing.")
@wait_option
@shared_options
def publish(repo: str, ref: str, policy_path: str, dry_run: bool, wait: float | None) -> None:
    """Bring the policy set of one commit into force, whole or not at all."""
    if dry_run and wait is not None:
        raise InputError("--wait has nothing to wait for after --dry-run", "leave one of them out")
    from discreet.cli.connection import connect
    from discreet.cli.policy_publishing import patient, reading
    from discreet.cli.policy_publishing import publish as published
    from discreet.cli.telling import tell

    settings = patient(current())
    with connect(settings, "publisher") as line, reading(repo, ref, policy_path) as read:
        done = published(line, read, dry_run=dry_run)
    tell(settings, _said(done), done.response)
    wait_for_servers(settings, wait, done.response, "publisher")


def _said(done: "Published") -> str:
    response, origin = done.response, done.request.origin
    number, tests = response.revision.number, response.tests
    by = f" by {origin.author}" if origin.author else ""
    what = (
        f'commit {response.revision.commit[:12]} "{origin.subject}"{by}; {tests} test{"" if tests == 1 else "s"} passed'
    )
    if not response.published and not done.request.dry_run:
        return f"revision {number} is in force already: {what}"
    if done.request.dry_run:
        would = "would be" if response.published else "is in force already:"
        return f"revision {number} {would} {what}; nothing was published"
    return f"revision {number} is in force: {what}"
