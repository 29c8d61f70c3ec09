"""Every fault of Redis, in an order by chance, on two real servers under load."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import scratch
from tests.storm.chaos import chaos
from tests.storm.scene import IN_FORCE_S, POLL_S


@pytest.fixture
def directory() -> Iterator[Path]:
    """A short path, as sockets need one."""
    with tempfile.TemporaryDirectory(prefix="ds-", dir=scratch.short()) as path:
        yield Path(path)


async def test_all_faults_of_redis_in_a_row_make_no_answer_wrong_and_no_push_late(directory: Path) -> None:
    """E2, E6, REV-01: flushed, killed, restored, evicting, full, cut off, lying, silent: one after the other.

    Meanwhile segments are checked and committed through both servers. No answer is wrong or older than one before it,
    and every push is in force on both within the poll interval and the bound, during each fault and after it.
    """
    found = await chaos(1, directory)
    assert found.outcome.wrong == []
    assert [name for name, took in found.pushes if took > POLL_S + IN_FORCE_S] == []
    during = {name for name, _ in found.pushes if not name.startswith("after: ")}
    assert {"flushed", "killed and started", "restored from an older dump", "evicting", "partitioned", "lies",
            "clients killed"} <= during  # fmt: skip
    assert [one.rolled_back_to for one in found.outcome.published] == [0] * (len(found.pushes) + 1)
    assert {one.client.rpartition("-")[2] for one in found.outcome.answers if one.decided} == {
        "batches", "stream", "commits",
    }  # fmt: skip
