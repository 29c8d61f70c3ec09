"""`make bench`: runs every measurement that this machine has the parts for, names what is missing, writes the table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from tests.bench import checks, commits, imports, inprocess, policies, pushes, replays, report, revokes
from tests.bench.load import Missing

MEASUREMENTS: dict[str, Callable[[], list[report.Row]]] = {
    "in-process": inprocess.measure,
    "check": checks.measure,
    "commit-sqlite": commits.measure_sqlite,
    "commit-postgresql": commits.measure_postgresql,
    "revoke-sqlite": revokes.measure_sqlite,
    "revoke-postgresql": revokes.measure_postgresql,
    "import": imports.measure,
    "policy-check": policies.measure,
    "policy-replay": replays.measure,
    "policy-push": pushes.measure,
}


def main(arguments: list[str] | None = None) -> int:
    """Runs the named measurements, or all; the document is rewritten only when all were asked for."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *MEASUREMENTS], help="which; none: all")
    chosen = parser.parse_args(arguments).names or list(MEASUREMENTS)
    rows: list[report.Row] = []
    missing: list[str] = []
    for name in chosen:
        print(f"bench: {name} ...", file=sys.stderr, flush=True)
        try:
            found = MEASUREMENTS[name]()
        except Missing as needed:
            missing.append(f"{name} (needs {needed})")
            continue
        rows += found
        for row in found:
            print(f"  {row.name}: {row.own} | {row.peer} | {row.ratio} | {row.note}", flush=True)
    for what in missing:
        print(f"bench: left out {what}", file=sys.stderr)
    if len(chosen) == len(MEASUREMENTS):
        report.write(rows, missing)
    return 0


if __name__ == "__main__":
    sys.exit(main())
