"""Where the tests' files lie: in memory where there is enough of it, since some file systems are slow to make files.

What is deleted is slow to be made again on ext4, and the suite makes and deletes some hundred thousand files.
"""

import os
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
FREE_BYTES_MIN = 4 * 1024**3


def choose() -> None:
    """Moves this process's temporary files, and those of its children, unless somebody chose a place."""
    if "TMPDIR" not in os.environ and _is_roomy(MEMORY):
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None


def short() -> str:
    """A place whose name leaves room for that of a socket, which is limited to about a hundred bytes."""
    return str(MEMORY) if os.environ.get("TMPDIR") == str(MEMORY) else "/tmp"


def _is_roomy(place: Path) -> bool:
    """Whether files can be made and run there, and enough of them."""
    if not hasattr(os, "ST_NOEXEC") or not os.access(place, os.W_OK | os.X_OK):
        return False
    found = os.statvfs(place)
    return not found.f_flag & os.ST_NOEXEC and found.f_bavail * found.f_frsize >= FREE_BYTES_MIN
