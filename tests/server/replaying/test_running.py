"""F8: the same report however many processes work on it, in bounded pieces, and without a write."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from typing import Any

import pytest

from discreet.cli.policy_replaying import Report, report_tree
from discreet.policy.facts import Micros
from discreet.policy.replay import Change, Outcome
from discreet.server.ports import StoreError
from discreet.server.replaying import Job, pages, replay_period, start, total
from discreet.server.replaying.connecting import reading
from discreet.server.replaying.pages import CHUNK, Period, chunks
from tests.server.replaying.staging import NARROW, candidate, decide_everything, drafts, replayed, stage
from tests.server.support import TENANT, Running, check, commit


def _url(running: Running) -> str:
    return running.server.config.db


def _job(url: str, period: Period, workers: int) -> Job:
    return Job(url, period, candidate(NARROW), start(url).head, workers)


def _whole(url: str, tenant: str = "") -> Period:
    return Period(Micros(0), Micros(start(url).head.now + 1), tenant)


def _told(period: Period, outcome: Outcome) -> str:
    return json.dumps(report_tree(Report("x", "", period, 1, outcome)))


async def _many(running: Running) -> None:
    """More decisions than one piece holds."""
    await stage(running)
    wide = [drafts(*[f"{name}" for name in "abcdefg"])[i % 7] for i in range(CHUNK // 2 + 10)]
    for i, one in enumerate(wide):
        one.id = f"s-{i}"
    for principal in ("ana", "bo", "eve"):
        await running.lines.agent.check(check(*wide, principal=principal))
    await running.lines.agent.commit(commit(*wide))


async def test_any_number_of_processes_gives_the_same_report(either: Running) -> None:
    """F8: the pieces are the same and are added up in order; progress adds up to all decisions."""
    await decide_everything_twice(either)
    await _many(either)
    url = _url(either)
    period = _whole(url)
    done: list[int] = []
    alone = replay_period(_job(url, period, 1), done.append)
    beside = replay_period(replace(_job(url, period, 2), head=start(url).head))
    assert _told(period, alone) == _told(period, beside)
    assert sum(done) == total(url, period) == alone.decisions.total > 2 * CHUNK
    assert len(done) > 1
    assert alone.segments.count(Change.NEWLY_WITHHELD) == alone.segments.total > CHUNK // 2
    assert alone.decisions.causes == {}


async def decide_everything_twice(running: Running) -> None:
    """Every kind of decision, commits repeated."""
    await stage(running)
    await decide_everything(running)
    await decide_everything(running)


async def test_each_row_is_whole_in_one_piece(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: whatever the page, every decision is in one piece, once, in order."""
    await _many(running)
    url = _url(running)
    with reading(url) as connection:
        pieces = list(chunks(connection, _whole(url)))
        monkeypatch.setattr(pages, "PAGE", 7)
        assert list(chunks(connection, _whole(url))) == pieces
    keys = [key for piece in pieces for key in piece.keys]
    assert len(keys) == len(set(keys))
    ids = [one for piece in pieces for row in piece.decision_ids for one in row]
    assert len(ids) == len(set(ids)) == total(url, _whole(url))
    assert all(len(piece.keys) == 1 or piece.decisions < 2 * CHUNK for piece in pieces)


async def test_a_period_and_a_tenant_take_what_is_theirs(either: Running) -> None:
    """F8: from a time on and before another, to the microsecond; of one tenant alone."""
    await stage(either)
    await decide_everything(either)
    url = _url(either)
    everything = replayed(url).decisions.total
    first = (await _times(either))[0]
    head = start(url).head
    assert total(url, Period(Micros(0), first)) == 0
    assert total(url, Period(first, Micros(first + 1))) > 0
    assert total(url, Period(Micros(first + 1), Micros(head.now + 1))) < everything
    assert replayed(url, tenant=TENANT).decisions.total == everything
    assert replayed(url, tenant="other").decisions.total == 0


async def _times(running: Running) -> list[Micros]:
    found = await running.lines.auditor.decisions(tenant=TENANT)
    return sorted(Micros(one.at.ToMicroseconds()) for one in found)


async def test_nothing_is_written(running: Running) -> None:
    """F8, A13: every table is as before, but for what the running server goes on to tell of itself."""
    await decide_everything_twice(running)
    url = _url(running)
    before = _dump(url)
    replayed(url, NARROW)
    assert _dump(url) == before


def _dump(url: str) -> list[Any]:
    with sqlite3.connect(url) as raw:
        names = [name for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        found = [raw.execute(f'SELECT * FROM "{name}"').fetchall() for name in names if name != "server"]
    raw.close()
    return found


async def test_the_connection_may_not_write(either: Running) -> None:
    """A13: a file is opened read-only, a server asked under the reader's role, whatever the login may do."""
    refused = pytest.raises(StoreError, match=r"readonly|permission denied|read-only")
    with refused, reading(_url(either)) as connection:
        connection.exec_driver_sql("DELETE FROM audit_row")


async def test_states_that_came_after_the_start_are_read_as_they_are(running: Running) -> None:
    """F8: what was kept of the history before a row was written is not taken for what the row was decided on."""
    await stage(running)
    url = _url(running)
    head = start(url).head
    await decide_everything(running)
    late = Job(url, Period(Micros(0), Micros(start(url).head.now + 1)), candidate(), head, 1)
    found = replay_period(late).decisions
    assert (found.causes, found.unchanged) == ({}, found.total)
