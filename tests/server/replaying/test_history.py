"""F8: on a real database, whatever changed since, a decision comes out byte by byte as it was recorded."""

from __future__ import annotations

from discreet.policy.replay import Cause, Change
from discreet.v1 import common_pb2
from tests.server.authority.acts import hold, lift_hold, unfreeze
from tests.server.replaying.staging import (
    NARROW,
    RECORDS,
    change_everything,
    decide_everything,
    drafts,
    grant,
    replayed,
    stage,
)
from tests.server.support import POLICY, PolicyRepo, Running, check, commit, eventually, ref


def _url(running: Running) -> str:
    return running.server.config.db


async def test_what_was_decided_comes_out_as_it_was_whatever_changed_since(either: Running) -> None:
    """F8, F7: at every moment, allowed and refused, before and after records, grants and standing facts changed."""
    await stage(either)
    await decide_everything(either)
    frozen = await change_everything(either)
    await decide_everything(either)
    await unfreeze(either.lines.operator, frozen)
    placed = await hold(either.lines.operator, record=ref("handbook/f"))
    await either.lines.agent.check(check(*drafts(*RECORDS), principal="bo"))
    await lift_hold(either.lines.operator, placed.hold_id)
    await grant(either, "desk")
    await decide_everything(either)
    found = replayed(_url(either)).decisions
    assert (found.groups, found.causes) == ({}, {})
    assert found.unchanged == found.total > 90


async def test_each_decision_is_replayed_under_the_revision_that_made_it(either: Running, repo: PolicyRepo) -> None:
    """F8: several revisions, each judged by itself; the candidate takes the place of every one of them."""
    await stage(either)
    await decide_everything(either)
    repo.commit(NARROW)
    agent = either.lines.agent

    async def narrowed() -> bool:
        return (await agent.check(check(*drafts("a")))).policy.number == 2

    await eventually(narrowed)
    names = await decide_everything(either)
    again = check(ledger_ids=names)
    assert {one.reason for one in (await agent.check(again)).results} == {common_pb2.REASON_POLICY_RULE}
    wide, narrow = replayed(_url(either), dict(POLICY)), replayed(_url(either), NARROW)
    assert (wide.decisions.causes, narrow.decisions.causes) == ({}, {})
    assert wide.decisions.count(Change.NEWLY_ALLOWED) > 0
    assert wide.decisions.count(Change.NEWLY_WITHHELD) == 0
    assert narrow.decisions.count(Change.NEWLY_ALLOWED) == 0
    assert narrow.decisions.count(Change.NEWLY_WITHHELD) > 0
    (key, group) = wide.decisions.ordered(Change.NEWLY_ALLOWED)[0]
    assert (key.moment, key.label, key.before.reason, key.after.rule) == (
        "REPLAY", "handbook", "POLICY_RULE", "allow-sources",
    )  # fmt: skip
    assert list(group.principals.counts) == ["ana"]


async def test_stored_segments_are_judged_on_the_facts_of_now(either: Running) -> None:
    """F8, B1: each entry once, as at REPLAY under the revision in force and the candidate, whoever asked since."""
    await stage(either)
    names = await decide_everything(either)
    await decide_everything(either)
    found = replayed(_url(either), NARROW)
    assert found.segments.total == len(names) + 1
    assert found.segments.count(Change.NEWLY_WITHHELD) == found.segments.total
    await change_everything(either)
    assert replayed(_url(either), NARROW).segments.unchanged == found.segments.total
    assert replayed(_url(either), NARROW).decisions.count(Change.NEWLY_WITHHELD) > 0


async def test_a_row_that_was_changed_behind_the_servers_back_is_not_replayable(running: Running) -> None:
    """F8: a fact that is gone and a row that says otherwise are noticed, never called unchanged."""
    import sqlite3

    await stage(running)
    await running.lines.agent.commit(commit(*drafts("a", "b")))
    await running.lines.agent.check(check(*drafts("a")))
    with sqlite3.connect(_url(running)) as raw:
        raw.execute("DELETE FROM record_revision WHERE record_id = 'handbook/b'")
    raw.close()
    found = replayed(_url(running))
    assert {cause: group.count for cause, group in found.decisions.causes.items()} == {Cause.FACTS_MISSING: 2}
    assert found.decisions.unchanged == 1
    with sqlite3.connect(_url(running)) as raw:
        raw.execute("UPDATE audit_row SET body = substr(body, 1, length(body) - 1)")
    raw.close()
    found = replayed(_url(running))
    assert {cause: group.count for cause, group in found.decisions.causes.items()} == {Cause.UNREADABLE: 3}


async def test_a_revision_that_is_gone_is_not_replayable(running: Running) -> None:
    """F8: without the revision that decided nothing can be compared, and stored segments have no present."""
    import sqlite3

    await stage(running)
    await running.lines.agent.commit(commit(*drafts("a")))
    with sqlite3.connect(_url(running)) as raw:
        raw.execute("UPDATE policy_revision SET bundle = x'00'")
    raw.close()
    found = replayed(_url(running))
    for tally in (found.decisions, found.segments):
        assert {cause: group.count for cause, group in tally.causes.items()} == {Cause.REVISION_MISSING: 1}
