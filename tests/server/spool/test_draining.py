"""What is left in a spool is drained when its server stops, though the database may be busy for a moment."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from discreet.server.logs import make_log
from discreet.server.ports import StoreError
from discreet.server.spool.draining import STOP_ATTEMPTS, Draining
from discreet.server.stores import open_store
from tests.contract.making import audit
from tests.server.faults import FaultyStore
from tests.server.spool.files import EPOCH, held_in, spool_on


class Busy(FaultyStore):
    """Fails so many drains, then does what it is told."""

    left = 0
    asked = 0

    async def _pass(self, name: str) -> None:
        self.asked += name == "drain"
        if name == "drain" and self.left:
            self.left -= 1
            raise StoreError("the database is locked")
        await super()._pass(name)


@pytest.mark.parametrize("failures", [0, 1, STOP_ATTEMPTS - 1, STOP_ATTEMPTS])
async def test_a_stop_waits_for_a_database_that_is_busy_and_for_none_that_is_gone(place: Path, failures: int) -> None:
    """AUD-01: rows stay in the file only where every attempt failed; the log and the file say so."""
    log = io.StringIO()
    store = Busy(open_store(str(place / "discreet.db")))
    await store.open()
    try:
        store.left = failures
        spool, _ = spool_on(place / "state")
        spool.open([EPOCH], wanted=True)
        await spool.append(audit(body=b"told"))
        await Draining(spool, store, make_log("json", "debug", log)).stop()
    finally:
        await store.close()
    drained = failures < STOP_ATTEMPTS
    assert [row.body for row in held_in(place / "state")] == ([] if drained else [b"told"])
    assert store.asked == min(failures + 1, STOP_ATTEMPTS)
    assert ("stay in the spool until the next start" in log.getvalue()) is not drained
