"""The root of the command line: its commands by name, and the edge at which errors become a line and an exit code."""

import sys
from importlib import import_module
from types import TracebackType

import click

from discreet.cli import exit_codes
from discreet.cli.errors import CliError
from discreet.cli.exit_codes import ExitCode
from discreet.cli.settings import shared_root_options

COMMANDS = {
    "serve": "discreet.cli.commands.serve:serve",
    "check": "discreet.cli.commands.disclose:check",
    "commit": "discreet.cli.commands.disclose:commit",
    "index": "discreet.cli.commands.index:index",
    "grant": "discreet.cli.commands.grant:grant",
    "freeze": "discreet.cli.commands.freeze:freeze",
    "unfreeze": "discreet.cli.commands.freeze:unfreeze",
    "freezes": "discreet.cli.commands.freeze:freezes",
    "hold": "discreet.cli.commands.hold:hold",
    "holder": "discreet.cli.commands.holder:holder",
    "purge": "discreet.cli.commands.purge:purge",
    "tombstone": "discreet.cli.commands.tombstone:tombstone",
    "approve": "discreet.cli.commands.approve:approve",
    "reject": "discreet.cli.commands.approve:reject",
    "approvals": "discreet.cli.commands.approve:approvals",
    "audit": "discreet.cli.commands.audit:audit",
    "status": "discreet.cli.commands.status:status",
    "policy": "discreet.cli.commands.policy:policy",
    "db": "discreet.cli.commands.db:db",
    "demo": "discreet.cli.commands.demo:demo",
}
"""Each command with where it is; a command's module is imported when it is asked for."""

_EPILOG = f"""\b
{exit_codes.table()}

\b
Completion, for bash, zsh or fish:
  eval "$(_DISCREET_COMPLETE=bash_source discreet)"
  eval "$(_DISCREET_COMPLETE=zsh_source discreet)"
  _DISCREET_COMPLETE=fish_source discreet | source

\b
Start here:
  discreet demo                      the whole story, with real parts
  discreet policy init DIR           a policy set to start from
  discreet serve --policy DIR        a server on this machine
"""


class _Commands(click.Group):
    """Finds its commands in COMMANDS, in that order."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command = getattr(import_module(module), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        import difflib

        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], list(COMMANDS), n=1)
            hint = f'; did you mean "{near[0]}"?' if near else ""
            raise click.UsageError(error.message.rstrip(".") + hint, ctx) from None


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        click.echo(f"discreet {version('discreet')}")
        ctx.exit()


@click.command("discreet", cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
@shared_root_options
def root() -> None:
    """Decides, segment by segment, what an agent may disclose, must withhold or must purge."""


def report(error: CliError) -> None:
    """Prints an error as one line that names what is wrong and what would be right."""
    from discreet.cli.escaping import safe_block

    click.echo(f"discreet: {safe_block(str(error))}", err=True)


def _unexpected(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    import os

    if os.environ.get("DISCREET_TRACEBACK"):
        sys.__excepthook__(kind, error, trace)
    else:
        click.echo(
            f"discreet: a defect: {kind.__name__}; set DISCREET_TRACEBACK=1 to see where, and report it", err=True
        )


def run(args: list[str] | None = None) -> None:
    """Runs the command line and exits. Never shows a traceback unless DISCREET_TRACEBACK is set."""
    sys.excepthook = _unexpected
    try:
        outcome = root.main(args=args, prog_name="discreet", standalone_mode=False)
    except CliError as error:
        report(error)
        sys.exit(error.exit_code)
    except click.Abort:
        click.echo("discreet: stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        _report_usage(error)
        sys.exit(ExitCode.USAGE)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(ExitCode.OK)
    sys.exit(outcome if isinstance(outcome, int) else ExitCode.OK)


def _report_usage(error: click.ClickException) -> None:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    hint = ""
    if isinstance(error, click.UsageError) and error.ctx is not None:
        hint = f"; see `{error.ctx.command_path} --help`"
    click.echo(f"discreet: {error.format_message().rstrip('.')}{hint}", err=True)
