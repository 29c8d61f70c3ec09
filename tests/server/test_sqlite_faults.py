"""A SQLite server whose disk is full or whose file another process holds, for real: a limit, a lock, a kill -9."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit

import grpc
import pytest

from tests.contract.databases import Database
from tests.server.support import (
    PolicyRepo,
    Spawned,
    audit_rows,
    check,
    commit,
    commit_verdicts,
    document,
    eventually,
    spawn,
    verdicts,
)

ALLOWED = [("ALLOW", "NONE")]
CALLS = 30
HOLDER = """
import sqlite3, sys
raw = sqlite3.connect(sys.argv[1], isolation_level=None)
raw.execute(sys.argv[2])
raw.execute("UPDATE authority SET seq = seq + 1000")
print("holds", flush=True)
sys.stdin.read()
"""


@asynccontextmanager
async def full_disk(server: Spawned, place: Path) -> AsyncIterator[None]:
    """No file of the server can grow beyond what the log of its database has now, until the block ends."""
    pid = server.process.pid
    prlimit(pid, RLIMIT_FSIZE, ((place / "discreet.db-wal").stat().st_size, RLIM_INFINITY))
    try:
        yield
    finally:
        prlimit(pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))


async def answer_to(server: Spawned, name: str) -> tuple[str, str]:
    """Verdict and reason of a commit, or the status and whether it says that the outcome is unknown."""
    try:
        return commit_verdicts(await server.lines.agent.commit(commit(answer=name)))[0]
    except grpc.aio.AioRpcError as error:
        return error.code().name, "unknown" if "unknown" in (error.details() or "") else ""


async def test_a_full_disk_discloses_nothing_and_is_got_over(spawned: Spawned, place: Path) -> None:
    """F7, AUD-01, AUD-07, DB-01: no answer without its row; with space again what is repeated is there once."""
    await spawned.lines.collector.put(document())
    assert await answer_to(spawned, "before") == ALLOWED[0]
    async with full_disk(spawned, place):
        refused = {verdicts(await spawned.lines.agent.check(check()))[0] for _ in range(CALLS)}
        answers = {f"full-{number}": await answer_to(spawned, f"full-{number}") for number in range(CALLS)}
    assert refused == {("WITHHOLD", "AUDIT_UNAVAILABLE")}
    assert set(answers.values()) <= {("UNAVAILABLE", "unknown"), ("WITHHOLD", "AUDIT_UNAVAILABLE")}

    async def allows() -> bool:
        return verdicts(await spawned.lines.agent.check(check())) == ALLOWED

    await eventually(allows)
    for name in answers:
        assert await answer_to(spawned, name) == ALLOWED[0]
    rows = Database("sqlite", str(place / "discreet.db")).rows("SELECT count(*), count(DISTINCT answer_id) FROM ledger")
    assert rows == [(CALLS + 1, CALLS + 1)]
    assert await spawned.terminate() == 0
    assert len({row.request_id for row in audit_rows(str(place / "discreet.db"))}) >= CALLS + 2


@pytest.mark.parametrize("begin", ["BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"])
async def test_a_file_that_another_process_holds_is_answered_in_time_and_got_over(
    place: Path, repo: PolicyRepo, begin: str
) -> None:
    """DB-01, A12, AUD-07: a true timeout withholds and loses no audit; of a holder that dies nothing stays."""
    server = await spawn(place, repo.path, store_timeout_s=1.0)
    await server.lines.collector.put(document())
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, str(place / "discreet.db"), begin,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    assert await holder.stdout.readline() == b"holds\n"
    try:
        assert verdicts(await server.lines.agent.check(check(), 10)) == [("WITHHOLD", "AUDIT_UNAVAILABLE")]
        assert (await answer_to(server, "held"))[0] in {"UNAVAILABLE", "WITHHOLD"}
    finally:
        holder.kill()
        await holder.wait()

    async def allows() -> bool:
        return await answer_to(server, "held") == ALLOWED[0]

    await eventually(allows)
    rows = Database("sqlite", str(place / "discreet.db")).rows("SELECT count(*), max(seq) < 100 FROM ledger")
    assert rows == [(1, 1)]
    assert await server.terminate() == 0
