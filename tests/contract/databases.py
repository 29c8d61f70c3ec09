"""Databases of either kind for the stores' suite. Must know nothing of what is tested on them."""

import shutil
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
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


def sqlite_copy(template: Path, place: Path) -> Database:
    """A SQLite database in a directory of its own."""
    shutil.copy(template, place / "discreet.db")
    return Database("sqlite", str(place / "discreet.db"))
