"""Real parts for the server's tests.

Policy repositories made with Git, servers in process and as processes, calls as bytes.
"""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.message import Message

from discreet.server.app import Server
from discreet.server.config import ServerConfig
from discreet.server.logs import make_log
from discreet.server.ports import Clock, Store
from discreet.v1 import audit_pb2, authority_pb2, disclosure_pb2, index_pb2, policy_pb2, purge_pb2, server_pb2
from tests.server.messages import (
    TENANT,
    binding,
    check,
    commit,
    commit_verdicts,
    digest,
    document,
    ref,
    segment,
    verdicts,
)
from tests.server.repos import POLICY, PolicyRepo, git, make_repo
from tests.server.seeds import seed

__all__ = [
    "METHODS",
    "POLICY",
    "TENANT",
    "Line",
    "Lines",
    "PolicyRepo",
    "Running",
    "Spawned",
    "audit_rows",
    "binding",
    "check",
    "commit",
    "commit_verdicts",
    "config_of",
    "digest",
    "document",
    "eventually",
    "git",
    "in_process",
    "make_repo",
    "ref",
    "segment",
    "serve_from",
    "spawn",
    "verdicts",
]

CALL_S = 30
"""How long a call or a wait may take that no test is about: it ends what hangs, and slow is not wrong."""


class Line:
    """Calls as one identity, on messages or on bytes."""

    def __init__(self, target: str) -> None:
        self.channel = grpc.aio.insecure_channel(target)

    async def raw(self, method: str, data: bytes, within: float | None = CALL_S) -> bytes:
        """The answer's bytes; `method` is `Service/Method`."""
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = self.channel.unary_unary(f"/discreet.v1.{method}")
        answer: bytes = await call(data, timeout=within)
        return answer

    async def call(self, request: Message, within: float | None = CALL_S) -> Message:
        """The answer to a request, whose method follows from its type."""
        service, method, answer = METHODS[type(request).__name__]
        return answer.FromString(await self.raw(f"{service}/{method}", request.SerializeToString(), within))

    async def refused(self, request: Message | tuple[str, bytes]) -> grpc.aio.AioRpcError:
        """The error that a call ends with."""
        try:
            await (self.call(request) if isinstance(request, Message) else self.raw(*request))
        except grpc.aio.AioRpcError as error:
            return error
        raise AssertionError("the call was not refused")

    # What each test asks most.
    async def check(
        self, request: disclosure_pb2.CheckRequest, within: float | None = CALL_S
    ) -> disclosure_pb2.CheckResponse:
        """Check."""
        answer = await self.call(request, within)
        assert isinstance(answer, disclosure_pb2.CheckResponse)
        return answer

    async def commit(self, request: disclosure_pb2.CommitRequest) -> disclosure_pb2.CommitResponse:
        """Commit."""
        answer = await self.call(request)
        assert isinstance(answer, disclosure_pb2.CommitResponse)
        return answer

    async def put(self, *documents: index_pb2.DocumentInput, tenant: str = TENANT) -> index_pb2.PutDocumentsResponse:
        """PutDocuments."""
        answer = await self.call(index_pb2.PutDocumentsRequest(tenant=tenant, documents=documents))
        assert isinstance(answer, index_pb2.PutDocumentsResponse)
        return answer

    async def evidence(self, *evidence: index_pb2.EvidenceInput) -> index_pb2.RegisterEvidenceResponse:
        """RegisterEvidence."""
        answer = await self.call(index_pb2.RegisterEvidenceRequest(tenant=TENANT, evidence=evidence))
        assert isinstance(answer, index_pb2.RegisterEvidenceResponse)
        return answer

    async def get(self, record_id: str, version: str = "", *, history: bool = False) -> index_pb2.GetRecordResponse:
        """GetRecord."""
        asked = index_pb2.GetRecordRequest(tenant=TENANT, record_id=record_id, version=version, history=history)
        answer = await self.call(asked)
        assert isinstance(answer, index_pb2.GetRecordResponse)
        return answer

    async def status(self) -> server_pb2.GetStatusResponse:
        """GetStatus."""
        answer = await self.call(server_pb2.GetStatusRequest())
        assert isinstance(answer, server_pb2.GetStatusResponse)
        return answer

    async def decisions(self, **filters: object) -> list[audit_pb2.DecisionRecord]:
        """All decisions that match, newest first."""
        request = audit_pb2.QueryDecisionsRequest(**filters)  # type: ignore[arg-type] # the filters of each test
        found: list[audit_pb2.DecisionRecord] = []
        while True:
            answer = await self.call(request)
            assert isinstance(answer, audit_pb2.QueryDecisionsResponse)
            found += answer.decisions
            if not answer.next_page_token:
                return found
            request.page_token = answer.next_page_token


def _methods() -> dict[str, tuple[str, str, type[Message]]]:
    from google.protobuf.message_factory import GetMessageClass

    found = {}
    for file in (disclosure_pb2, index_pb2, authority_pb2, purge_pb2, policy_pb2, audit_pb2, server_pb2):
        for service in file.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                found[method.input_type.name] = (service.name, method.name, GetMessageClass(method.output_type))
    return found


METHODS = _methods()


class Lines:
    """One line an identity of a running server."""

    def __init__(self, sockets: Mapping[str, str]) -> None:
        self._sockets = sockets
        self._lines: dict[str, Line] = {}

    def __getitem__(self, identity: str) -> Line:
        if identity not in self._lines:
            self._lines[identity] = Line(f"unix:{self._sockets[identity]}")
        return self._lines[identity]

    @property
    def agent(self) -> Line:
        """The identity of that name, as in the default of one identity a role."""
        return self["agent"]

    @property
    def collector(self) -> Line:
        """See `agent`."""
        return self["collector"]

    @property
    def operator(self) -> Line:
        """See `agent`."""
        return self["operator"]

    @property
    def auditor(self) -> Line:
        """See `agent`."""
        return self["auditor"]

    async def close(self) -> None:
        """Closes all channels."""
        for line in self._lines.values():
            await line.channel.close()


@dataclass(frozen=True, slots=True)
class Running:
    """A server in this process, its lines and its log."""

    server: Server
    lines: Lines
    log: io.StringIO


def config_of(directory: Path, policy: Path | str, **changes: Any) -> ServerConfig:
    """A configuration in a directory of its own."""
    base = ServerConfig(
        policy=str(policy),
        db=str(directory / "discreet.db"),
        socket_dir=directory / "s",
        state_dir=directory / "state",
        instance="test",
        poll_s=0.05,
        drain_s=0,
        grace_s=5,
    )
    return dataclasses.replace(base, **changes)


@asynccontextmanager
async def in_process(
    config: ServerConfig, *, store: Store | None = None, clock: Clock | None = None
) -> AsyncIterator[Running]:
    """A server in this event loop, stopped at the end."""
    log = io.StringIO()
    if store is None:
        seed(config.db)
    server = Server(config, make_log("json", "debug", log), store=store, clock=clock)
    await server.start()
    lines = Lines(server.listeners.sockets)
    try:
        yield Running(server, lines, log)
    finally:
        await lines.close()
        await server.stop()


@dataclass(slots=True)
class Spawned:
    """A server as a process of its own."""

    process: asyncio.subprocess.Process
    ready: dict[str, object]
    lines: Lines

    async def terminate(self) -> int:
        """Its exit code after SIGTERM."""
        await self.lines.close()
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), 20)


_PROGRAM = "import sys, json, pathlib; from tests.server.support import serve_from; sys.exit(serve_from(sys.argv[1]))"


def serve_from(settings: str) -> int:
    """Runs a server from settings in JSON; for a process of its own."""
    from discreet.cli.commands.serve import as_cli_error
    from discreet.server.app import run
    from discreet.server.config import load_config
    from discreet.server.errors import StartRefused

    given = json.loads(settings)
    for name in given.keys() & {"socket_dir", "state_dir", "policy_webhook_secret_file"}:
        given[name] = Path(given[name])
    try:
        return run(load_config(None, given))
    except StartRefused as error:
        sys.stderr.write(f"{error}\n")
        return as_cli_error(error).exit_code


async def spawn(directory: Path, policy: Path | str, **changes: Any) -> Spawned:
    """A server as a process, once it says READY. AssertionError with its last words where it does not."""
    settings = {
        "policy": str(policy), "db": str(directory / "discreet.db"), "socket_dir": str(directory / "s"),
        "state_dir": str(directory / "state"), "poll_s": 0.05, "drain_s": 0.0, **changes,
    }  # fmt: skip
    seed(str(settings["db"]))
    root = Path(__file__).parents[2]
    with (directory / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _PROGRAM, json.dumps(settings), cwd=root,
            env=os.environ | {"PYTHONPATH": _path(root)}, stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), 30)
    if not line.startswith(b"READY "):
        await process.wait()
        raise AssertionError(f"exit {process.returncode}: {(directory / 'log').read_text()[-2_000:]}")
    ready = json.loads(line.removeprefix(b"READY "))
    return Spawned(process, ready, Lines(ready["sockets"]))


def _path(root: Path) -> str:
    return os.pathsep.join([str(root), *(str(root / part) for part in ("proto", "policy", "server", "client"))])


def audit_rows(db: str) -> list[audit_pb2.AuditRow]:
    """Every audit row of a SQLite store, in the order of writing."""
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT body FROM audit_row ORDER BY writer, n, ordinal").fetchall()
    return [audit_pb2.AuditRow.FromString(body) for (body,) in found]


async def eventually(check_it: Callable[[], Awaitable[bool]], seconds: float = CALL_S) -> None:
    """Returns once an async predicate holds; AssertionError where it does not in time."""
    async with asyncio.timeout(seconds):
        holds = await check_it()
        while not holds:
            await asyncio.sleep(0.02)
            holds = await check_it()
