"""A database that went back is not served: what was revoked since may be missing in it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from discreet.policy.facts import Micros
from discreet.server.errors import StoreRefused
from discreet.server.ports import Head
from discreet.server.reading.high_water import DIGITS_MAX, HighWater
from discreet.v1 import index_pb2
from tests.server.cli.command import discreet
from tests.server.support import TENANT, PolicyRepo, check, config_of, document, eventually, in_process, ref, verdicts


def _head(seq: int, epoch: str = "e" * 32) -> Head:
    return Head(epoch, seq, seq, 1, Micros(0))


def _remove_database(place: Path) -> None:
    for left in place.glob("discreet.db*"):
        left.unlink()


async def test_a_backup_that_lacks_a_revoke_is_not_served_until_an_operator_says_so(
    place: Path, repo: PolicyRepo
) -> None:
    """F1, A12: over a restart, too, a lower order is not believed; an adoption is the operator's word for it."""
    config, backup = config_of(place, repo.path), place / "backup.db"
    async with in_process(config) as running:
        await running.lines.collector.put(document())
    shutil.copy(config.db, backup)
    async with in_process(config) as running:
        revoke = index_pb2.RevokeRetentionRequest(tenant=TENANT, record=ref(), reason="asked to", ticket="T-1")
        await running.lines.operator.call(revoke)
        assert verdicts(await running.lines.agent.check(check())) == [("PURGE", "RETENTION_REVOKED")]
    _remove_database(place)
    shutil.copy(backup, config.db)
    with pytest.raises(StoreRefused, match=r"went back.* run `discreet db adopt`"):
        async with in_process(config):
            pass
    assert not list((place / "s").glob("*.sock"))
    adopted = discreet(
        "db", "adopt", "--db", config.db, "--state", str(place / "state"), "--reason", "disk lost", "--actor", "ana"
    )
    assert (adopted.code, "lost, of epoch" in adopted.out, "up to event 4" in adopted.out) == (0, True, True)
    async with in_process(config) as running:
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]


async def test_what_was_seen_is_on_disk_while_the_server_runs(place: Path, repo: PolicyRepo) -> None:
    """F1: a server that is killed has noted all but what came in its last second."""
    async with in_process(config_of(place, repo.path)) as running:
        await running.lines.collector.put(document())
        head = await running.server.store.head()

        async def noted() -> bool:
            return (place / "state" / "high-water" / head.epoch).read_text() == f"{head.seq}\n"

        await eventually(noted)


async def test_a_new_database_in_the_place_of_an_old_one_is_served(place: Path, repo: PolicyRepo) -> None:
    """A database that was never seen has nothing to fall behind; in an empty index there is nothing to allow."""
    config = config_of(place, repo.path)
    async with in_process(config) as running:
        await running.lines.collector.put(document())
    _remove_database(place)
    async with in_process(config) as running:
        assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "NOT_AVAILABLE")]


def test_the_mark_only_rises_and_each_epoch_has_its_own(tmp_path: Path) -> None:
    """F1: at the mark a database is admitted, one below it is not; another server's lower view lowers nothing."""
    HighWater(tmp_path).admit(_head(7))
    other = HighWater(tmp_path)
    other.admit(_head(7))
    other.note(_head(9))
    HighWater(tmp_path).admit(_head(3, "f" * 32))
    with pytest.raises(StoreRefused, match="went back"):
        HighWater(tmp_path).admit(_head(8))
    HighWater(tmp_path).admit(_head(9))


@pytest.mark.parametrize("text", ["", "x", "-1", "9" * (DIGITS_MAX + 1)])
def test_a_damaged_mark_is_refused_and_named(tmp_path: Path, text: str) -> None:
    """A12: what cannot be read is not taken for "nothing was seen"."""
    HighWater(tmp_path).admit(_head(7))
    mark = tmp_path / "high-water" / ("e" * 32)
    mark.write_text(text)
    with pytest.raises(StoreRefused, match="is damaged"):
        HighWater(tmp_path).admit(_head(8))


def test_a_mark_that_cannot_be_kept_refuses_the_start(tmp_path: Path) -> None:
    """A12: a server that cannot remember says so at once, with what would be right."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreRefused, match="--state"):
        HighWater(tmp_path / "file").admit(_head(1))


async def test_a_mark_that_is_lost_later_shows_in_status(place: Path, repo: PolicyRepo) -> None:
    """A12: serving goes on, since what was seen is still known; never silently."""
    async with in_process(config_of(place, repo.path)) as running:
        shutil.rmtree(place / "state" / "high-water")
        (place / "state" / "high-water").write_text("in the way")
        await running.lines.collector.put(document())

        async def told() -> bool:
            return (
                "state directory: the high-water mark cannot be kept"
                in (await running.lines.operator.status()).problems
            )

        await eventually(told)
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
