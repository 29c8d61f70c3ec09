"""A due revoke beside every other change, whichever came first: what the holder of a copy is told."""

from __future__ import annotations

import pytest

from discreet.v1 import common_pb2
from tests.server.pairs.changes import CHANGES, PURGED, Stage
from tests.server.pairs.conftest import Pair
from tests.server.pairs.test_orders import asked, replayed, told

pytestmark = pytest.mark.asyncio(loop_scope="module")
REVOKES = ("revoke version", "revoke source")
OTHERS = [name for name in CHANGES if not name.startswith("revoke")]
HOLDS = [name for name in OTHERS if name.startswith("hold")]
OF_RECORDS = ("suspend", "set scopes", "end assessment", "lose document", "supersede", "later version")
"""Edits of the record itself: refused once it is revoked, so they can only come before."""


async def stored(pair: Pair) -> tuple[Stage, str]:
    """A stage whose segment is in the ledger."""
    stage = await pair.stage()
    made = await pair.committing.lines.agent.commit(asked(stage))
    assert made.results[0].ledger_id
    return stage, made.results[0].ledger_id


@pytest.mark.parametrize("name", OTHERS)
async def test_a_due_revoke_after_it_is_purged_and_a_hold_keeps_it(pair: Pair, name: str) -> None:
    """B11: at REPLAY the revoke is judged first of all, whatever else forbids, and whoever reads; a hold keeps.

    At PUBLISH who fails on availability is told nothing of it (F11).
    """
    stage, ledger_id = await stored(pair)
    _, undo = await CHANGES[name].make(stage)
    await CHANGES["revoke version"].make(stage)
    wanted = CHANGES[name].told if name in HOLDS else PURGED
    assert await replayed(pair, ledger_id) == [wanted]
    published = CHANGES[name].told if CHANGES[name].told[1] == "NOT_AVAILABLE" else wanted
    assert await told(pair, stage, common_pb2.MOMENT_PUBLISH) == [published]
    if undo is not None and name not in OF_RECORDS:
        await undo(stage)
        assert await replayed(pair, ledger_id) == [PURGED]


@pytest.mark.parametrize("revoke", REVOKES)
@pytest.mark.parametrize("name", [name for name in OTHERS if name not in OF_RECORDS])
async def test_a_due_revoke_before_it_is_purged_and_a_hold_keeps_it(pair: Pair, name: str, revoke: str) -> None:
    """B11: taking a right, a rule or a source away afterwards cannot turn PURGE into WITHHOLD; a hold alone does."""
    stage, ledger_id = await stored(pair)
    await CHANGES[revoke].make(stage)
    _, undo = await CHANGES[name].make(stage)
    assert await replayed(pair, ledger_id) == [CHANGES[name].told if name in HOLDS else PURGED]
    if undo is not None:
        await undo(stage)
    assert await replayed(pair, ledger_id) == [PURGED]
