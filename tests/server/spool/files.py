"""Spools for tests: policies that ask for one, and what its files hold as any reader would find it."""

from __future__ import annotations

import io
from pathlib import Path

from discreet.policy.facts import Micros
from discreet.server.clock import SystemClock
from discreet.server.logs import make_log
from discreet.server.ports import AuditRecord, Clock
from discreet.server.spool import Spool
from discreet.server.spool.blocks import rows_of, scan
from discreet.server.spool.file import SUFFIX
from discreet.server.spool.rows import unpack_row
from discreet.v1 import common_pb2, disclosure_pb2
from tests.server.support import POLICY, binding, check, segment

EPOCH = "e" * 32
SPOOLED = {**POLICY, "discreet.yaml": POLICY["discreet.yaml"] + "audit: {checks: spooled}\n"}
BOUNDED = {**SPOOLED, "discreet.yaml": SPOOLED["discreet.yaml"] + "read-max-staleness: 5s\n"}
ALLOWED = [("ALLOW", "NONE")]
UNRECORDED = [("WITHHOLD", "AUDIT_UNAVAILABLE")]


class TurnedClock(SystemClock):
    """The wall clock stands where a test turns it."""

    def __init__(self) -> None:
        self.at = 1_800_000_000_000_000

    def wall(self) -> Micros:
        """Microseconds since 1970 UTC."""
        return Micros(self.at)


def spool_on(state: Path, *, mb_max: int = 256, clock: Clock | None = None) -> tuple[Spool, io.StringIO]:
    """A spool that is not open yet, and its log."""
    log = io.StringIO()
    return Spool(state, mb_max, clock or SystemClock(), make_log("json", "debug", log)), log


def files_in(state: Path) -> list[Path]:
    """The files of every spool of a state directory, the oldest first."""
    return sorted(state.glob(f"spool/*/*{SUFFIX}"), key=lambda path: path.name)


def held_in(state: Path) -> list[AuditRecord]:
    """The rows that the files of a state directory hold, drained or not."""
    found: list[AuditRecord] = []
    for path in files_in(state):
        data = path.read_bytes()
        blocks = scan(path.stem, data).blocks
        found += [unpack_row(row) for block in blocks for row in rows_of(data[block.offset : block.end])]
    return found


def bounded() -> disclosure_pb2.CheckRequest:
    """A check at RETRIEVE that takes facts as the policy allows them."""
    asked = check(segment("s1", binding()), moment=common_pb2.MOMENT_RETRIEVE)
    asked.consistency = common_pb2.CONSISTENCY_BOUNDED
    return asked
