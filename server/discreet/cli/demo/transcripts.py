"""A store of what readers were shown, and the holder that deletes from it when it is told to. Rows in SQLite."""

import hashlib
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from discreet.client import Piece
from discreet.client.purge import Holder, HolderKind, Outcome, PurgeItem

PATIENCE_S = 15.0
POLL_S = 0.02


class Transcripts:
    """Rows of ledger id and text. Every call opens the file anew: the agent and the holder are different threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._rows() as rows:
            rows.execute("CREATE TABLE shown (ledger_id TEXT PRIMARY KEY, text TEXT NOT NULL, digest TEXT NOT NULL)")

    @contextmanager
    def _rows(self) -> Iterator[sqlite3.Connection]:
        with closing(sqlite3.connect(self._path)) as connection, connection:
            yield connection

    def keep(self, pieces: Iterable[Piece]) -> int:
        """Stores what was shown; returns how many rows there are."""
        rows = [(p.ledger_id, p.text, hashlib.sha256(p.text.encode()).hexdigest()) for p in pieces if p.allowed]
        with self._rows() as connection:
            connection.executemany("INSERT INTO shown VALUES (?, ?, ?)", rows)
        return len(rows)

    def texts(self) -> list[str]:
        """What is there."""
        with self._rows() as connection:
            return [text for (text,) in connection.execute("SELECT text FROM shown ORDER BY rowid")]

    def purge(self, item: PurgeItem) -> Outcome:
        """Deletes a segment, for good."""
        with self._rows() as connection:
            gone = connection.execute("DELETE FROM shown WHERE ledger_id = ?", (item.ledger_id,)).rowcount
        return Outcome.PURGED if gone else Outcome.NOT_FOUND

    def has(self, digest: str) -> bool:
        """True where a text with the digest is there."""
        with self._rows() as connection:
            return connection.execute("SELECT 1 FROM shown WHERE digest = ?", (digest,)).fetchone() is not None


@contextmanager
def holding(target: str, tenant: str, transcripts: Transcripts) -> Iterator[None]:
    """Registers the store as a holder and does what it is told, in a thread, until the end of the block."""
    with Holder(target, tenant=tenant) as holder:
        holder.register(HolderKind.SEGMENT_STORE)
        working = threading.Thread(target=holder.run, args=(transcripts.purge, transcripts.has), daemon=True)
        working.start()
        yield
        holder.close()
        working.join(PATIENCE_S)


def patiently(question: "Iterator[bool]") -> bool:
    """True as soon as an answer is; False where none was in time."""
    deadline = time.monotonic() + PATIENCE_S
    for answer in question:
        if answer:
            return True
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return False
