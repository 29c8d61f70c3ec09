"""`discreet policy replay` over 100,000 recorded decisions, under the revision that made them and under another one.

They are recorded by a real server on SQLite: checks of ten segments with two bindings each, of a hundred readers, with
100 rules, every audit row durable. The command is timed from its start to its end, the interpreter's start included.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import grpc

from tests.bench import scenario, sidecar
from tests.bench.report import Row

DECISIONS = 100_000
SEGMENTS = 10
CALLERS = 32
ROUNDS = 3
LIMIT_S = 20


def measure() -> list[Row]:
    """One row: what the same decisions take, whether they change or not."""
    with TemporaryDirectory(prefix="dreplay-") as name:
        home = Path(name)
        db, files = str(home / "discreet.db"), _audited()
        with sidecar.server(db, files) as own:
            sidecar.fill(own)
            asyncio.run(_record(own.target("agent")))
        same, narrower = _folder(home / "same", files), _folder(home / "narrower", _narrower(files))
        for folder, unchanged in ((same, True), (narrower, False)):
            _check(_replay(db, folder), unchanged)
        runs = [_timed(db, narrower) for _ in range(ROUNDS)]
    return [_row(runs)]


def _row(runs: Sequence[float]) -> Row:
    middle = median(runs)
    return Row(
        name=f"`policy replay` of {DECISIONS:,} recorded decisions",
        own=f"{middle:.1f} s ({min(runs):.1f} to {max(runs):.1f}), {DECISIONS / middle:,.0f} decisions/s",
        note=f"{ROUNDS} runs of the command on SQLite, one process a core; {SEGMENTS} segments a call, two bindings "
        f"each, {scenario.RULES} rules; each decided twice and written again byte by byte; goal: under {LIMIT_S} s",
    )


def _audited() -> dict[str, str]:
    files = scenario.policy_files()
    return files | {"discreet.yaml": files["discreet.yaml"].replace("checks: none", "checks: required")}


def _narrower(files: dict[str, str]) -> dict[str, str]:
    """The set without a source: what rests on it is newly withheld."""
    first = f"  - label: {scenario.LABELS[0]}\n"
    sources = files["sources.yaml"]
    place = sources.index("listed: true", sources.index(first))
    return files | {"sources.yaml": sources[:place] + "listed: false" + sources[place + len("listed: true") :]}


def _folder(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder


async def _record(target: str) -> None:
    """Has them decided, a bounded number at a time."""
    questions = scenario.questions(SEGMENTS, 1_000)
    bodies = [scenario.check_request(question).SerializeToString() for question in questions]
    numbers = iter(range(DECISIONS // SEGMENTS))
    async with grpc.aio.insecure_channel(target) as channel:
        check: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(sidecar.CHECK)

        async def ask() -> None:
            for number in numbers:
                await check(bodies[number % len(bodies)], timeout=60)

        await asyncio.gather(*(ask() for _ in range(CALLERS)))


def _command(db: str, folder: Path) -> list[str]:
    return [
        sys.executable,
        "-m",
        "discreet.cli",
        "policy",
        "replay",
        "--db",
        db,
        "--against",
        str(folder),
        "-o",
        "json",
    ]


def _replay(db: str, folder: Path) -> dict[str, int]:
    done = subprocess.run(_command(db, folder), capture_output=True, text=True, check=True)
    found: dict[str, int] = json.loads(done.stdout)["decisions"]
    return found


def _check(found: dict[str, int], unchanged: bool) -> None:
    """That every decision is there and comes out as it must, before anything is timed."""
    if (found["total"], found["not_replayable"], found["newly_allowed"]) != (DECISIONS, 0, 0):
        raise AssertionError(f"not what was recorded: {found}")
    if (found["unchanged"] == DECISIONS) is not unchanged or (found["newly_withheld"] > 0) is unchanged:
        raise AssertionError("the candidate does not change what it must")


def _timed(db: str, folder: Path) -> float:
    start = time.perf_counter()
    _replay(db, folder)
    return time.perf_counter() - start
