"""A copy of a SQLite database while a server writes to it: `discreet db backup`. Must know no command line."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from discreet.server.ports import StoreError
from discreet.server.stores import is_postgres
from discreet.server.stores.keeping.looking import look_over
from discreet.server.stores.keeping.report import Report
from discreet.server.stores.keeping.sqlite import REPLACE, existing, said
from discreet.server.stores.sqlite_connect import reader

POSTGRES = (
    "PostgreSQL has its own tools, and this is not one of them: take pg_basebackup with a WAL archive (or pg_dump of"
    " the whole database) on the primary. Whatever is restored is behind what servers saw, or on another system or"
    " timeline: they refuse it until `discreet db adopt` has given it a new epoch, and every token of before is refused"
    " from then on"
)


def back_up(url: str, target: Path) -> Report:
    """Copies the database as it stands at one moment to a file that was not there; what a look over the copy found.

    One pass in one read: a server that writes meanwhile neither waits nor makes it begin again. The copy is on disk
    and was found sound before it gets its name. Raises StoreError where it cannot be made; nothing is left then.
    """
    if is_postgres(url):
        raise StoreError(POSTGRES)
    source = existing(url)
    if target.exists() or target.is_symlink():
        raise StoreError(f"{target} is there already, and a backup is never overwritten: name a file that is not")
    part = target.with_name(f".{target.name}.part-{os.getpid()}")
    try:
        os.close(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        _copy(source, part)
        report = look_over(str(part))
        if report.faults:
            raise StoreError(f"the copy is not sound, and was thrown away: {report.faults[0]}")
        _sync(part)
        os.link(part, target)
        _sync(target.parent)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}") from None
    except sqlite3.Error as error:
        raise StoreError(f"{source} cannot be copied to {target}: {said(error)}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{source} cannot be copied to {target}: {REPLACE}") from None
    finally:
        with suppress(FileNotFoundError):
            part.unlink()
    return report


def _copy(source: Path, part: Path) -> None:
    with closing(reader(source)) as read, closing(sqlite3.connect(part, isolation_level=None)) as write:
        read.backup(write, pages=-1)
        # One file and no log beside it: the copy is all there is to move. A server that opens it sets WAL again.
        write.execute("PRAGMA journal_mode = DELETE")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
