"""The stores: one authority over SQLite or PostgreSQL. Must know ports alone, no servicer."""

import re
from pathlib import Path

from discreet.server.ports import Clock, Store, StoreError

__all__ = ["is_postgres", "open_store", "sqlite_path"]

_KEYWORDS = re.compile(r"(?:^|\s)(?:host|hostaddr|port|dbname|user|password|passfile|service)\s*=", re.ASCII)
"""How an address of PostgreSQL begins in its other spelling, which would pass for the name of a file."""


def open_store(url: str, clock: Clock | None = None) -> Store:
    """A store that is not open yet: `postgresql://...`, `sqlite:///FILE` or the path of a file.

    `clock` stands for the machine's clock on SQLite; PostgreSQL has its own.
    """
    if is_postgres(url):
        from discreet.server.stores.postgres import PostgresStore

        return PostgresStore(url)
    path = sqlite_path(url)
    from discreet.server.stores.sqlite import SqliteStore

    return SqliteStore(path, clock)


def is_postgres(url: str) -> bool:
    """True for an address of PostgreSQL."""
    return url.startswith(("postgresql://", "postgres://"))


def sqlite_path(url: str) -> Path:
    """The file that an address of anything but PostgreSQL names. Raises StoreError where it names none."""
    if _KEYWORDS.search(url):
        raise StoreError("name PostgreSQL as postgresql://USER@HOST/DATABASE, not by keywords")
    path = url.removeprefix("sqlite:///") if url.startswith("sqlite:") else url
    if not path or path.startswith(("sqlite:", "file:")) or "://" in path or ":memory:" in path:
        raise StoreError("name a file (or sqlite:///FILE), or a postgresql:// address; a store is never in memory")
    return Path(path)
