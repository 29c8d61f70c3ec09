"""What every command shares: where the server is, which tenant, how to print. Options stand before or behind it.

Must know nothing of single commands, and imports neither gRPC nor rich.
"""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click

from discreet.cli.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

OUTPUTS = ("pretty", "json", "jsonl")
SHEETS = (*OUTPUTS, "csv")
"""Of commands that list what an auditor takes into a spreadsheet."""
LOCALES = ("en", "zh-Hans")
DEADLINE_S = 10.0
_KEY = "discreet.settings"


@dataclass(slots=True)
class Settings:
    """The shared options, filled in as click reads them. `target` wins over `socket_dir`."""

    socket_dir: Path | None = None
    target: str = ""
    identity: str = ""
    tenant: str = ""
    output: str = "pretty"
    locale: str = ""
    deadline_s: float = DEADLINE_S

    def address(self, identity: str) -> str:
        """The gRPC target at which the server knows the caller as `identity`, or as the one that was named instead."""
        if self.target:
            return self.target
        return f"unix:{self.sockets() / f'{self.identity or identity}.sock'}"

    def sockets(self) -> Path:
        """The directory of the server's sockets."""
        return self.socket_dir if self.socket_dir is not None else default_socket_dir()


def default_socket_dir() -> Path:
    """Where a server without configuration puts its sockets."""
    import warnings

    from platformdirs import user_runtime_path

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return user_runtime_path("discreet")


def current() -> Settings:
    """The settings of the running command."""
    settings = click.get_current_context().find_root().meta.setdefault(_KEY, Settings())
    assert isinstance(settings, Settings)
    return settings


def _store(name: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(ctx: click.Context, _: click.Parameter, value: Any) -> None:
        if value is not None:
            settings = ctx.find_root().meta.setdefault(_KEY, Settings())
            setattr(settings, name, Path(value) if name == "socket_dir" else value)

    return keep


def _deadline(ctx: click.Context, param: click.Parameter, value: float | None) -> None:
    if value is not None and not 0 < value <= 3600:
        raise InputError("--deadline is out of range", "give seconds, above 0 and up to 3600")
    _store("deadline_s")(ctx, param, value)


def shared_options(command: Callable[P, R]) -> Callable[P, R]:
    """The command with the shared options."""
    return _with_options(command, root=False)


def listing_options(command: Callable[P, R]) -> Callable[P, R]:
    """The command with the shared options, and CSV as a way to print."""
    return _with_options(command, root=False, outputs=SHEETS)


def shared_root_options(command: Callable[P, R]) -> Callable[P, R]:
    """The root with the shared options; here they may also come from the environment."""
    return _with_options(command, root=True)


def _with_options(command: Callable[P, R], root: bool, outputs: tuple[str, ...] = OUTPUTS) -> Callable[P, R]:

    def env(name: str) -> str | None:
        return f"DISCREET_{name}" if root else None

    options = [
        click.option("--socket-dir", metavar="DIR", envvar=env("SOCKET_DIR"), callback=_store("socket_dir"),
                     expose_value=False, hidden=not root, help="Directory of the server's sockets."),
        click.option("--target", metavar="TARGET", envvar=env("TARGET"), callback=_store("target"), expose_value=False,
                     hidden=not root, help="gRPC target in place of a socket, for example 127.0.0.1:7411."),
        click.option("--identity", metavar="NAME", envvar=env("IDENTITY"), callback=_store("identity"),
                     expose_value=False, hidden=not root, help="Identity to call as (default: the role needed)."),
        click.option("--tenant", metavar="TENANT", envvar=env("TENANT"), callback=_store("tenant"), expose_value=False,
                     help="Tenant (default: the identity's only one)."),
        click.option("-o", "--output", type=click.Choice(outputs), callback=_store("output"), expose_value=False,
                     help="How to print (default: pretty)."),
        click.option("--locale", type=click.Choice(LOCALES), callback=_store("locale"), expose_value=False,
                     hidden=not root, help="Language of the disclosure texts (default: en)."),
        click.option("--deadline", type=float, metavar="SECONDS", callback=_deadline, expose_value=False,
                     hidden=not root, help=f"Longest time for a call (default: {DEADLINE_S:g})."),
    ]  # fmt: skip
    return functools.reduce(lambda inner, option: option(inner), reversed(options), command)


def quiet_transport() -> None:
    """Keeps the transport's own log lines off the terminal, unless the user asks for them."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
