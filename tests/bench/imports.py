"""The import of every version of every PEP through the command line and a real server, on SQLite."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import sidecar
from tests.bench.report import Row

VERSIONS = 15_876
ROUNDS = 3


def measure() -> list[Row]:
    """One row: the time from the command's start to its end, the interpreter's start included."""
    times = []
    for _ in range(ROUNDS):
        with TemporaryDirectory() as folder, sidecar.server(files=_policy()) as own:
            times.append(_import(own, Path(folder)))
    times.sort()
    return [
        Row(
            name=f"import of {VERSIONS:,} document versions on SQLite",
            own=f"{times[len(times) // 2]:.1f} s ({times[0]:.1f} to {times[-1]:.1f}), "
            f"{VERSIONS / times[len(times) // 2]:,.0f} versions/s",
            note=f"{ROUNDS} runs of `discreet index import`, every record audited",
        )
    ]


def _import(own: sidecar.Sidecar, folder: Path) -> float:
    lines = folder / "peps.jsonl"
    with lines.open("w") as out:
        subprocess.run([sys.executable, "-m", "discreet.cli.peps"], stdout=out, check=True)
    command = [sys.executable, "-m", "discreet.cli", "index", "import", str(lines), "--socket-dir", str(own.sockets)]
    start = time.perf_counter()
    subprocess.run([*command, "--tenant", "marlowe"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def _policy() -> dict[str, str]:
    head = "apiVersion: discreet/v1\nkind: {}\nname: peps\n"
    return {
        "discreet.yaml": head.format("PolicySet"),
        "sources.yaml": head.format("SourceList")
        + "sources:\n  - {label: peps, title: PEPs, duty: DOCUMENT_STORE, collectors: [collector], max-age: none}\n",
        "rules.yaml": head.format("DisclosurePolicy") + "rules:\n  - {id: any, effect: ALLOW, moments: [RETRIEVE]}\n",
    }
