"""Nothing was told that is not on record, wherever in an answer the server was killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.crashing import crash
from tests.crash.soak import MODES
from tests.postgres_server import PostgresServer
from tests.server.conftest import place

__all__ = ["place"]

KILLS = 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_whatever_a_caller_read_is_in_the_audit(place: Path, store: str, mode: str) -> None:
    """F7, AUD-01, AUD-07: decisions, commits and changes, each once; and the chain is whole."""
    server = PostgresServer() if store == "postgresql" else None
    try:
        db = str(place / "discreet.db") if server is None else server.fresh_database()
        outcome = await crash(place, db, KILLS, seed=20261201, policy=MODES[mode])
    finally:
        if server is not None:
            server.stop()
    assert outcome.lost == []
    assert len(outcome.told) > 0
