"""What a thread store keeps of answers: rows, an exported file of many parts, and summaries made from rows.

An example: yours keep other things. What must stay: every copy is found by its ledger id, `delete` leaves none, and
`has` looks at the bytes that are there, by another way than `delete` does.
"""

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default
from hashlib import sha256
from pathlib import Path

from discreet.client.keeping import StoreGate

LEDGER_ID = "X-Ledger-Id"


class Copies:
    """The copies in a directory: `rows.db`, `export.eml` and `summaries/`."""

    def __init__(self, directory: Path) -> None:
        self._export = directory / "export.eml"
        self._summaries = directory / "summaries"
        self._summaries.mkdir(parents=True, exist_ok=True)
        self._gate = StoreGate()
        self._db = sqlite3.connect(directory / "rows.db", check_same_thread=False)
        self._db.execute("PRAGMA secure_delete = ON")  # what is deleted is gone from the file, too
        self._db.execute("CREATE TABLE IF NOT EXISTS row (ledger_id TEXT PRIMARY KEY, answer TEXT, text TEXT)")

    def keep(self, ledger_id: str, answer: str, text: str, store_by: datetime) -> None:
        """Stores a segment as it was shown. TooLate after `store_by`: the transaction leaves nothing then."""
        with self._db, self._gate.storing(store_by):
            self._db.execute("INSERT OR REPLACE INTO row VALUES (?, ?, ?)", (ledger_id, answer, text))

    def keep_summary(self, ledger_id: str, text: str, store_by: datetime) -> None:
        """Stores a summary, a segment of its own that was committed with its parents."""
        self._gate.require(store_by)
        (self._summaries / ledger_id).write_text(text, "utf-8")

    def export(self) -> None:
        """Writes all rows into one file, a part each."""
        self._write(list(self._db.execute("SELECT ledger_id, text FROM row ORDER BY rowid")))

    def delete(self, ledger_id: str) -> bool:
        """Deletes every copy of a segment; False where there was none."""
        parts = list(self._parts())
        summary = self._summaries / ledger_id
        with self._db:
            found = self._db.execute("DELETE FROM row WHERE ledger_id = ?", (ledger_id,)).rowcount > 0
        if any(name == ledger_id for name, _ in parts):
            self._write([part for part in parts if part[0] != ledger_id])
            found = True
        if summary.exists():
            summary.unlink()
            found = True
        return found

    def has(self, digest: str) -> bool:
        """Whether any text with this SHA-256 is there: every row, part and summary is read."""
        return any(sha256(text.encode()).hexdigest() == digest for text in self.texts())

    def texts(self) -> Iterator[str]:
        """Every text that is there, wherever it is."""
        yield from (text for (text,) in self._db.execute("SELECT text FROM row"))
        yield from (text for _, text in self._parts())
        yield from (file.read_text("utf-8") for file in self._summaries.iterdir())

    def _parts(self) -> Iterator[tuple[str, str]]:
        if self._export.exists():
            message = BytesParser(policy=default).parsebytes(self._export.read_bytes())
            for part in message.iter_parts():
                yield part[LEDGER_ID], part.get_content().removesuffix("\n")

    def _write(self, parts: list[tuple[str, str]]) -> None:
        message = EmailMessage()
        message["Subject"] = "Export"
        message.make_mixed()
        for ledger_id, text in parts:
            message.add_attachment(text, filename=f"{ledger_id}.txt")
            list(message.iter_parts())[-1][LEDGER_ID] = ledger_id
        fresh = self._export.with_suffix(".new")
        fresh.write_bytes(message.as_bytes())
        fresh.replace(self._export)
