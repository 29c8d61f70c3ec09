"""A commit and a change in both orders, forced: whoever is first in the row's queue wins, and every answer says so."""

from __future__ import annotations

import asyncio

import pytest

from discreet.policy.token import decode
from discreet.v1 import common_pb2, disclosure_pb2
from tests.server.pairs.changes import CHANGES, READER, Forbidding, Stage
from tests.server.pairs.conftest import Pair
from tests.server.support import binding, check, commit, commit_verdicts, segment, verdicts

pytestmark = pytest.mark.asyncio(loop_scope="module")
Kind = disclosure_pb2.CommitOrder.Kind
ALLOWED = [("ALLOW", "NONE")]


def asked(stage: Stage) -> disclosure_pb2.CommitRequest:
    """The commit of a segment that rests on the stage's document."""
    return commit(segment("s1", binding(stage.record_id)), answer=stage.label, principal=READER)


async def replayed(pair: Pair, ledger_id: str) -> list[tuple[str, str]]:
    """What is said of the stored segment now."""
    return verdicts(await pair.committing.lines.agent.check(check(ledger_ids=[ledger_id], principal=READER)))


async def told(pair: Pair, stage: Stage, moment: common_pb2.Moment.ValueType) -> list[tuple[str, str]]:
    """What is said of a segment that is not stored yet."""
    request = check(segment("s1", binding(stage.record_id)), moment=moment, principal=READER)
    return verdicts(await pair.committing.lines.agent.check(request))


def ledger_rows(pair: Pair, stage: Stage) -> list[tuple[int]]:
    """How many segments of the stage's answer are in the ledger."""
    return pair.database.rows("SELECT count(*) FROM ledger WHERE answer_id = ?", [stage.label])


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_that_came_first_makes_the_commit_fail(pair: Pair, name: str) -> None:
    """B6: the commit was decided before the change landed and waited behind it; it is overtaken, and writes nothing.

    B8: what can end and has ended forbids nothing any more.
    """
    change, stage = CHANGES[name], await pair.stage()
    async with pair.row_held() as row:
        changing = asyncio.create_task(change.make(stage))
        await row.waiting(1)
        committing = asyncio.create_task(pair.committing.lines.agent.commit(asked(stage)))
        await row.waiting(2)
    seq, undo = await changing
    made = await committing
    assert commit_verdicts(made) == [change.told]
    assert made.results[0].order.kind == Kind.KIND_OVERTAKEN
    assert decode(made.token).seq >= seq
    assert ledger_rows(pair, stage) == [(0,)]
    assert (undo is None) == change.stays
    if undo is not None:
        await undo(stage)
        assert commit_verdicts(await pair.committing.lines.agent.commit(asked(stage))) == ALLOWED


@pytest.mark.parametrize("name", CHANGES)
async def test_a_commit_that_came_first_stands_and_is_not_shown_again(pair: Pair, name: str) -> None:
    """B6: the commit has the lower number and its row; from the change on every moment is forbidden.

    B8: all but a due revoke hide, delete nothing, and show again where they can end; B7: a due revoke purges.
    """
    change, stage = CHANGES[name], await pair.stage()
    async with pair.row_held() as row:
        committing = asyncio.create_task(pair.committing.lines.agent.commit(asked(stage)))
        await row.waiting(1)
        changing = asyncio.create_task(change.make(stage))
        await row.waiting(2)
    made = await committing
    seq, undo = await changing
    assert (commit_verdicts(made), made.results[0].order.kind) == (ALLOWED, Kind.KIND_COMMITTED)
    assert decode(made.results[0].order.token).seq < seq
    await _is_forbidden(pair, stage, change, made.results[0].ledger_id)
    assert ledger_rows(pair, stage) == [(1,)]
    if undo is not None:
        await undo(stage)
        assert await replayed(pair, made.results[0].ledger_id) == ALLOWED


async def _is_forbidden(pair: Pair, stage: Stage, change: Forbidding, ledger_id: str) -> None:
    assert await replayed(pair, ledger_id) == [change.told]
    for moment in (common_pb2.MOMENT_RETRIEVE, common_pb2.MOMENT_PUBLISH):
        assert await told(pair, stage, moment) == [change.told]
    again = await pair.committing.lines.agent.commit(asked(stage))
    assert (commit_verdicts(again), again.results[0].order.kind) == ([change.told], Kind.KIND_REPEATED)
