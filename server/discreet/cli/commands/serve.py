"""`discreet serve`: reads what the operator asks for and runs the server until it is told to stop."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from discreet.cli.errors import CliError, InputError, PolicySetError, Unreachable
from discreet.cli.settings import current, shared_options

if TYPE_CHECKING:
    from discreet.server.errors import StartRefused

_EPILOG = """\b
Examples:
  discreet serve --policy ./policies
  discreet serve --policy https://git.example.org/policies.git --ref refs/heads/main --db postgresql://discreet@db/discreet
  discreet serve --policy ./policies --dirty --socket-dir /run/discreet --listen agent=127.0.0.1:7411

A directory inside a Git repository is served as its HEAD has it, --dirty as its files stand; a directory without Git is
a revision marked dirty. --policy published follows no ref: it serves what others publish to the database. A URL with
credentials belongs into the configuration file, since every process can read the options of another. Without --config
there is one identity a role (agent, collector, operator, auditor, ...), each with its socket, for one developer on one
machine. Stop it with SIGTERM: calls under way are finished.
"""


def _without_password(ctx: click.Context, param: click.Parameter, url: str | None) -> str | None:
    given = ctx.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    if url is not None and given and ":" in url.partition("//")[2].rpartition("@")[0]:
        raise InputError(
            "--redis holds a password, which every process of this machine could read",
            "put the URL into the environment as DISCREET_REDIS, or into the configuration file as redis",
        )
    return url


@click.command(epilog=_EPILOG)
@click.option(
    "--policy", metavar="DIR|URL|published",
    help="Policy set: a directory, the URL of a Git repository, or what the database holds.",
)  # fmt: skip
@click.option("--ref", metavar="REF", help="Branch, tag, full ref or commit (default: HEAD).")
@click.option("--policy-path", metavar="DIR", help="With a URL: the directory of the policy set in the repository.")
@click.option(
    "--policy-webhook", metavar="127.0.0.1:PORT", help="Listen for POSTs that have the policy's source read at once."
)
@click.option(
    "--policy-webhook-secret-file", metavar="FILE",
    help="Secret that signs those POSTs (X-Hub-Signature-256); without it none is asked for.",
)  # fmt: skip
@click.option("--environment", metavar="NAME", help="Environment of the policy set, where it declares any.")
@click.option(
    "--dirty", is_flag=True, default=None, help="Serve the files of DIR as they stand, whatever is committed."
)
@click.option("--db", metavar="FILE|URL", help="SQLite file, or URL of a PostgreSQL database (default: discreet.db).")
@click.option(
    "--state", "state_dir", metavar="DIR",
    help="Directory for clones of policies, high-water marks, the audit spool (default: the user's state directory).",
)  # fmt: skip
@click.option("--listen", multiple=True, metavar="IDENTITY=127.0.0.1:PORT", help="Also listen on loopback as IDENTITY.")
@click.option("--metrics", metavar="127.0.0.1:PORT", help="Serve metrics in the Prometheus format at /metrics.")
@click.option("--metrics-public", is_flag=True, help="Let --metrics be served beyond loopback, to whoever reaches it.")
@click.option(
    "--approve-by-two",
    metavar="CHANGE,...",
    help="Changes that need a second operator: revoke, lift-hold, lift-tombstone (default: none).",
)
@click.option(
    "--redis", metavar="URL", envvar="DISCREET_REDIS", show_envvar=True, callback=_without_password,
    help="Redis that holds copies of policy revisions and tells servers of changes (default: none).",
)  # fmt: skip
@click.option("--redis-prefix", metavar="NAME", help="Stands before every key in a Redis that is shared.")
@click.option("--config", metavar="FILE", help="Configuration file; options win over it.")
@click.option("--instance", metavar="NAME", help="Name of this process in answers and audit (default: a random one).")
@click.option(
    "--poll", "poll_s", type=float, metavar="SECONDS", help="Time between two looks for new policies (default: 1)."
)
@click.option(
    "--lease", "lease_s", type=float, metavar="SECONDS",
    help="How long after its read of the state an answer may leave, 1 to 60 (default: 5).",
)  # fmt: skip
@click.option("--log-format", type=click.Choice(["console", "json"]), help="Form of the log lines (default: console).")
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    help="Lowest level that is logged (default: info).",
)
@shared_options
def serve(
    config: str | None,
    state_dir: str | None,
    listen: tuple[str, ...],
    metrics: str | None,
    metrics_public: bool,
    policy_webhook: str | None,
    policy_webhook_secret_file: str | None,
    approve_by_two: str | None,
    **options: str | bool | float | None,
) -> None:
    """Run the server until it is told to stop."""
    settings = current()
    from discreet.server.app import run
    from discreet.server.config import load_config, parse_by_two, parse_listen, parse_metrics, parse_webhook
    from discreet.server.errors import StartRefused

    try:
        given = {
            **options,
            "state_dir": Path(state_dir) if state_dir else None,
            "socket_dir": settings.socket_dir,
            "listen": tuple(parse_listen(text) for text in listen) or None,
            "metrics": parse_metrics(metrics, public=metrics_public) if metrics else None,
            "policy_webhook": parse_webhook(policy_webhook) if policy_webhook else None,
            "policy_webhook_secret_file": Path(policy_webhook_secret_file) if policy_webhook_secret_file else None,
            "approve_by_two": parse_by_two(approve_by_two) if approve_by_two is not None else None,
        }
        run(load_config(Path(config) if config else None, given))
    except StartRefused as error:
        raise as_cli_error(error) from None


def as_cli_error(error: "StartRefused") -> CliError:
    """The error of a start that was refused, with the exit code that the command line promises for its kind."""
    from discreet.server import errors

    by_kind: dict[type[errors.StartRefused], type[CliError]] = {
        errors.ConfigRefused: InputError,
        errors.PolicyRefused: PolicySetError,
        errors.StoreRefused: Unreachable,
        errors.ListenRefused: Unreachable,
        errors.InstanceTaken: InputError,
    }
    return by_kind.get(type(error), Unreachable)(str(error))
