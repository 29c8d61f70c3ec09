"""`--wait`: after a change, until no server can answer under the state before it. Decides nothing about the change."""

from typing import TYPE_CHECKING, Any

import click

from discreet.cli.errors import CliError, InputError, NotEverywhere
from discreet.cli.settings import Settings

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from discreet.v1.server_pb2 import ServerState, WaitForServersResponse

WAIT_S = 10.0
WAIT_S_MAX = 60.0
SPARE_S = 5.0
"""How long the call may take beyond the wait itself."""
STANDS = "the change stands"


def _seconds(_ctx: click.Context, _param: click.Parameter, value: str | None) -> float | None:
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        raise InputError("--wait: is no number of seconds", "write --wait=SECONDS, or --wait behind all else") from None
    if not 0 < seconds <= WAIT_S_MAX:
        raise InputError("--wait is out of range", f"give seconds, above 0 and up to {WAIT_S_MAX:g}")
    return seconds


def wait_option(command: Any) -> Any:
    """The command with the option `--wait[=SECONDS]`; it is handed on as `wait`, None where it is not given."""
    return click.option(
        "--wait", is_flag=False, flag_value=f"{WAIT_S:g}", default=None, metavar="[SECONDS]", callback=_seconds,
        help=f"Wait until no server answers under the state before, at most so long (--wait alone: {WAIT_S:g}).",
    )(command)  # fmt: skip


def wait_for_servers(settings: Settings, wait: float | None, answer: "Message", identity: str = "operator") -> None:
    """Waits for the state that a change was answered with, and names each server that did not acknowledge it.

    Does nothing without `--wait`. Raises NotEverywhere where the servers were not reached in time, or cannot be asked:
    the change stands all the same.
    """
    if wait is None:
        return
    from discreet.cli.printing import note

    if getattr(answer, "approval_id", ""):
        note("nothing is waited for: nothing was changed yet")
        return
    try:
        found = _asked(settings, wait, getattr(answer, "token", ""), identity)
    except CliError as error:
        raise NotEverywhere(f"{STANDS}, but it is not known which servers have it: {error}") from None
    for server in found.servers:
        if line := _line(server):
            note(line)
    count = len(found.servers)
    if not found.reached:
        raise NotEverywhere(
            f"{STANDS}, but after {found.waited_ms / 1_000:g} s not every server is known to have it",
            "wait again with a longer --wait, or see `discreet status`",
        )
    note(f"no server answers under the state before: {count} seen, after {found.waited_ms / 1_000:g} s")


def _asked(settings: Settings, wait: float, token: str, identity: str) -> "WaitForServersResponse":
    from dataclasses import replace

    from discreet.cli.connection import connect
    from discreet.v1.server_pb2 import WaitForServersRequest
    from discreet.v1.server_pb2_grpc import ServerServiceStub

    request = WaitForServersRequest(token=token, timeout_ms=max(1, round(wait * 1_000)))
    with connect(replace(settings, deadline_s=wait + SPARE_S), identity) as line:
        return line.call(ServerServiceStub(line.channel).WaitForServers, request)


def _line(server: "ServerState") -> str:
    """What is to be said of a server; empty where it acknowledged the state."""
    from discreet.cli.telling import at
    from discreet.v1.server_pb2 import ACKNOWLEDGEMENT_GIVEN, ACKNOWLEDGEMENT_LEASE_RAN_OUT

    if server.acknowledgement == ACKNOWLEDGEMENT_GIVEN:
        return ""
    last = f"last heard of at {at(server.seen_at)}"
    if server.ended:
        return f"{server.instance}: ended"
    if server.acknowledgement == ACKNOWLEDGEMENT_LEASE_RAN_OUT:
        return f"{server.instance}: did not acknowledge it; its lease of {server.lease_ms} ms has run out; {last}"
    problem = f"; {server.problem}" if server.problem else ""
    return f"{server.instance}: has not acknowledged it yet, and may still answer as before; {last}{problem}"
