"""`make soak ARGS="--storm"`: a long storm of commits over real servers, checked whole; a report under `build/`."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from statistics import median

from tests import scratch
from tests.bench.report import setting
from tests.storm.answers import Answer
from tests.storm.storm import EVERY_S, SERVERS, Outcome, Plan, storm

DECISIONS_PER_COMMIT = 250
DECISIONS_PER_REVISION = 10_000
DECISIONS_PER_FAULT = 40_000
DECISIONS_PER_ROLLBACK = 100_000
DECISIONS_PER_STALL = 40_000
FAULT_REVISIONS = 2
DECISIONS_PER_S = 200
"""At least, or it is given up."""
STARTING_S = 300.0
REPEATS = 10
PROCESSES = 2
TELL_EVERY_S = 15.0
SHOWN_MAX = 50


def plan(decisions: int, seed: int) -> Plan:
    """A storm of at least so many decisions."""
    return Plan(
        seed,
        decisions,
        commits=max(100, decisions // DECISIONS_PER_COMMIT),
        revisions=max(20, decisions // DECISIONS_PER_REVISION),
        faults=max(12, decisions // DECISIONS_PER_FAULT),
        rollbacks=max(4, decisions // DECISIONS_PER_ROLLBACK),
        stalls=max(6, decisions // DECISIONS_PER_STALL),
        processes=PROCESSES,
        repeats=REPEATS,
        fault_revisions=FAULT_REVISIONS,
        within_s=STARTING_S + decisions / DECISIONS_PER_S,
    )


def run(decisions: int, seed: int, directory: Path) -> int:
    """The exit code: 1 where anything was wrong. The report, and what was wrong, go to the directory."""
    began = told = time.monotonic()

    def tell(commits: int, decided: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= TELL_EVERY_S:
            told = now
            print(f"soak: storm: {decided:,} decisions, {commits:,} commits after {now - began:,.0f} s", flush=True)

    wanted = plan(decisions, seed)
    with tempfile.TemporaryDirectory(prefix="ds-", dir=scratch.short()) as path:
        outcome = asyncio.run(storm(wanted, Path(path), tell))
    return concluded(wanted, outcome, directory)


def concluded(wanted: Plan, outcome: Outcome, directory: Path) -> int:
    """Writes the report, and all that was wrong; the exit code."""
    directory.mkdir(parents=True, exist_ok=True)
    text = report(wanted, outcome)
    (directory / "storm.md").write_text(text)
    print(text, flush=True)
    if outcome.wrong:
        (directory / "storm-violations.txt").write_text("\n".join(outcome.wrong) + "\n")
    return 1 if outcome.wrong else 0


def report(wanted: Plan, outcome: Outcome) -> str:
    """What there was, and what is wrong with it."""
    kinds = Counter(one.kind.value for one in outcome.made)
    decided, answers = Counter[str](), Counter[str]()
    for one in outcome.answers:
        decided[_way(one)] += one.decided
        answers[f"{_way(one)} {one.status or 'answered'}"] += 1
    bad = sum(kinds.values()) - kinds["good"]
    apart = median(later.at - one.at for one, later in pairwise(outcome.made))
    lines = [
        f"# A storm of commits over {len(SERVERS)} servers",
        "",
        setting(),
        "",
        f"- seed {wanted.seed}, {outcome.seconds:,.0f} s with the check",
        f"- **{outcome.decided:,} decisions** of {outcome.segments:,} segments that were answered, in"
        f" {len(outcome.answers):,} calls and frames",
        f"- {len(outcome.made):,} commits, {apart * 1_000:.0f} ms apart (median; {EVERY_S * 1_000:.0f} wanted),"
        f" {bad:,} of them bad:"
        f" {', '.join(f'{count:,} {kind}' for kind, count in sorted(kinds.items()) if kind != 'good')}",
        f"- {len(outcome.published):,} revisions published, {outcome.rollbacks} of them rollbacks; answers under"
        f" {len({one.number for one in outcome.answers if one.decided}):,} of them",
        f"- {outcome.stalls} times a server was stopped until another one had published",
        f"- faults of Redis: {', '.join(f'{count} times {name}' for name, count in sorted(outcome.faults.items()))}",
        f"- **violations: {len(outcome.wrong):,}**",
        *(f"  - {one}" for one in outcome.wrong[:SHOWN_MAX]),
        "",
        "| asked by | decisions |",
        "|---|---|",
        *(f"| {way} | {count:,} |" for way, count in sorted(decided.items())),
        "",
        "| call or frame | times |",
        "|---|---|",
        *(f"| {how} | {count:,} |" for how, count in sorted(answers.items())),
        "",
    ]
    return "\n".join(lines)


def _way(answer: Answer) -> str:
    return answer.client.rpartition("-")[2]
