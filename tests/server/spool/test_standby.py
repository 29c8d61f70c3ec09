"""Draining with a standby: a row leaves the spool once the standby has it, whoever ends the wait for it."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

from tests.server.spool.files import ALLOWED, SPOOLED
from tests.server.support import check, config_of, document, eventually, in_process, make_repo, verdicts
from tests.server.test_failover import pair

WAITING = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
CANCEL = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"


async def test_a_wait_that_somebody_ended_drains_nothing(place: Path) -> None:
    """F7, DB-02: the rows are on the primary then, and stay in the spool until the standby has them as well."""
    repo = make_repo(place / "policy", SPOOLED)
    with pair() as (primary, standby, url):
        primary.configure(synchronous_standby_names="*")
        async with in_process(config_of(place, repo.path, db=url)) as running:
            spool = running.server.spool

            async def drained() -> bool:
                return spool.state.rows == 0

            await running.lines.collector.put(document())
            assert verdicts(await running.lines.agent.check(check())) == ALLOWED
            await eventually(drained)
            ((receiver,),) = await asyncio.to_thread(standby.ask, "SELECT pid FROM pg_stat_wal_receiver")
            os.kill(receiver, signal.SIGSTOP)
            try:
                assert verdicts(await running.lines.agent.check(check())) == ALLOWED
                for ended in range(1, 4):
                    await asyncio.to_thread(primary.until, WAITING, True)
                    await asyncio.to_thread(primary.execute, CANCEL)

                    async def failed(ended: int = ended) -> bool:
                        return spool.state.failed_drains >= ended

                    await eventually(failed)
                    assert spool.state.rows == 1
            finally:
                os.kill(receiver, signal.SIGCONT)
            await eventually(drained)
            assert len(await running.lines.auditor.decisions()) == 2
