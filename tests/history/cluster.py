"""The servers of a history and what befalls them: killed and restarted, stopped and continued, their lines cut."""

from __future__ import annotations

import asyncio
import random
import signal
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tests.history.reading_back import Place
from tests.history.relay import Relay
from tests.history.serving import Server, start

PAUSES_S = (0.02, 0.3, 1.2)
"""How long a stopped server stays so: shorter and longer than what others wait for."""
FAULTS = ("kill", "cut", "pause", "cut")
PG_SOCKET = ".s.PGSQL.5432"
SERVERS = {"sqlite": 1, "postgresql": 3}
"""A SQLite file has one server; workers beside it come later."""


@dataclass(slots=True)
class Cluster:
    """Server processes on one database. The first one's lines to PostgreSQL, and its agents' lines, can be cut."""

    directory: Path
    policy: Path
    place: Place
    faults: Counter[str] = field(default_factory=Counter)
    _servers: list[Server] = field(default_factory=list)
    _relays: list[Relay] = field(default_factory=list)

    async def start(self) -> None:
        """Starts the servers and the relays."""
        for number in range(SERVERS[self.place.kind]):
            directory = self.directory / f"v{number}"
            directory.mkdir()
            if number == 0 and self.place.kind == "postgresql":
                await self._relay(directory / "pg" / PG_SOCKET, Path(self.place.url.partition("host=")[2]) / PG_SOCKET)
            self._servers.append(await self._spawn(number))
        (self.directory / "r").mkdir()
        await self._relay(self.directory / "r" / "agent.sock", self._socket("agent"))

    async def _relay(self, path: Path, target: Path) -> None:
        path.parent.mkdir(exist_ok=True)
        self._relays.append(Relay(path, target))
        await self._relays[-1].start()

    def _socket(self, identity: str) -> Path:
        return Path(self._servers[0].sockets[identity].removeprefix("unix:"))

    def sites(self) -> list[dict[str, str]]:
        """Where clients may go: each server, and the first one over a line that is cut now and then."""
        found = [server.sockets for server in self._servers]
        return [*found, found[0] | {"agent": f"unix:{self.directory}/r/agent.sock"}]

    async def _spawn(self, number: int) -> Server:
        url = self.place.url
        directory = self.directory / f"v{number}"
        if number == 0 and self.place.kind == "postgresql":
            url = f"{url.partition('host=')[0]}host={directory}/pg"
        return await start(directory, self.policy, url)

    async def fault(self, chance: random.Random) -> None:
        """One misfortune."""
        number = chance.randrange(len(self._servers))
        kind = FAULTS[sum(self.faults.values()) % len(FAULTS)]
        self.faults[kind] += 1
        if kind == "kill":
            await self._servers[number].kill()
            self._servers[number] = await self._spawn(number)
        elif kind == "pause":
            process = self._servers[number].process
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(chance.choice(PAUSES_S))
            process.send_signal(signal.SIGCONT)
        else:
            chance.choice(self._relays).cut()

    @property
    def lines_cut(self) -> int:
        """How many lines were cut in all."""
        return sum(relay.cuts for relay in self._relays)

    async def stop(self) -> None:
        """Stops everything; what is under way is finished."""
        for server in self._servers:
            await server.terminate()
        for relay in self._relays:
            await relay.stop()
