"""A short storm of commits over three real servers; the long one is `make soak`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scratch
from tests.storm.sets import Kind
from tests.storm.storm import Plan, storm

PLAN = Plan(seed=1, decisions=3_000, commits=60, revisions=12, faults=6, rollbacks=2, stalls=3)


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short path, as sockets need one."""
    with tempfile.TemporaryDirectory(prefix="ds-", dir=scratch.short()) as path:
        yield Path(path)


async def test_a_storm_of_commits_makes_no_answer_wrong_mixed_or_older(directory: Path) -> None:
    """E2, E6, F2: good and bad commits every 50 ms, three servers, full load, faults of Redis, stalls, rollbacks.

    Nothing is allowed against the rule that stands in every good set; each answer is that of the one revision that it
    names, and none is older than an answer that came before it was asked; no bad commit was ever in force, and the last
    good one is at the end.
    """
    outcome = await storm(PLAN, directory)
    assert outcome.wrong == []
    assert outcome.decided >= PLAN.decisions
    assert outcome.decided > outcome.segments / 2
    assert len(outcome.made) > PLAN.commits
    assert len(outcome.published) >= PLAN.revisions
    assert {one.kind for one in outcome.made} == set(Kind)
    assert outcome.rollbacks >= 1
    assert (sum(outcome.faults.values()), outcome.stalls) == (PLAN.faults, PLAN.stalls)
    assert len({one.number for one in outcome.answers if one.decided}) > PLAN.revisions / 2
