"""A server process of a history, with an identity for each part that is played. Must know nothing of histories."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.history.world import HOLDERS

ROOT = Path(__file__).parents[2]
READY_TIMEOUT_S = 60
STOP_TIMEOUT_S = 30
ROLES = {role: role for role in ("agent", "collector", "operator", "auditor")} | dict.fromkeys(HOLDERS, "holder")
"""The role of each identity."""


@dataclass(slots=True)
class Server:
    """A running server. `sockets`: its address for each identity."""

    process: asyncio.subprocess.Process
    sockets: dict[str, str]

    async def kill(self) -> None:
        """Ends it as a power cut would."""
        self.process.kill()
        await self.process.wait()

    async def terminate(self) -> None:
        """Lets it finish what is under way."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self.process.wait(), STOP_TIMEOUT_S)


async def start(directory: Path, policy: Path, db: str) -> Server:
    """A server once it says READY; AssertionError with its last words where it does not."""
    config = directory / "discreet-server.yaml"
    identities = "".join(f'  - {{name: {name}, role: {role}, tenants: "*"}}\n' for name, role in ROLES.items())
    config.write_text(
        f"identities:\n{identities}policy: {policy}\ndb: {db}\nsocket-dir: {directory}/s\n"
        f"state-dir: {directory}/state\ninstance: {directory.name}\npoll-s: 0.1\ndrain-s: 0\nlog-level: error\n"
    )
    paths = os.pathsep.join(str(ROOT / part) for part in (".", "proto", "policy", "server", "client"))
    with (directory / "log").open("ab") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "discreet.cli", "serve", "--config", str(config), cwd=directory,
            env=os.environ | {"PYTHONPATH": paths}, stdout=asyncio.subprocess.PIPE, stderr=log,
        )  # fmt: skip
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), READY_TIMEOUT_S)
    if not line.startswith(b"READY "):
        await process.wait()
        raise AssertionError(f"exit {process.returncode}: {(directory / 'log').read_text()[-2_000:]}")
    sockets = json.loads(line.removeprefix(b"READY "))["sockets"]
    return Server(process, {name: f"unix:{str(path).removeprefix('unix:')}" for name, path in sockets.items()})
