"""A sidecar: `discreet serve` as a process of its own, and what it is asked over its sockets."""

import json
import os
import sys
from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path

from discreet.cli.connection import connect
from discreet.cli.errors import CliError
from discreet.cli.settings import Settings
from discreet.v1.disclosure_pb2 import CheckRequest, CheckResponse
from discreet.v1.disclosure_pb2_grpc import DisclosureServiceStub
from discreet.v1.server_pb2 import (
    GetStatusRequest,
    GetStatusResponse,
    WaitForServersRequest,
    WaitForServersResponse,
)
from discreet.v1.server_pb2_grpc import ServerServiceStub
from docs.examples.fleet.program import Program

HTTP_S = 10.0


class Sidecar:
    """One server process; `options` are those of `discreet serve` that it has beyond what all of them have."""

    def __init__(self, name: str, place: Path, options: list[str]) -> None:
        self.name = name
        self.settings = Settings(socket_dir=place / name)
        self._log = place / f"{name}.log"
        self._command = [
            sys.executable, "-m", "discreet.cli", "--socket-dir", str(place / name), "serve", "--instance", name,
            "--state", str(place / f"{name}-state"), "--metrics", "127.0.0.1:0", *options,
        ]  # fmt: skip
        self._program: Program | None = None
        self._addresses: dict[str, str] = {}

    def start(self) -> None:
        """Starts the process and waits until it can decide. Raises NotStarted."""
        self._log.unlink(missing_ok=True)
        self._program = Program(self._command, self._log, env=surroundings())
        self._program.wait_until(self._ready)
        self._addresses = json.loads(self._ready_line().removeprefix("READY "))

    def stop(self) -> None:
        """Tells it to stop and waits for its end."""
        if self._program is not None:
            self._program.stop()

    def _ready(self) -> bool:
        try:
            return bool(self._ready_line()) and self.status().ready
        except CliError:
            return False

    def _ready_line(self) -> str:
        lines = self._log.read_text("utf-8", errors="replace").splitlines(keepends=True)
        return next((line for line in lines if line.startswith("READY ") and line.endswith("\n")), "")

    def check(self, request: CheckRequest) -> CheckResponse:
        """What it says to an agent."""
        with connect(self.settings, "agent") as line:
            return line.call(DisclosureServiceStub(line.channel).Check, request)

    def status(self) -> GetStatusResponse:
        """How it says it stands."""
        with connect(self.settings, "operator") as line:
            return line.call(ServerServiceStub(line.channel).GetStatus, GetStatusRequest())

    def waited_for(self, token: str) -> WaitForServersResponse:
        """Which servers acknowledged a state."""
        with connect(self.settings, "operator") as line:
            return line.call(ServerServiceStub(line.channel).WaitForServers, WaitForServersRequest(token=token))

    def look(self) -> int:
        """Tells it by its webhook that the repository has something new; returns the HTTP status."""
        return self._http("policy_webhook", "POST", "/")[0]

    def metric(self, name: str) -> int:
        """The value of one of its metrics, named with its labels."""
        text = self._http("metrics", "GET", "/metrics")[1]
        found = [line.removeprefix(f"{name} ") for line in text.splitlines() if line.startswith(f"{name} ")]
        return int(float(found[0])) if found else -1

    def _http(self, which: str, method: str, path: str) -> tuple[int, str]:
        line = HTTPConnection(self._addresses[which], timeout=HTTP_S)
        try:
            line.request(method, path, body=b"" if method == "POST" else None)
            answer = line.getresponse()
            return answer.status, answer.read().decode()
        finally:
            line.close()


def surroundings(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: without settings that whoever runs the demo has for servers of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DISCREET_")}
    return {**kept, **(more or {})}
