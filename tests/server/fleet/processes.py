"""Three server processes on one PostgreSQL, and clients that never stop asking two of them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import grpc
import psycopg
from google.protobuf.message import Message

from discreet.v1 import disclosure_pb2, server_pb2
from tests.postgres_server import PostgresServer
from tests.server.fleet.partition import Partition
from tests.server.support import CALL_S, PolicyRepo, Spawned, document, eventually, spawn, verdicts

PG_SOCKET = ".s.PGSQL.5432"
NAMES = ("a", "b", "c")
LEASE_S = 2.0
ASKING = 2
"""Clients of each server that is asked all the time."""


class Said(NamedTuple):
    """One question and what became of it, on the clock of the test."""

    server: str
    began: float
    ended: float
    verdict: str
    """The first verdict, or the status that the call ended with."""
    policy: int
    text: str = ""


@dataclass
class Fleet:
    """The servers by name; `said` is everything that the clients were told."""

    postgres: PostgresServer
    url: str
    directory: Path
    servers: dict[str, Spawned]
    line_of_c: Partition
    said: list[Said] = field(default_factory=list)
    _clients: list[asyncio.Task[None]] = field(default_factory=list)

    async def change(self, request: Message) -> str:
        """The token that server a answers a change with."""
        answer = await self.servers["a"].lines.operator.call(request)
        return str(getattr(answer, "token"))  # noqa: B009 - each of these answers has one

    async def wait(self, token: str) -> tuple[float, dict[str, str], server_pb2.WaitForServersResponse]:
        """When a wait through server a returned, and how each server stood then."""
        request = server_pb2.WaitForServersRequest(token=token, timeout_ms=25_000)
        answer = await self.servers["a"].lines.operator.call(request, within=CALL_S)
        returned = time.monotonic()
        assert isinstance(answer, server_pb2.WaitForServersResponse)
        assert answer.reached
        name = server_pb2.Acknowledgement.Name
        stand = {one.instance: name(one.acknowledgement).removeprefix("ACKNOWLEDGEMENT_") for one in answer.servers}
        return returned, stand, answer

    def ask_all_the_time(self, question: disclosure_pb2.CheckRequest, *names: str) -> None:
        """Asks these servers without a pause, until told to stop."""
        for name in names:
            self._clients += [asyncio.create_task(self._ask(name, question)) for _ in range(ASKING)]

    async def _ask(self, name: str, question: disclosure_pb2.CheckRequest) -> None:
        while True:
            said = await self.once(name, question)
            self.said.append(said)
            if said.verdict == "UNAVAILABLE":
                await asyncio.sleep(0.01)  # a server that is gone refuses at once

    async def once(self, name: str, question: disclosure_pb2.CheckRequest) -> Said:
        """One question to a server."""
        began = time.monotonic()
        try:
            answer = await self.servers[name].lines.agent.check(question, CALL_S)
        except grpc.aio.AioRpcError as error:
            return Said(name, began, time.monotonic(), error.code().name, 0, error.details() or "")
        return Said(name, began, time.monotonic(), verdicts(answer)[0][0], answer.policy.number)

    async def seen(self, name: str, wanted: Callable[[Said], bool], count: int = 20) -> None:
        """Returns once clients of a server were told so often what is wanted."""

        async def so_many() -> bool:
            return sum(one.server == name and wanted(one) for one in self.said) >= count

        await eventually(so_many, 2 * CALL_S)

    async def stop_asking(self) -> None:
        """Ends the clients."""
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)
        self._clients.clear()

    def send(self, name: str, number: signal.Signals) -> None:
        """A signal to a server."""
        self.servers[name].process.send_signal(number)

    @asynccontextmanager
    async def audit_locked(self) -> AsyncIterator[None]:
        """While it lasts, what was decided cannot be recorded, so that no answer leaves."""
        connection = await psycopg.AsyncConnection.connect(self.url)
        try:
            await connection.execute("LOCK TABLE audit_row IN EXCLUSIVE MODE")
            yield
        finally:
            await connection.close()

    async def decided_and_waiting(self) -> None:
        """Returns once somebody waits for the audit."""
        asking = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'audit_row'::regclass"
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:

            async def waits() -> bool:
                row = await (await connection.execute(asking)).fetchone()
                return row is not None and row[0] > 0

            await eventually(waits)


@asynccontextmanager
async def three(place: Path, repo: PolicyRepo, postgres: PostgresServer, **changes: float) -> AsyncIterator[Fleet]:
    """Three servers, of which c reaches the database over a line that can fall silent; one document is in the index."""
    url = postgres.fresh_database("template1")
    line = Partition(place / "pg" / PG_SOCKET, Path(postgres.directory) / PG_SOCKET)
    async with AsyncExitStack() as stack:
        await line.start()
        stack.push_async_callback(line.stop)
        servers: dict[str, Spawned] = {}
        for name in NAMES:
            directory = place / name
            directory.mkdir()
            db = url if name != "c" else f"{url.partition('host=')[0]}host={place / 'pg'}"
            servers[name] = await spawn(directory, repo.path, db=db, instance=name, lease_s=LEASE_S, **changes)
            stack.push_async_callback(_end, servers[name])
        fleet = Fleet(postgres, url, place, servers, line)
        await servers["a"].lines.collector.put(document(), document("handbook/staff", scopes=["staff"]))
        try:
            yield fleet
        finally:
            await fleet.stop_asking()
            line.heal()


async def _end(server: Spawned) -> None:
    with contextlib.suppress(ProcessLookupError):
        server.process.send_signal(signal.SIGCONT)
        server.process.kill()
    await server.lines.close()
    await server.process.wait()
