"""Databases of either kind for the stores' suite. Must know nothing of what is tested on them."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest

from discreet.server.ports import Store
from discreet.server.stores import open_store

ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
ON_POSTGRESQL = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
"""For what only one kind can be asked."""


@dataclass(slots=True)
class Database:
    """An empty database whose schema is there already, and the stores that were opened on it."""

    kind: str
    url: str
    opened: list[Store] = field(default_factory=list)

    async def open(self) -> Store:
        """A store on it, closed when the test ends."""
        store = open_store(self.url)
        await store.open()
        self.opened.append(store)
        return store

    async def close(self) -> None:
        """Closes what is open still."""
        while self.opened:
            await self.opened.pop().close()

    def rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """What a statement returns, run past the store, with every right; `?` marks a value."""
        if self.kind == "sqlite":
            with sqlite3.connect(self.url) as raw:
                found = raw.execute(statement, values).fetchall()
            raw.close()
            return found
        with psycopg.connect(self.url) as connection:
            cursor = connection.execute(statement.replace("?", "%s").encode(), values or None)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def snapshot(self) -> Iterator[Callable[[], object]]:
        """A foreign reader that holds what it saw until the block ends; yields a way to back the database up."""
        look = "SELECT seq FROM authority"
        if self.kind == "sqlite":
            with closing(sqlite3.connect(self.url, isolation_level=None, check_same_thread=False)) as raw:
                raw.execute("BEGIN")
                before = raw.execute(look).fetchall()
                yield partial(_back_up, self.url)
                assert raw.execute(look).fetchall() == before
            return
        with psycopg.connect(self.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            before = connection.execute(look).fetchall()
            yield partial(self.rows, "SELECT count(*) FROM (SELECT * FROM ledger, authority) AS everything")
            assert connection.execute(look).fetchall() == before


def _back_up(url: str) -> None:
    """SQLite's own online backup, into a file beside it, page by page."""
    with closing(sqlite3.connect(url)) as source, closing(sqlite3.connect(f"{url}.backup")) as target:
        source.backup(target, pages=5)
        assert target.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def sqlite_copy(template: Path, place: Path) -> Database:
    """A SQLite database in a directory of its own."""
    shutil.copy(template, place / "discreet.db")
    return Database("sqlite", str(place / "discreet.db"))
