"""`make soak`: long histories of real servers under load and faults, checked whole; a report under `build/`.

An operation is one segment that was asked about (commit, check, replay), or one change. With `--storm` policies are
committed all the time instead, and a decision is one segment that a revision decided. With `--crash` servers are killed
at any point, and what callers were told is looked up in the audit.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests import scratch
from tests.bench.report import setting
from tests.crash import soak as crashing
from tests.history.checking import by_rule
from tests.history.events import Call
from tests.history.reading_back import Place
from tests.history.running import Outcome, Plan, run
from tests.postgres_server import PostgresServer
from tests.storm import soak as storming

REPORT = Path("build/soak")
OPERATIONS_PER_CALL = 2.4
"""At least, with the habits that clients have."""
CALLS_PER_FAULT = 600
CALLS_PER_PUBLICATION = 1_500
TELL_EVERY_S = 15.0


def operations(calls: Sequence[Call]) -> int:
    """How many there were."""
    return sum(len(call.told) or 1 for call in calls)


def plan(wanted: int, seed: int, clients: int) -> Plan:
    """A history of at least so many operations."""
    calls = round(wanted / OPERATIONS_PER_CALL / clients + 1) * clients
    return Plan(seed, calls, clients, 2, max(4, calls // CALLS_PER_FAULT), max(2, calls // CALLS_PER_PUBLICATION))


async def soak(store: str, wanted: Plan, directory: Path) -> Outcome:
    """One history on a fresh database of that kind."""
    began = told = time.monotonic()

    def tell(calls: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= TELL_EVERY_S:
            told = now
            print(f"soak: {store}: {calls:,} of {wanted.calls:,} calls after {now - began:,.0f} s", flush=True)

    if store == "sqlite":
        return await run(wanted, Place("sqlite", str(directory / "discreet.db")), directory, tell)
    server = PostgresServer()
    try:
        return await run(wanted, Place("postgresql", server.fresh_database()), directory, tell)
    finally:
        server.stop()


def report(store: str, wanted: Plan, outcome: Outcome) -> str:
    """What there was, and what is wrong with it."""
    calls, final = outcome.calls, outcome.final
    methods = Counter((call.method, call.outcome.value) for call in calls)
    verdicts = Counter(f"{told.verdict} {told.reason}" for call in calls for told in call.told)
    orders = Counter(told.order for call in calls for told in call.told if told.order)
    faults = ", ".join(f"{count} times {kind}" for kind, count in sorted(outcome.faults.items()))
    lines = [
        f"# A history on {store}",
        "",
        setting(),
        "",
        f"- seed {wanted.seed}, {wanted.clients} clients in {wanted.processes} processes",
        f"- {operations(calls):,} operations in {len(calls):,} calls, {outcome.seconds:,.0f} s with the check",
        f"- {final.seq:,} numbered events, {len(final.ledger):,} ledger rows, {len(final.audit):,} audit rows,"
        f" {len(final.orders):,} purge orders, {final.policy:,} policy revisions",
        f"- faults: {faults}; {outcome.lines_cut:,} lines cut",
        f"- memory of the checker: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024:,} MiB",
        f"- **violations: {len(outcome.wrong)}**",
        "",
        by_rule(outcome.wrong),
        "",
        "| call | outcome | times |",
        "|---|---|---|",
        *(f"| {method} | {how} | {count:,} |" for (method, how), count in sorted(methods.items())),
        "",
        "| verdict | times |",
        "|---|---|",
        *(f"| {verdict} | {count:,} |" for verdict, count in verdicts.most_common()),
        "",
        "| order of a commit | times |",
        "|---|---|",
        *(f"| {order} | {count:,} |" for order, count in orders.most_common()),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 1 where a history was wrong. Its calls are kept then."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--storm", action="store_true", help="a storm of policy commits instead of histories")
    parser.add_argument("--crash", action="store_true", help="servers killed at any point instead of histories")
    parser.add_argument("--kills", type=int, default=500, help="of them, over all stores")
    parser.add_argument("--decisions", type=int, default=1_000_000, help="of a storm")
    parser.add_argument("--operations", type=int, default=200_000, help="of a history")
    parser.add_argument("--store", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--clients", type=int, default=12)
    given = parser.parse_args(arguments)
    REPORT.mkdir(parents=True, exist_ok=True)
    if given.storm:
        return storming.run(given.decisions, given.seed, REPORT)
    stores = ("sqlite", "postgresql") if given.store == "both" else (given.store,)
    if given.crash:
        return crashing.run(given.kills, given.seed, stores, REPORT)
    wrong = 0
    for store in stores:
        wanted = plan(given.operations, given.seed, given.clients)
        with tempfile.TemporaryDirectory(prefix="dh-", dir=scratch.short()) as path:
            outcome = asyncio.run(soak(store, wanted, Path(path)))
            text = report(store, wanted, outcome)
            (REPORT / f"{store}.md").write_text(text)
            if outcome.wrong:
                for file in Path(path).glob("calls-*"):
                    (REPORT / f"{store}-{file.name}.jsonl").write_bytes(file.read_bytes())
                (REPORT / f"{store}-violations.txt").write_text(by_rule(outcome.wrong, 10_000))
        print(text.partition("| call")[0], flush=True)
        wrong += len(outcome.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
