"""Which files a SQLite store may live on, and the lock that keeps a second server off. Must know nothing of SQL."""

import fcntl
import os
import socket
from pathlib import Path

from discreet.server.ports import StoreError

MOUNTS = Path("/proc/self/mounts")
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "9p", "ceph", "glusterfs", "lustre", "gfs2", "ocfs2"}
    | {"fuse.sshfs", "fuse.glusterfs", "fuse.cephfs", "fuse.rclone", "fuse.s3fs"}
)
LOCK_TEXT_MAX = 512


def check_place(path: Path) -> None:
    """Raises StoreError where a SQLite database could not be kept safely."""
    if path.is_dir():
        raise StoreError(f"{path} is a directory; name a file in it, such as {path / 'discreet.db'}")
    if not path.parent.is_dir():
        raise StoreError(f"the directory {path.parent} does not exist; create it first")
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a regular file")
    if path.exists() and path.stat().st_nlink > 1:
        raise StoreError(
            f"{path} has another name, too (a hard link): under each name SQLite keeps a log of its own, and what is"
            " written under one is lost under the other; remove all names but one"
        )
    for one in (path if path.exists() else path.parent, path.parent):
        if not os.access(one, os.W_OK):
            raise StoreError(f"{one} cannot be written by this process")
    kind = file_system(path.resolve().parent, MOUNTS.read_text() if MOUNTS.exists() else "")
    if kind in NETWORK_FILE_SYSTEMS:
        raise StoreError(
            f"{path} lies on a network file system ({kind}), whose locks are not to be trusted; take a local disk"
        )


def file_system(directory: Path, mounts: str) -> str:
    r"""The type of the file system that a directory lies on, by the table of mounts; empty where it is not known.

    >>> file_system(Path("/srv/data/x"), "/dev/a / ext4 rw 0 0\nhost:/e /srv/data nfs4 rw 0 0\n")
    'nfs4'
    """
    best, kind = "", ""
    for line in mounts.splitlines():
        parts = line.split(" ")
        if len(parts) < 3:
            continue
        point = parts[1].replace("\\040", " ")
        if directory.is_relative_to(point) and len(point) >= len(best):
            best, kind = point, parts[2]
    return kind


def identity(path: Path) -> tuple[int, int] | None:
    """Which file a path leads to, as device and number; None where it leads to none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


class FileLock:
    """An exclusive lock on a file beside the database. The kernel lets go of it when the process ends, in any way."""

    def __init__(self, database: Path) -> None:
        # Beside the file itself, wherever symbolic links lead to it from: the lock is of the file, not of a name.
        there = database.resolve()
        self._path = there.with_name(there.name + ".lock")
        self._handle: int | None = None

    def acquire(self) -> None:
        """Takes the lock, or raises StoreError naming the process that holds it."""
        handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = (
                os.pread(handle, LOCK_TEXT_MAX, 0).decode("utf-8", "replace").strip() or "a process that did not say"
            )
            os.close(handle)
            raise StoreError(
                f"another server has this database open: {holder} (lock {self._path});"
                " stop it, or use PostgreSQL for several"
            ) from None
        except OSError as error:
            os.close(handle)
            raise StoreError(f"{self._path} cannot be locked: {error.strerror}") from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)
        self._handle = handle

    def release(self) -> None:
        """Lets go. The file stays: removing it would let two servers lock two files of one name."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None
