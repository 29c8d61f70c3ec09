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
from tests.server.support import Spawned, spawn

PAUSES_S = (0.02, 0.3, 1.2)
"""How long a stopped server stays so: shorter and longer than what others wait for."""
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
    _servers: list[Spawned] = field(default_factory=list)
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
        return Path(self._addresses(0)[identity].removeprefix("unix:"))

    def _addresses(self, number: int) -> dict[str, str]:
        """The addresses of a server, by identity."""
        sockets = self._servers[number].ready["sockets"]
        assert isinstance(sockets, dict)
        return {name: f"unix:{path}" for name, path in sockets.items()}

    def sites(self) -> list[dict[str, str]]:
        """Where clients may go: each server, and the first one over a line that is cut now and then."""
        found = [self._addresses(number) for number in range(len(self._servers))]
        return [*found, found[0] | {"agent": f"unix:{self.directory}/r/agent.sock"}]

    async def _spawn(self, number: int) -> Spawned:
        url = self.place.url
        directory = self.directory / f"v{number}"
        if number == 0 and self.place.kind == "postgresql":
            url = f"{url.partition('host=')[0]}host={directory}/pg"
        given = {"db": url, "instance": f"v{number}", "log_level": "error", "grace_s": 5.0}
        return await spawn(directory, self.policy, **given)

    async def fault(self, chance: random.Random) -> None:
        """One misfortune."""
        number = chance.randrange(len(self._servers))
        kind = chance.choice(("kill", "pause", "cut", "cut"))
        self.faults[kind] += 1
        if kind == "kill":
            self._servers[number].process.kill()
            await self._servers[number].process.wait()
            await self._servers[number].lines.close()
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
