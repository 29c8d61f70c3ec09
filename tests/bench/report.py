"""Rows of measurements as a Markdown table between two marks of `docs/performance.md`.

With the machine and the versions.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

DOCUMENT = Path("docs/performance.md")
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
PACKAGES = ("grpcio", "protobuf", "cerbos", "cedarpy", "regopy", "psycopg", "SQLAlchemy")


@dataclass(frozen=True, slots=True)
class Row:
    """One measurement in words; `ratio` is ours over the peer's."""

    name: str
    own: str
    peer: str = ""
    ratio: str = ""
    note: str = ""


def table(rows: Sequence[Row]) -> str:
    """The rows with the setting that they were measured in."""
    lines = ["| work | Discreet | peer | ratio | setting |", "|---|---|---|---|---|"]
    lines += [f"| {r.name} | {r.own} | {r.peer} | {r.ratio} | {r.note} |" for r in rows]
    return "\n".join([setting(), "", *lines])


def setting() -> str:
    """Machine, date and versions, in one line."""
    found = []
    for package in PACKAGES:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"Measured on {datetime.now(UTC):%Y-%m-%d} with {machine}; {', '.join(found)}."


def write(rows: Sequence[Row], missing: Sequence[str]) -> None:
    """Replaces what stands between the marks of the document."""
    text = DOCUMENT.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    left_out = "".join(f"\n\nNot measured: {what}." for what in missing)
    DOCUMENT.write_text(f"{before}{BEGIN}\n{table(rows)}{left_out}\n{END}{after}")
