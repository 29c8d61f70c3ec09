"""A server as a process of its own, started by the command line and waited for until it is ready."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from discreet.cli.connection import connect
from discreet.cli.errors import CliError, Unreachable
from discreet.cli.settings import Settings
from discreet.v1.server_pb2 import GetStatusRequest, GetStatusResponse
from discreet.v1.server_pb2_grpc import ServerServiceStub

START_S = 30.0
STOP_S = 15.0
POLL_S = 0.05


class ServerProcess:
    """`discreet serve` with SQLite in a directory of its own. Its log is `server.log` there."""

    def __init__(self, directory: Path, policy: Path, *arguments: str) -> None:
        self.directory = directory
        self.sockets = directory / "s"
        self.log = directory / "server.log"
        self._command = [
            sys.executable, "-m", "discreet.cli", "--socket-dir", str(self.sockets), "serve",
            "--policy", str(policy), "--db", str(directory / "discreet.db"), "--state", str(directory / "state"),
            "--poll", "0.1", *arguments,
        ]  # fmt: skip
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def settings(self) -> Settings:
        """The shared options with which a command reaches this server."""
        return Settings(socket_dir=self.sockets)

    def start(self) -> None:
        """Starts the process and waits until it is ready. Raises Unreachable with its last words where it ends."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  (our own interpreter and module, no shell)
                self._command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.directory, env=env
            )
        deadline = time.monotonic() + START_S
        while not self._ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise Unreachable("the server did not start", self._last_words())
            time.sleep(POLL_S)

    def _ready(self) -> bool:
        try:
            return self.status().ready
        except CliError:
            return False

    def status(self) -> GetStatusResponse:
        """How the server says it stands. Raises CliError."""
        with connect(self.settings, "operator") as line:
            return line.call(ServerServiceStub(line.channel).GetStatus, GetStatusRequest())

    def stop(self) -> int:
        """Tells the process to stop, waits, and returns its exit code; kills it where it does not end in time."""
        if self._process is None:
            return 0
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _last_words(self) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"
