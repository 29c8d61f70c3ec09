"""The example's README is true: its commands run as they stand, and what it says happens."""

from __future__ import annotations

import asyncio
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from discreet.cli.demo.server_process import ServerProcess
from docs.examples.streaming.writer import NOTES
from tests.e2e.consoles import environment, printed
from tests.e2e.streaming.wire import Event, Wire
from tests.server.support import make_repo

ROOT = Path(__file__).resolve().parents[3]
README = ROOT / "docs/examples/streaming/README.md"
STARTER = ROOT / "policy/discreet/policy/starter"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
START_S = 30


@contextmanager
def _service(command: str, env: dict[str, str]) -> Iterator[int]:
    """The service as the README starts it, on a port that is free; gives the port once it is taken."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "--port 8000" in command
    process = subprocess.Popen(command.replace("8000", str(port)).split(), cwd=ROOT, env=env, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + START_S
        while not _listens(port):
            assert process.poll() is None, "the service ended"
            assert time.monotonic() < deadline, "the service did not start"
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def _asked(port: int) -> list[Event]:
    async def ask() -> list[Event]:
        return await (await Wire.ask(port, "/sessions/s-1/answers/a-1", x_reader="ana")).end()

    return asyncio.run(ask())


def test_f13_the_commands_run_as_they_stand() -> None:
    """F13, B10: the answer comes in segments; after the revoke one is gone from the answer and from the file."""
    first, then = BLOCK.findall(README.read_text(encoding="utf-8"))
    *commands, start = first.splitlines()
    with TemporaryDirectory(prefix="dr-") as name:
        directory = Path(name)
        (directory / "run").mkdir(mode=0o700)
        env = {**environment(directory), "DISCREET_TENANT": "marlowe"}
        repo = make_repo(directory / "policies", {path.name: path.read_text() for path in STARTER.glob("*.yaml")})
        server = ServerProcess(directory, repo.path)
        server.sockets = directory / "run" / "discreet"
        server._command[server._command.index("--socket-dir") + 1] = str(server.sockets)
        server.start()
        try:
            for command in commands:
                if command.startswith("export "):
                    key, _, value = command.removeprefix("export ").partition("=")
                    env[key] = value.replace("$XDG_RUNTIME_DIR", env["XDG_RUNTIME_DIR"])
                else:
                    assert "CREATED" in printed(command, ROOT, env)
            with _service(start, env) as port:
                whole = _asked(port)
                assert [event.text.strip() for event in whole] == [*NOTES.values(), ""]
                outlook = NOTES["notes/outlook"].encode()
                assert outlook in Path(env["SEGMENTS"]).read_bytes()
                assert "revoked for good" in printed(then.strip(), ROOT, env)
                left = _asked(port)
                assert [event.name for event in left] == ["shown", "purged", "shown", "end"]
                assert outlook not in Path(env["SEGMENTS"]).read_bytes()
        finally:
            server.stop()
