"""The processes of a storm: servers on one PostgreSQL and one Redis behind a relay, and clients of each of them.

They follow the branch of one repository, each on its own. Everything is ended when the scene is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from discreet.policy.bundle import bundle, bundle_digest
from discreet.v1 import policy_pb2, server_pb2
from tests.postgres_server import PostgresServer
from tests.server.messages import document
from tests.server.redis.relay import Relay
from tests.server.support import CALL_S, Spawned, eventually, spawn
from tests.storm.client import Task
from tests.storm.redis_faults import RedisFaults
from tests.storm.repo import StormRepo
from tests.storm.sets import OPEN, SECRET, Kind, files_of
from tests.valkey_server import ValkeyServer

ROOT = Path(__file__).parents[2]
POLL_S = 0.1
"""How often servers look at the ref; with a bell they hear of what others publish sooner."""
IN_FORCE_S = 30.0
"""Beyond the poll interval: what a push may take until it is in force everywhere. Slow is not wrong; never is."""
ENDING_S = 20.0
STORE_S = 20.0
"""How long servers wait for the database: what is slow on a busy machine is to be answered, not refused."""
ROGUE = 999_999_999
"""The index of a set that nobody commits, and that a lying Redis gives: it lacks the rule."""
NEAR = 10


@dataclass
class Scene:
    """Running servers by name; the clients tell how many segments were decided."""

    servers: dict[str, Spawned]
    repo: StormRepo
    faults: RedisFaults
    url: str
    directory: Path
    clients: list[asyncio.subprocess.Process] = field(default_factory=list)
    _decided: list[int] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _listening: list[asyncio.Task[None]] = field(default_factory=list)

    @property
    def decided(self) -> int:
        """Segments that were decided so far, as far as told."""
        return sum(self._decided)

    @property
    def files(self) -> list[Path]:
        """Where the clients write what they are answered."""
        return [self.directory / f"answers-{number}" for number in range(len(self.clients))]

    async def ask(self, ways: list[str], repeats: int) -> None:
        """Begins another process of clients, one a way and server."""
        number = len(self.clients)
        targets = {name: f"unix:{one.ready['sockets']['agent']}" for name, one in self.servers.items()}  # type: ignore[index] # of the line READY
        task = Task(f"c{number}", targets, ways, repeats, str(self.directory / f"answers-{number}"))
        paths = os.pathsep.join(str(ROOT / part) for part in (".", "proto", "policy", "server", "client"))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.storm.client", cwd=ROOT, env=os.environ | {"PYTHONPATH": paths},
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self.clients.append(process)
        self._decided.append(0)
        self._listening.append(asyncio.create_task(self._listen(number)))
        assert process.stdin is not None
        process.stdin.write(task.text().encode() + b"\n")
        await process.stdin.drain()

    async def _listen(self, number: int) -> None:
        stdout = self.clients[number].stdout
        assert stdout is not None
        while line := await stdout.readline():
            self._decided[number] = int(line)
            self._news.set()
        self._news.set()

    async def decided_at_least(self, wanted: int) -> None:
        """Returns once so many segments were decided. AssertionError where a client ended."""
        while self.decided < wanted:
            self._news.clear()
            assert all(not one.done() for one in self._listening), "a client ended before it was told to"
            await self._news.wait()

    async def stop_asking(self) -> None:
        """Lets every client finish what is under way. AssertionError where one failed."""
        for client in self.clients:
            assert client.stdin is not None
            client.stdin.close()
        codes = await asyncio.wait_for(asyncio.gather(*(one.wait() for one in self.clients)), ENDING_S + CALL_S)
        await asyncio.gather(*self._listening)
        assert set(codes) <= {0}, f"clients ended with {codes}"

    async def status(self, name: str) -> server_pb2.GetStatusResponse:
        """What a server says of itself."""
        return await self.servers[name].lines.operator.status()

    async def in_force(self, commit: str) -> None:
        """Returns once every server decides under that commit."""

        async def everywhere() -> bool:
            found = [await self.status(name) for name in self.servers]
            return all(one.policy.commit == commit for one in found)

        await eventually(everywhere, POLL_S + IN_FORCE_S)

    async def pinned(self, commit: str) -> None:
        """Returns once every server has seen that its ref points at what was pinned out, and is settled."""

        async def everywhere() -> bool:
            found = [await self.status(name) for name in self.servers]
            return all(one.policy_pinned == commit and one.policy.commit != commit for one in found)

        await eventually(everywhere, POLL_S + IN_FORCE_S)

    async def revisions(self, name: str, count: int) -> list[policy_pb2.RevisionRecord]:
        """The newest revisions, as a server lists them."""
        answer = await self.servers[name].lines.auditor.call(policy_pb2.ListRevisionsRequest(page_size=count))
        assert isinstance(answer, policy_pb2.ListRevisionsResponse)
        return list(answer.revisions)

    async def roll_back(self, name: str, number: int) -> policy_pb2.RollbackRevisionResponse:
        """Brings an earlier revision back through a server."""
        request = policy_pb2.RollbackRevisionRequest(number=number, reason="it withholds too much")
        answer = await self.servers[name].lines.operator.call(request)
        assert isinstance(answer, policy_pb2.RollbackRevisionResponse)
        return answer

    @contextlib.contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        """Stops a server where it stands, for as long as the block lasts."""
        process = self.servers[name].process
        process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            process.send_signal(signal.SIGCONT)

    async def close(self) -> None:
        """Ends the clients, whatever they are at."""
        for client in self.clients:
            with contextlib.suppress(ProcessLookupError):
                client.kill()
            await client.wait()
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)


@asynccontextmanager
async def scene(directory: Path, repo: StormRepo, names: tuple[str, ...]) -> AsyncIterator[Scene]:
    """The servers, one a name, with the records of the storm in the index."""
    async with AsyncExitStack() as stack:
        postgres = PostgresServer()
        stack.callback(postgres.stop)
        valkey = ValkeyServer()
        stack.callback(valkey.stop)
        relay = Relay(valkey.port)
        await relay.start()
        stack.push_async_callback(relay.stop)
        url, servers = postgres.fresh_database(), dict[str, Spawned]()
        for name in names:
            place = directory / name
            place.mkdir()
            servers[name] = await spawn(
                place,
                repo.path,
                db=url,
                redis=relay.url,
                instance=name,
                poll_s=POLL_S,
                log_level="warning",
                store_timeout_s=STORE_S,
            )
            stack.push_async_callback(_end, servers[name])
        documents = document(OPEN), document(SECRET, source_label="secret")
        answer = await servers[names[0]].lines.collector.put(*documents)
        assert [one.kind for one in answer.outcomes] == [1, 1], answer
        rogue = bundle(_encoded(ROGUE, Kind.UNGUARDED))
        faults = RedisFaults(valkey, relay, rogue, lambda: _digests(len(repo.made)))
        stack.push_async_callback(faults.stop)
        made = Scene(servers, repo, faults, url, directory)
        stack.push_async_callback(made.close)
        yield made


def _encoded(index: int, kind: Kind = Kind.GOOD) -> dict[str, bytes]:
    return {name: text.encode() for name, text in files_of(index, kind).items()}


def _digests(newest: int) -> list[str]:
    """Of the sets around the newest commit: those that were published, and those that will be."""
    return [bundle_digest(_encoded(index)) for index in range(max(1, newest - NEAR), newest + NEAR)]


async def _end(server: Spawned) -> None:
    with contextlib.suppress(ProcessLookupError):
        server.process.send_signal(signal.SIGKILL)
    await server.lines.close()
    await server.process.wait()
