"""`discreet policy check` on large policy sets, with one planted error found at its place."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.report import Row
from tests.policy.sets.large import large_set, place_of

SIZES = ((1_000, 100, 2), (10_000, 100, 15))
"""Rules, files, and the seconds that they may take."""
ROUNDS = 3


def measure() -> list[Row]:
    """One row a size: the time from the command's start to its end, the interpreter's start included."""
    return [_row(rules, files, limit_s) for rules, files, limit_s in SIZES]


def _row(rules: int, files: int, limit_s: int) -> Row:
    planted = rules * 5 // 8
    wrong = sorted(_check(rules, files, planted, [place_of(planted, rules, files)]) for _ in range(ROUNDS))
    sound = sorted(_check(rules, files, None, []) for _ in range(ROUNDS))
    return Row(
        name=f"`policy check` of {rules:,} rules in {files} files",
        own=f"{_median(sound)}; with an error {_median(wrong)}",
        note=f"{ROUNDS} runs each; all warnings of the sound set, the one planted error at its place; "
        f"the goal is under {limit_s} s",
    )


def _median(times: list[tuple[float, float]]) -> str:
    wall, cpu = times[len(times) // 2]
    return f"{wall:.2f} s ({times[0][0]:.2f} to {times[-1][0]:.2f}; {cpu:.2f} s of CPU)"


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check(rules: int, files: int, planted: int | None, expected: list[str]) -> tuple[float, float]:
    with TemporaryDirectory() as folder:
        for name, data in large_set(rules, files, planted).items():
            path = Path(folder, name)
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        command = [sys.executable, "-m", "discreet.cli", "-o", "json", "policy", "check", folder]
        start, before = time.perf_counter(), _cpu()
        told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        taken = time.perf_counter() - start, _cpu() - before
    found = [f"{one['file']}:{one['line']}:{one['column']}" for one in json.loads(told.stdout)["problems"]]
    assert found == expected
    return taken
