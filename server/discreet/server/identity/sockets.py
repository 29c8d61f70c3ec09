"""Unix sockets that only their owner can reach and that no second server can steal.

gRPC gives no peer identity on a Unix socket and silently replaces the socket of a live server. So the path is the
identity: each socket lies in a directory that nobody else can enter, under a lock file that the server holds for as
long as it lives. The lock dies with its process; a socket whose lock is free was left by a dead server and is
replaced.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from discreet.server.errors import ListenRefused

PATH_BYTES_MAX = 100
"""The kernel's limit is 108 on Linux and 104 on macOS, its closing NUL included."""


@dataclass(frozen=True, slots=True)
class HeldSocket:
    """A socket path that is ours to bind until `release`."""

    path: Path
    lock_fd: int

    @property
    def address(self) -> str:
        """The path as gRPC takes it."""
        return f"unix:{self.path}"

    def secure(self) -> None:
        """Takes every right but the owner's from the bound socket."""
        self.path.chmod(0o600)

    def release(self) -> None:
        """Removes the socket, then lets go of the lock.

        The lock file stays, so that two servers can never hold two of them.
        """
        with suppress(FileNotFoundError):
            self.path.unlink()
        os.close(self.lock_fd)


def private_directory(directory: Path) -> Path:
    """The directory, made with mode 0700 where it is missing; ListenRefused where others could enter it."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
    except OSError as error:
        raise ListenRefused(f"{directory}: cannot be made a socket directory: {error.strerror}") from None
    if not stat.S_ISDIR(found.st_mode):
        raise ListenRefused(f"{directory}: is not a directory (a link is not followed)")
    if found.st_uid != os.getuid():
        raise ListenRefused(f"{directory}: belongs to another user; sockets need a directory of one's own")
    _check_way(directory)
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        raise ListenRefused(
            f"{directory}: others can enter it (mode {mode:04o}); chmod 0700 it, or name another with --socket-dir"
        )
    return directory


def _check_way(directory: Path) -> None:
    """Refuses a way on which others could put another directory in the place of this one, and answer for the server."""
    for above in directory.resolve().parents:
        found = above.stat()
        others_write = stat.S_IMODE(found.st_mode) & 0o022 and not found.st_mode & stat.S_ISVTX
        if others_write or found.st_uid not in {0, os.getuid()}:
            raise ListenRefused(
                f"{directory}: others could replace it, since they can write {above}; name another place"
            )


def hold(directory: Path, names: Iterable[str]) -> tuple[HeldSocket, ...]:
    """The sockets `NAME.sock`, each locked; all or none."""
    held: list[HeldSocket] = []
    with ExitStack() as undo:
        for name in names:
            one = _hold_one(directory / f"{name}.sock")
            undo.callback(one.release)
            held.append(one)
        undo.pop_all()
    return tuple(held)


def release_all(held: Iterable[HeldSocket]) -> None:
    """Lets go of all of them."""
    for one in held:
        one.release()


def _hold_one(path: Path) -> HeldSocket:
    if len(os.fsencode(path)) > PATH_BYTES_MAX:
        raise ListenRefused(
            f"{path}: is longer than {PATH_BYTES_MAX} bytes; name a shorter directory with --socket-dir"
        )
    lock = path.with_name(path.name + ".lock")
    try:
        fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise ListenRefused(f"{lock}: cannot be opened: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        owner = os.read(fd, 32).decode("ascii", "replace").strip() or "unknown"
        os.close(fd)
        raise ListenRefused(
            f"{path}: a server with process id {owner} serves it; stop that one, or name another --socket-dir"
        ) from None
    try:
        _clear(path)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    except (OSError, ListenRefused) as error:
        os.close(fd)
        raise error if isinstance(error, ListenRefused) else ListenRefused(f"{path}: {error.strerror}") from None
    return HeldSocket(path, fd)


def _clear(path: Path) -> None:
    """Removes the socket of a dead server; whatever else lies there is not ours to remove."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ListenRefused(f"{path}: exists and is no socket; move it away")
        path.unlink()
