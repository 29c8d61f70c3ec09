"""`discreet db`: what an operator does with the database itself, beside the server or while it is down."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from discreet.cli.errors import CliError, DatabaseFaults
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from discreet.server.ports import StoreError


@click.group()
def db() -> None:
    """Check a database, upgrade it, back it up, adopt one that was restored or failed over."""


def _db_option(command: "Callable[..., None]") -> "Callable[..., None]":
    return click.option(
        "--db", "url", metavar="FILE|URL", default="discreet.db", show_default=True,
        help="SQLite file, or URL of a PostgreSQL database.",
    )(command)  # fmt: skip


_CHECK_EPILOG = """\b
Examples:
  discreet db check --db /var/lib/discreet/discreet.db --state /var/lib/discreet
  discreet db check --db postgresql://discreet@db/discreet -o json

Reads alone, in one view of the database; a server may go on writing beside it. It reads everything: on a large database
it takes its time.
"""


@db.command(epilog=_CHECK_EPILOG)
@_db_option
@click.option("--state", metavar="DIR", help="Compare with the high-water mark that a server keeps there.")
@shared_options
def check(url: str, state: str | None) -> None:
    """Say how a database stands and all that is wrong with it. Exit code 7 where anything is."""
    settings = current()
    from discreet.cli.database import compare_with, existing_state, print_report, report_tree
    from discreet.cli.printing import print_tree
    from discreet.server.ports import StoreError
    from discreet.server.stores.keeping import look_over

    try:
        report = look_over(url, None if state is None else compare_with(existing_state(state)))
    except StoreError as error:
        raise _unreachable(error) from None
    if settings.output == "pretty":
        print_report(report)
    else:
        print_tree(settings, report_tree(report))
    if report.faults:
        raise DatabaseFaults(f"{len(report.faults)} found wrong with {report.shown}", "see above what to do")


_UPGRADE_EPILOG = """\b
Example:
  discreet db backup before.db && discreet db upgrade

Servers never upgrade a database by themselves: stop them, back it up, upgrade, start the new ones.
"""


@db.command(epilog=_UPGRADE_EPILOG)
@_db_option
@shared_options
def upgrade(url: str) -> None:
    """Bring the schema of a database up to date, whole or not at all."""
    settings = current()
    from discreet.cli.printing import print_tree
    from discreet.server.ports import StoreError
    from discreet.server.stores.keeping import upgrade_database

    try:
        before, after = upgrade_database(url)
    except StoreError as error:
        raise _unreachable(error) from None
    if settings.output != "pretty":
        print_tree(settings, {"schema_before": before, "schema_after": after})
    elif before == after:
        click.echo(f"nothing to do: the schema is {after}")
    else:
        click.echo(f"upgraded from schema {before} to {after}")


_BACKUP_EPILOG = """\b
Example:
  discreet db backup --db /var/lib/discreet/discreet.db /backup/discreet-2026-11-30.db

The copy is one moment of the database, even while a server writes to it; it was looked over as by `discreet db check`
before it gets its name. Restored, it is behind what servers have seen: they refuse it until `discreet db adopt`.
"""


@db.command(epilog=_BACKUP_EPILOG)
@_db_option
@click.argument("file", metavar="FILE")
@shared_options
def backup(url: str, file: str) -> None:
    """Copy a SQLite database to FILE, which must not be there yet. A server may go on writing meanwhile."""
    settings = current()
    from discreet.cli.database import report_tree
    from discreet.cli.printing import print_tree
    from discreet.server.ports import StoreError
    from discreet.server.stores.keeping import back_up

    try:
        report = back_up(url, Path(file))
    except StoreError as error:
        raise _unreachable(error) from None
    if settings.output != "pretty":
        print_tree(settings, {"file": file, **report_tree(report)})
    elif report.head is not None:
        click.echo(f"{file}: a sound copy of the database as it was at {report.head.seq}")


_ADOPT_EPILOG = """\b
Examples:
  discreet db adopt --db /var/lib/discreet/discreet.db --state /var/lib/discreet --reason "disk lost, backup of Sunday"
  discreet db adopt --db postgresql://discreet@db2/discreet --reason "failover to db2"

For a database that was restored from a backup, or a standby that was promoted: it may lack what was committed since, a
revoke among it, so servers refuse it. Stop them first. Run it where the server runs, with the server's --state: then it
says what was lost, and that server takes the database. A server that saw more than was accepted goes on refusing.
"""


@db.command(epilog=_ADOPT_EPILOG)
@_db_option
@click.option("--state", metavar="DIR", help="Where the server keeps its high-water mark (default: as for serve).")
@click.option(
    "--instance", default="", metavar="NAME",
    help="Name of a server whose state directory is lost: what it saw of the database is not known.",
)  # fmt: skip
@click.option("--reason", required=True, help="Why; it is recorded.")
@click.option(
    "--actor", default="", metavar="NAME", help="Who answers for it; it is recorded (default: the user of this system)."
)
@shared_options
def adopt(url: str, state: str | None, instance: str, reason: str, actor: str) -> None:
    """Accept a database that may have lost something: it gets a new epoch, and the audit says what was lost."""
    settings = current()
    from getpass import getuser

    from discreet.cli.database import adopted_tree, compare_with, existing_state, print_adopted
    from discreet.cli.printing import print_tree
    from discreet.server.config import default_state_dir
    from discreet.server.ports import StoreError
    from discreet.server.stores.keeping import adopt_database

    compare = compare_with(default_state_dir() if state is None else existing_state(state), instance)
    try:
        done = adopt_database(url, compare, actor=actor or getuser(), reason=reason)
    except StoreError as error:
        raise _unreachable(error) from None
    if settings.output == "pretty":
        print_adopted(done)
    else:
        print_tree(settings, adopted_tree(done))


def _unreachable(error: "StoreError") -> CliError:
    from discreet.cli.errors import Unreachable

    return Unreachable(str(error))
