"""Cerbos, the nearest peer, on the same job: its server from the npm package, its policies and requests made here.

The facts travel in the request, as Cerbos wants them; Discreet reads them from its index. One resource a segment.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, cast

from cerbos.effect.v1 import effect_pb2
from cerbos.request.v1 import request_pb2
from cerbos.response.v1 import response_pb2
from google.protobuf import struct_pb2

from tests.bench import scenario
from tests.bench.load import BUILD, Missing

Facts = dict[str, "str | bool | list[str]"]
PACKAGE = "@cerbos/cerbos-linux-x64"
METHOD = "/cerbos.svc.v1.CerbosService/CheckResources"
_CHECKS = ("label_ok", "scope_ok", "version_eq", "sha_eq", "fresh", "retained")
_VARIABLES = """  variables:
    local:
      label_ok: R.attr.source_label in P.attr.allowed_labels
      scope_ok: hasIntersection(P.attr.scopes, R.attr.source_scopes)
      version_eq: R.attr.binding_version == R.attr.index_version
      sha_eq: R.attr.binding_sha256 == R.attr.index_sha256
      fresh: timestamp(R.attr.assessment_expires) > now()
      retained: R.attr.retention_state == "active"
"""


def binary() -> Path:
    """The server's binary, installed with npm into the build folder. Raises Missing naming npm or the package."""
    home = BUILD / "cerbos"
    program = home / "node_modules" / "@cerbos" / "cerbos-linux-x64" / "cerbos-linux-x64"
    if not program.exists():
        if shutil.which("npm") is None:
            raise Missing("npm")
        home.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-save", "--silent", "--prefix", str(home), PACKAGE]
        subprocess.run(command, capture_output=True, check=False, timeout=300)
    if not program.exists():
        raise Missing(f"the npm package {PACKAGE}")
    return program.resolve()


def policies(rules: int = scenario.RULES) -> Path:
    """A policy folder with one deciding rule and others on the same kind and action that never match."""
    folder = BUILD / "cerbos-policies"
    folder.mkdir(parents=True, exist_ok=True)
    deciding = [f"V.{name}" for name in _CHECKS] + ['R.attr.review_state == "approved"']
    bodies = [_rule(deciding)]
    bodies += [_rule([f'R.attr.review_state == "never-{i}"', 'P.id != ""']) for i in range(rules - 1)]
    head = 'apiVersion: "api.cerbos.dev/v1"\nresourcePolicy:\n  resource: segment\n  version: default\n'
    (folder / "segment.yaml").write_text(f"{head}{_VARIABLES}  rules:\n{''.join(bodies)}")
    return folder


def _rule(conditions: list[str]) -> str:
    lines = "".join(f"              - expr: {json.dumps(c)}\n" for c in conditions)
    head = '    - actions: ["retrieve"]\n      effect: EFFECT_ALLOW\n      roles: ["agent"]\n'
    return f"{head}      condition:\n        match:\n          all:\n            of:\n{lines}"


@contextmanager
def server() -> Iterator[tuple[str, int]]:
    """A running server: its loopback address and process id."""
    program = binary()
    http, grpc = _free_port(), _free_port()
    folder = BUILD / "cerbos-run"
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "server": {"httpListenAddr": f"127.0.0.1:{http}", "grpcListenAddr": f"127.0.0.1:{grpc}"},
        "telemetry": {"disabled": True},
        "storage": {"driver": "disk", "disk": {"directory": str(policies().resolve()), "watchForChanges": False}},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    command = [str(program), "server", "--config", str((folder / "config.yaml").resolve()), "--log-level=error"]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as process:
        try:
            _wait(f"http://127.0.0.1:{http}/_cerbos/health", process)
            yield f"127.0.0.1:{grpc}", process.pid
        finally:
            process.terminate()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    pause = Event()
    for _ in range(600):
        if process.poll() is not None:
            raise Missing("a Cerbos that starts (see build/bench/cerbos-run/log)")
        try:
            with urllib.request.urlopen(url, timeout=1) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pause.wait(0.05)
    raise Missing("a Cerbos that answers within 30 s")


def request(question: scenario.Question) -> bytes:
    """The question as Cerbos is asked."""
    asked = request_pb2.CheckResourcesRequest(request_id="bench")
    asked.principal.id = question.reader
    asked.principal.roles.append("agent")
    _attributes(
        asked.principal.attr,
        {"allowed_labels": scenario.LISTED, "scopes": scenario.READER_SCOPES, "tenant": scenario.TENANT},
    )
    for index, pair in enumerate(question.pairs):
        entry = asked.resources.add()
        entry.actions.append("retrieve")
        entry.resource.kind = "segment"
        entry.resource.id = f"seg-{index}"
        _attributes(entry.resource.attr, _facts(pair))
    data: bytes = asked.SerializeToString()
    return data


def _facts(pair: tuple[scenario.Doc, scenario.Doc]) -> Facts:
    worst = next((doc for doc in pair if doc.label not in scenario.LISTED), pair[0])
    return {
        "tenant": scenario.TENANT,
        "source_label": worst.label,
        "source_scopes": scenario.RECORD_SCOPES,
        "binding_version": scenario.VERSION,
        "index_version": scenario.VERSION,
        "binding_sha256": worst.digest,
        "index_sha256": worst.digest,
        "assessment_expires": "2030-01-01T00:00:00Z",
        "retention_state": "active",
        "review_state": "approved",
        "export_ok": True,
    }


def _attributes(target: MutableMapping[str, struct_pb2.Value], facts: Facts) -> None:
    packed = struct_pb2.Struct()
    packed.update(cast(Mapping[str, Any], facts))  # the stubs do not know that lists may be given
    for name, value in packed.fields.items():
        target[name].CopyFrom(value)


def allowed(reply: bytes) -> list[bool]:
    """For each resource of a CheckResourcesResponse, whether the action is allowed."""
    answer = response_pb2.CheckResourcesResponse.FromString(reply)
    return [entry.actions["retrieve"] == effect_pb2.EFFECT_ALLOW for entry in answer.results]
