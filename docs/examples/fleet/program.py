"""A program that runs beside the demo: started with its log in a file, and ended whatever happens."""

import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

START_S = 60.0
STOP_S = 15.0
POLL_S = 0.02
LOG_SHOWN_MAX = 2_000


class NotStarted(RuntimeError):
    """A program ended, or did not answer in time; the message ends with what it said last."""


class Program:
    """A child process. `user`: who runs it, by number; None: whoever runs the demo."""

    def __init__(
        self, command: Sequence[str], log: Path, env: Mapping[str, str] | None = None, user: int | None = None
    ):
        self._log = log
        with log.open("ab") as said:
            self._process = subprocess.Popen(  # noqa: S603  (programs of this environment, no shell)
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                cwd=log.parent,
                env=env,
                user=user,
                group=user,
            )

    def wait_until(self, answers: Callable[[], bool]) -> None:
        """Returns once it answers. Raises NotStarted where it ends before that, or takes too long."""
        until = time.monotonic() + START_S
        while not answers():
            if self._process.poll() is not None or time.monotonic() > until:
                said = self._log.read_text("utf-8", errors="replace")[-LOG_SHOWN_MAX:]
                raise NotStarted(f"{self._process.args!r} did not start: {said}")
            time.sleep(POLL_S)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends it by a signal, and kills it where it does not end in time."""
        if self._process.poll() is None:
            self._process.send_signal(how)
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def of_wheel(package: str, *patterns: str) -> Path:
    """A file that a wheel brings along: the first that fits one of the patterns. Raises NotStarted without it."""
    spec = find_spec(package)
    for place in (spec and spec.submodule_search_locations) or ():
        for pattern in patterns:
            found = sorted(Path(place).glob(pattern))
            if found:
                return found[0]
    raise NotStarted(f"the package {package} is not installed, or not for this machine; run `make setup`")
