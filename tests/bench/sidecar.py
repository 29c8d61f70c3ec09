"""A Discreet server process for a measurement, with the scenario's policy, records and grants in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

import grpc

from discreet.v1 import (
    index_pb2,
    index_pb2_grpc,
    server_pb2,
    server_pb2_grpc,
)
from tests.bench import scenario

CHECK = "/discreet.v1.DisclosureService/Check"


@dataclass(frozen=True, slots=True)
class Sidecar:
    """A running server: its sockets and its process."""

    sockets: Path
    pid: int

    def target(self, role: str) -> str:
        """Where an identity of the zero-configuration default listens."""
        return f"unix:{self.sockets / f'{role}.sock'}"


@contextmanager
def server(db: str | None = None, files: dict[str, str] | None = None) -> Iterator[Sidecar]:
    """A server on `db` (None: a new SQLite file) that serves the policy files, ready to answer."""
    with tempfile.TemporaryDirectory(prefix="dbench-") as home:
        policy, sockets = Path(home, "policy"), Path(home, "run")
        policy.mkdir()
        for name, content in (files or scenario.policy_files()).items():
            (policy / name).write_text(content)
        command = [sys.executable, "-m", "discreet.cli", "serve", "--policy", str(policy)]
        command += ["--db", db or str(Path(home, "discreet.db")), "--state", str(Path(home, "state"))]
        command += ["--socket-dir", str(sockets), "--log-level", "warning"]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) as process:
            sidecar = Sidecar(sockets, process.pid)
            try:
                _wait(sidecar, process)
                yield sidecar
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(30)


def _wait(sidecar: Sidecar, process: subprocess.Popen[bytes]) -> None:
    pause = Event()
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError("the server ended while it was starting; its log says why")
        try:
            with grpc.insecure_channel(sidecar.target("operator")) as channel:
                stub = server_pb2_grpc.ServerServiceStub(channel)
                if stub.GetStatus(server_pb2.GetStatusRequest(), timeout=2).ready:
                    return
        except grpc.RpcError:
            pass
        pause.wait(0.05)
    raise RuntimeError("the server is not ready after 30 s")


def fill(sidecar: Sidecar) -> None:
    """Registers the scenario's records and grants."""
    with grpc.insecure_channel(sidecar.target("collector")) as channel:
        index = index_pb2_grpc.IndexServiceStub(channel)
        for label in scenario.LABELS:
            documents = scenario.document_inputs(label)
            index.PutDocuments(index_pb2.PutDocumentsRequest(tenant=scenario.TENANT, documents=documents), timeout=30)
    with grpc.insecure_channel(sidecar.target("operator")) as channel:
        index = index_pb2_grpc.IndexServiceStub(channel)
        for reader in scenario.READERS:
            for scope in scenario.READER_SCOPES:
                grant = index_pb2.GrantScopeRequest(
                    tenant=scenario.TENANT, principal_id=reader, scope=scope, reason="benchmark"
                )
                index.GrantScope(grant, timeout=30)
