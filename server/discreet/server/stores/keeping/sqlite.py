"""A SQLite file as its operator has it: alone, or read beside a server. Must know nothing of what is done with it."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from discreet.server.clock import SystemClock
from discreet.server.ports import StoreError
from discreet.server.stores import sqlite_path
from discreet.server.stores.keeping.acts import Held
from discreet.server.stores.keeping.report import Report
from discreet.server.stores.sqlite_connect import alchemy, owner, reader
from discreet.server.stores.sqlite_files import FileLock, check_place

REPLACE = "the file is damaged: restore a backup, and adopt it"


@contextmanager
def held_file(url: str) -> Iterator[Held]:
    """The file under its lock, so that no server has it, in a transaction that is committed at the end."""
    path = existing(url)
    check_place(path)
    lock = FileLock(path)
    lock.acquire()
    try:
        raw = owner(path)
        try:
            with alchemy(raw) as connection:
                raw.execute("BEGIN IMMEDIATE")
                yield Held(connection, SystemClock().wall(), str(path), "", lambda: None)
                if raw.in_transaction:
                    raw.execute("COMMIT")
        finally:
            raw.close()
    except (sqlite3.Error, sa.exc.DBAPIError) as error:
        raise StoreError(f"{path} cannot be used: {said(error)}") from None
    except UnicodeDecodeError:
        raise StoreError(f"{path} cannot be used: {REPLACE}") from None
    finally:
        lock.release()


@contextmanager
def read_file(path: Path) -> Iterator[tuple[sa.Connection, Report]]:
    """The file in one read, whoever writes beside it, with what is to be said of the file itself."""
    try:
        raw = reader(path)
        try:
            with alchemy(raw) as connection:
                raw.execute("BEGIN")
                report = Report("sqlite", str(path), f"SQLite {sqlite3.sqlite_version}", "")
                _look_at_file(raw, path, report)
                yield connection, report
        finally:
            raw.close()
    except (sqlite3.Error, sa.exc.DBAPIError) as error:
        raise StoreError(f"{path} cannot be read: {said(error)}") from None
    except UnicodeDecodeError:  # text that is none: the driver reads it when it is asked for
        raise StoreError(f"{path} cannot be read: {REPLACE}") from None


def existing(url: str) -> Path:
    """The file of an address, which must be there. Raises StoreError."""
    path = sqlite_path(url)
    if not path.is_file():
        raise StoreError(f"{path} is no file; name the database with --db")
    return path


def _look_at_file(raw: sqlite3.Connection, path: Path, report: Report) -> None:
    report.durability = {"journal_mode": str(raw.execute("PRAGMA journal_mode").fetchone()[0])}
    if path.stat().st_mode & stat.S_IWOTH:
        report.fault(f"{path} can be written by everybody", f"run: chmod o-w {path}")
    damage = [str(row[0]) for row in raw.execute("PRAGMA integrity_check(3)")]
    if damage != ["ok"]:
        report.fault(f"the file does not hold together: {'; '.join(damage)}", REPLACE)
    if dangling := len(raw.execute("PRAGMA foreign_key_check").fetchall()):
        report.fault(f"rows refer to rows that are not there ({dangling})", REPLACE)
    hung = raw.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') ORDER BY name"
    ).fetchall()
    for kind, name in hung:
        report.fault(f"there is a {kind} that is not Discreet's: {name}", "drop it: it could change what is recorded")


def said(error: Exception) -> str:
    """The driver's own words: SQLAlchemy would add the statement and its values."""
    return str(error.orig) if isinstance(error, sa.exc.DBAPIError) else str(error)
