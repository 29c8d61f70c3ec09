"""The example's service on a real sidecar process, with a writer whose every step a test can stop at."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn

from discreet.cli.demo.server_process import ServerProcess
from discreet.client import AsyncClient, Binding, Delta, End
from discreet.v1 import index_pb2, purge_pb2
from docs.examples.streaming.app import Rows, create
from tests.e2e.streaming.wire import Wire
from tests.server.messages import digest, document, ref
from tests.server.support import TENANT, Lines, PolicyRepo, eventually

Act = Callable[[], Awaitable[None]]
READER, SESSION = "ana", "session-1"
# Letters that stand nowhere but at the beginning of a word of a part: fewer may come about by chance.
BARE = 2
RULES = """apiVersion: discreet/v1
kind: DisclosurePolicy
name: rules
rules:
  - id: allow-sources
    effect: ALLOW
    moments: [RETRIEVE, PUBLISH, REPLAY, EXPORT]
    sources: [handbook]
"""
CLOSED = """  - id: closed-{topic}
    effect: WITHHOLD
    moments: [PUBLISH, REPLAY, EXPORT]
    sources: [handbook]
    when: has(document.attributes.topic) && document.attributes.topic == "{topic}"
"""


@dataclass(frozen=True, slots=True)
class Part:
    """A segment that the writer writes: its words, none of which is anywhere else, and the record that it rests on."""

    words: tuple[str, ...]
    record_id: str

    @property
    def text(self) -> str:
        """The words as they are shown."""
        return "".join(f"{word} " for word in self.words)

    @property
    def pieces(self) -> list[str]:
        """Every beginning of every word of two letters or more, and every beginning of the text of one word or more."""
        begun = [word[:length] for word in self.words for length in range(BARE, len(word) + 1)]
        return list(dict.fromkeys([*begun, *(" ".join(self.words[:count]) for count in range(1, len(self.words) + 1))]))


@dataclass(slots=True)
class Sidecar:
    """A sidecar process, its policy repository, and what operators and collectors say to it."""

    process: ServerProcess
    repo: PolicyRepo
    closed: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def lines(self) -> AsyncIterator[Lines]:
        """Lines of this event loop."""
        found = Lines({name: f"{self.process.sockets}/{name}.sock" for name in ("operator", "collector", "auditor")})
        yield found
        await found.close()

    def of(self, identity: str) -> Path:
        """The socket of an identity."""
        return self.process.sockets / f"{identity}.sock"


@dataclass(slots=True)
class Changes:
    """What may happen to the record of one topic."""

    sidecar: Sidecar
    lines: Lines
    topic: str

    @property
    def secret(self) -> str:
        """The record that the changes are about."""
        return f"handbook/{self.topic}"

    async def stock(self) -> None:
        """Registers an open record and the topic's own, which Ana may read by a grant."""
        own = document(self.secret, scopes=[f"board-{self.topic}"])
        own.attributes["topic"].string_value = self.topic
        put = await self.lines.collector.put(document("handbook/open"), own)
        assert all(outcome.kind != index_pb2.PutOutcome.KIND_REFUSED for outcome in put.outcomes)
        await self.lines.operator.call(
            index_pb2.GrantScopeRequest(
                tenant=TENANT, principal_id=READER, scope=f"board-{self.topic}", reason="on the board"
            )
        )

    async def revoke(self) -> None:
        """The explicit retention revoke."""
        await self.lines.operator.call(
            index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(self.secret), reason="withdrawn", ticket="T-1")
        )

    async def suspend(self) -> None:
        """Hides the record for now."""
        await self.lines.operator.call(
            index_pb2.SuspendRequest(tenant=TENANT, record=ref(self.secret), reason="looked into")
        )

    async def withdraw(self) -> None:
        """Takes Ana's scope."""
        await self.lines.operator.call(
            index_pb2.WithdrawScopeRequest(
                tenant=TENANT, principal_id=READER, scope=f"board-{self.topic}", reason="left the board"
            )
        )

    async def unreachable(self) -> None:
        """Marks the record as one that cannot be reached."""
        await self.lines.operator.call(
            index_pb2.MarkUnreachableRequest(tenant=TENANT, record=ref(self.secret), reason="gone from the share")
        )

    async def hold(self) -> None:
        """Places a legal hold."""
        asked = purge_pb2.PlaceHoldRequest(tenant=TENANT, reason="a court asked", ticket="T-2")
        asked.record.CopyFrom(ref(self.secret))
        await self.lines.operator.call(asked)

    async def policy(self) -> None:
        """A commit with a rule that closes the topic; returns when it is in force."""
        self.sidecar.closed.append(CLOSED.format(topic=self.topic))
        commit = self.sidecar.repo.commit({"rules.yaml": RULES + "".join(self.sidecar.closed)})

        async def in_force() -> bool:
            return (await self.lines.operator.status()).policy.commit == commit

        await eventually(in_force, 30)


class Script:
    """Writes parts word by word, one segment each, and stops where a test wants it to act."""

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        # By place: ("begun" | "half" | "written" | "ended", number of the part).
        self.at: dict[tuple[str, int], Act] = {}
        self.closed = asyncio.Event()
        self.written = 0

    async def write(self, question: str, reader: str, session: str, begun: int) -> AsyncIterator[Delta | End]:
        """As the service wants it."""
        del question, reader, session
        try:
            for number, part in list(enumerate(self.parts))[begun:]:
                bound = Binding(part.record_id, "1", digest(f"{part.record_id}@1"))
                await self._reach("begun", number)
                for at, word in enumerate(part.words):
                    if at == len(part.words) // 2:
                        await self._reach("half", number)
                    yield Delta(f"{word} ", (bound,))
                await self._reach("written", number)
                self.written = number + 1
                yield End()
                await self._reach("ended", number)
        finally:
            self.closed.set()

    async def _reach(self, what: str, number: int) -> None:
        act = self.at.pop((what, number), None)
        if act is not None:
            await act()


@dataclass(slots=True)
class Stage:
    """A running service."""

    port: int
    script: Script
    rows: Path
    client: AsyncClient

    async def ask(self, answer: str, reader: str = READER, session: str = SESSION, **headers: str) -> Wire:
        """One request."""
        return await Wire.ask(self.port, f"/sessions/{session}/answers/{answer}", x_reader=reader, **headers)

    def stored(self) -> bytes:
        """Every byte of the service's own store."""
        return b"".join(path.read_bytes() for path in sorted(self.rows.parent.glob(f"{self.rows.name}*")))


@asynccontextmanager
async def service(
    place: Path, target: str, script: Script, *, send_buffer: int = 0, **settings: Any
) -> AsyncIterator[Stage]:
    """The example's service under uvicorn, on a port of its own, asking a sidecar at `target`.

    With `send_buffer` the system takes so many bytes from it before a reader must have read.
    """
    client = AsyncClient(target, tenant=TENANT, **settings)
    rows = place / f"segments-{os.urandom(4).hex()}.db"
    app = create(client, Rows(str(rows)), script.write)
    config = uvicorn.Config(app, log_level="warning", ws="none", http="h11", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        if send_buffer:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        task = asyncio.create_task(server.serve([listener]))

        async def started() -> bool:
            return server.started or task.done()

        await eventually(started)
        try:
            yield Stage(listener.getsockname()[1], script, rows, client)
        finally:
            server.should_exit = True
            await task
