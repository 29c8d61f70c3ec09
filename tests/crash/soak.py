"""`make soak ARGS="--crash"`: servers killed hundreds of times, in each mode of the audit on each store; a report."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from tests import scratch
from tests.bench.report import setting
from tests.crash.crashing import Outcome, crash
from tests.postgres_server import PostgresServer
from tests.server.spool.files import SPOOLED
from tests.server.support import POLICY

TELL_EVERY = 10
MODES = {"required": POLICY, "spooled": SPOOLED}
"""Policies, by what must be durable before a check is answered."""
SHOWN_MAX = 50


def run(kills: int, seed: int, stores: tuple[str, ...], directory: Path) -> int:
    """The exit code: 1 where anything told is not on record. As many kills in each mode on each store."""
    lines = ["# Servers killed under load", "", setting(), ""]
    wrong = 0
    runs = [(store, mode) for store in stores for mode in MODES]
    for store, mode in runs:
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="dh-", dir=scratch.short()) as path:
            outcome = asyncio.run(_on(store, mode, Path(path), -(-kills // len(runs)), seed))
        told = outcome.told
        took = time.monotonic() - began
        lines += [
            f"- {store}, {mode}: {outcome.kills:,} kills in {took:,.0f} s; told: {len(told.decisions):,} decisions,"
            f" {len(told.ledger):,} commits, {len(told.changes):,} changes; {outcome.unasked:,} decisions on record"
            f" that nobody read; **{len(outcome.lost)} wrong**",
            *(f"  - {one}" for one in outcome.lost[:SHOWN_MAX]),
        ]
        wrong += len(outcome.lost)
    text = "\n".join([*lines, ""])
    (directory / "crash.md").write_text(text)
    print(text, flush=True)
    return 1 if wrong else 0


async def _on(store: str, mode: str, directory: Path, kills: int, seed: int) -> Outcome:
    def tell(killed: int, told: int) -> None:
        if killed % TELL_EVERY == 0:
            print(f"soak: {store}, {mode}: {killed:,} of {kills:,} kills, {told:,} answers", flush=True)

    if store == "sqlite":
        return await crash(directory, str(directory / "discreet.db"), kills, seed, MODES[mode], tell)
    server = PostgresServer()
    try:
        return await crash(directory, server.fresh_database(), kills, seed, MODES[mode], tell)
    finally:
        server.stop()
