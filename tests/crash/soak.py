"""`make soak ARGS="--crash"`: servers killed hundreds of times on each store, all that was told looked up; a report."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from tests import scratch
from tests.bench.report import setting
from tests.crash.crashing import Outcome, crash
from tests.postgres_server import PostgresServer

TELL_EVERY = 10
SHOWN_MAX = 50


def run(kills: int, seed: int, stores: tuple[str, ...], directory: Path) -> int:
    """The exit code: 1 where anything told is not on record. Half of the kills on each store, if there are two."""
    lines = ["# Servers killed under load", "", setting(), ""]
    wrong = 0
    for store in stores:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="dh-", dir=scratch.short()) as path:
            outcome = asyncio.run(_on(store, Path(path), -(-kills // len(stores)), seed))
        told = outcome.told
        lines += [
            f"- {store}: {outcome.kills:,} kills in {time.monotonic() - began:,.0f} s; told: {len(told.decisions):,}"
            f" decisions, {len(told.ledger):,} commits, {len(told.changes):,} changes; {outcome.unasked:,} decisions on"
            f" record that nobody read; **{len(outcome.lost)} wrong**",
            *(f"  - {one}" for one in outcome.lost[:SHOWN_MAX]),
        ]
        wrong += len(outcome.lost)
    text = "\n".join([*lines, ""])
    (directory / "crash.md").write_text(text)
    print(text, flush=True)
    return 1 if wrong else 0


async def _on(store: str, directory: Path, kills: int, seed: int) -> Outcome:
    def tell(killed: int, told: int) -> None:
        if killed % TELL_EVERY == 0:
            print(f"soak: {store}: {killed:,} of {kills:,} kills, {told:,} answers", flush=True)

    if store == "sqlite":
        return await crash(directory, str(directory / "discreet.db"), kills, seed, tell=tell)
    server = PostgresServer()
    try:
        return await crash(directory, server.fresh_database(), kills, seed, tell=tell)
    finally:
        server.stop()
