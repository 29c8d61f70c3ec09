"""A sidecar as a process of its own, for one test: SQLite and sockets in a place that goes with it."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

START_S = 30.0
STOP_S = 15.0
COMMAND_S = 60.0


class SidecarFailed(Exception):
    """The sidecar did not start, or a command failed. The message holds its last words."""


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A running sidecar. One identity a role: agent, collector, operator, auditor, holder, publisher."""

    directory: Path
    """Where its database and its log lie."""
    socket_dir: Path
    sockets: Mapping[str, str]
    """Identity to the path of its socket."""
    tenant: str
    """The tenant that `cli` and the client ask for."""

    def target(self, identity: str = "agent") -> str:
        """The address at which the sidecar takes a caller for an identity; what a client is given."""
        return f"unix:{self.sockets[identity]}"

    def cli(self, *arguments: str, stdin: str = "") -> str:
        """What `discreet ARGUMENTS` prints, asked of this sidecar. Raises SidecarFailed where it does not end with 0.

        For what a test needs of the index, for example `cli("grant", "add", "ana", "desk", "--reason", "test")`.
        """
        command = [
            *(sys.executable, "-m", "discreet.cli", "--socket-dir", str(self.socket_dir), "--tenant", self.tenant),
            *arguments,
        ]
        done = subprocess.run(  # noqa: S603  (our own interpreter and module, no shell)
            command, input=stdin, capture_output=True, text=True, timeout=COMMAND_S, check=False, env=environment()
        )
        if done.returncode != 0:
            raise SidecarFailed(f"discreet {' '.join(arguments)}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout


def environment() -> dict[str, str]:
    """The environment of its processes: without settings that would lead to another server."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}


@contextmanager
def running(policy: Path, directory: Path, tenant: str, environment_name: str = "") -> Iterator[Sidecar]:
    """A sidecar on the files of a policy folder as they stand. Raises SidecarFailed where it does not start."""
    sockets = Path(tempfile.mkdtemp(prefix="discreet-"))  # short: the path of a socket has room for about 100 bytes
    command = [
        *(sys.executable, "-m", "discreet.cli", "--socket-dir", str(sockets), "serve", "--policy", str(policy)),
        *("--dirty", "--db", str(directory / "discreet.db"), "--state", str(directory / "state")),
        *(("--environment", environment_name) if environment_name else ()),
    ]
    log = directory / "sidecar.log"
    try:
        with log.open("wb") as told:
            process = subprocess.Popen(  # noqa: S603  (our own interpreter and module, no shell)
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=told, env=environment()
            )
        try:
            ready = _ready(process, log)
            yield Sidecar(directory, sockets, ready, tenant)
        finally:
            _stop(process)
    finally:
        shutil.rmtree(sockets, ignore_errors=True)


def _ready(process: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    """The sockets that the process names once it serves."""
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], START_S)
    line = process.stdout.readline() if readable else b""
    if not line.startswith(b"READY "):
        raise SidecarFailed(f"the sidecar did not start: {_last_words(log)}")
    said = json.loads(line.removeprefix(b"READY "))
    return {str(name): str(path) for name, path in said["sockets"].items()}


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return "\n".join(lines[-5:]) or "it said nothing"


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        if process.stdout is not None:
            process.stdout.close()
