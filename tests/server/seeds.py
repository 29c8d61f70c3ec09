"""SQLite files that hold Discreet's schema already, each an installation of its own.

Running the migrations is most of what a new server costs, and what they make has tests of its own.
"""

from __future__ import annotations

import secrets
import sqlite3
import tempfile
import time
from contextlib import closing
from functools import cache
from pathlib import Path

from discreet.policy.facts import Micros
from discreet.server.stores.schema import prepare
from discreet.server.stores.sqlite_connect import alchemy, owner


def seed(db: str) -> None:
    """Puts an empty installation in place, where the address is a file's that is not there yet."""
    path = Path(db)
    if "://" in db or path.exists() or not path.parent.is_dir():
        return
    path.touch(0o600)
    path.write_bytes(_schema())
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE authority SET epoch = ?", [secrets.token_hex(16)])
        key = [secrets.token_hex(8), secrets.token_bytes(32), time.time_ns() // 1_000]
        raw.execute("UPDATE receipt_key SET key_id = ?, secret = ?, created_at = ?", key)


@cache
def _schema() -> bytes:
    """What the migrations make of an empty file; once a test process. No server has opened it."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "seed.db"
        with closing(owner(path)) as raw, alchemy(raw) as connection:
            raw.execute("BEGIN IMMEDIATE")
            prepare(connection, bound_to="", now=Micros(0))
            raw.execute("COMMIT")
        return path.read_bytes()
