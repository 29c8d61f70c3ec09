"""A server that follows no ref: it serves what others publish, and knows how old their last look is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from discreet.policy.facts import Micros
from discreet.server.config import ServerConfig, load_config
from discreet.server.errors import ConfigRefused
from discreet.server.policies.following import outdated_as_told
from discreet.server.ports_policy import ServerRow
from discreet.server.stores import open_store
from tests.postgres_server import PostgresServer
from tests.server.faults import FaultyStore
from tests.server.policies.revisions import SECOND, asked, beat, commit_of, in_force, publish, published, rolled_back
from tests.server.support import (
    POLICY,
    PolicyRepo,
    check,
    commit,
    commit_verdicts,
    config_of,
    document,
    eventually,
    in_process,
    make_repo,
    verdicts,
)

MINUTE = 60 * SECOND


async def test_it_serves_what_is_published_and_publishes_nothing(place: Path) -> None:
    """E2, REV-16: NOT_SERVING until somebody publishes; then each publication and rollback decides at once."""
    async with in_process(config_of(place, "published")) as running:
        status = await running.lines.operator.status()
        assert (status.ready, list(status.problems)) == (False, ["policy: no revision is in force yet"])
        assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
        assert commit_verdicts(await running.lines.agent.commit(commit())) == [("WITHHOLD", "DEPENDENCY_UNAVAILABLE")]
        await published(running, publish("x"))
        await running.lines.collector.put(document())
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        delisted = POLICY["sources.yaml"].replace("{label: handbook,", "{label: handbook, listed: false,")
        files = {**POLICY, "sources.yaml": delisted}
        await published(running, asked(files, commit=commit_of("y"), expected_number=1))
        assert verdicts(await running.lines.agent.check(check())) == [("WITHHOLD", "UNTRUSTED_SOURCE")]
        await rolled_back(running, 1)
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        status = await running.lines.operator.status()
        assert (status.policy.number, status.ready, status.HasField("policy_checked_at")) == (3, True, False)


async def test_it_takes_what_a_follower_of_the_database_publishes(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F2: one follower and one that follows nothing, on one database: the same revision, whole."""
    url = postgres.fresh_database("template1")
    follower = config_of(place, repo.path, db=url, instance="follower", socket_dir=place / "f")
    async with in_process(follower) as one, in_process(config_of(place, "published", db=url)) as other:
        newest = repo.commit({"sources.yaml": POLICY["sources.yaml"] + "# more\n"})
        assert (await in_force(other, newest)).policy == (await in_force(one, newest)).policy


async def test_a_question_waits_for_its_revision_also_where_an_older_one_is_being_taken_over(
    place: Path, repo: PolicyRepo, postgres: PostgresServer
) -> None:
    """F2, REV-16: who asks after a publication is answered under it, and not withheld since others asked before."""
    url = postgres.fresh_database("template1")
    store = FaultyStore(open_store(url))
    follower = config_of(place, repo.path, db=url, instance="follower", socket_dir=place / "f")
    following = config_of(place, "published", db=url, poll_s=3_600.0)
    async with in_process(follower) as one, in_process(following, store=store) as other:
        await one.lines.collector.put(document())
        await other.lines.agent.check(check())
        loading, store.held["policy_row"] = asyncio.Event(), asyncio.Event()
        store.before["policy_row"] = loading.set
        asked_under = []
        for text in ("# second\n", "# third\n"):
            await in_force(one, repo.commit({"sources.yaml": POLICY["sources.yaml"] + text}))
            heads = store.calls.count("head")
            asked_under.append(asyncio.create_task(other.lines.agent.check(check())))
            await loading.wait()

            async def asked_again(before: int = heads) -> bool:
                return store.calls.count("head") > before

            await eventually(asked_again)
        store.held["policy_row"].set()
        first, second = await asyncio.gather(*asked_under)
        assert verdicts(first) == verdicts(second) == [("ALLOW", "NONE")]
        assert second.policy.number == 3


async def test_it_withholds_once_nobody_reads_the_ref_any_more(place: Path) -> None:
    """REV-14, F1: POLICY_STALE past policy-max-age after the last word on the ref; and no longer once it is read again.

    The publication was the last word at first; then a server read the ref, found nothing newer, and fell silent.
    """
    stale = POLICY["discreet.yaml"] + "policy-max-age: 2s\n"
    repo = make_repo(place / "policy", {**POLICY, "discreet.yaml": stale})
    async with in_process(config_of(place, repo.path, instance="first")) as running:
        await running.lines.collector.put(document())
    async with in_process(config_of(place, "published", poll_s=3_600.0)) as running:

        async def answered(*wanted: str) -> None:
            async def holds() -> bool:
                return verdicts(await running.lines.agent.check(check())) == [wanted]

            await eventually(holds)

        await answered("WITHHOLD", "POLICY_STALE")
        status = await running.lines.operator.status()
        assert (status.ready, any("policy-max-age" in problem for problem in status.problems)) == (False, True)
        assert await running.server.store.beat(beat("reader", read_age=0))
        await answered("ALLOW", "NONE")
        await answered("WITHHOLD", "POLICY_STALE")
        assert await running.server.store.beat(beat("reader", read_age=0, lag=MINUTE))
        assert await running.server.store.beat(beat("blind", read_age=None))
        await answered("WITHHOLD", "POLICY_STALE")
        assert await running.server.store.beat(beat("reader", read_age=0))
        await answered("ALLOW", "NONE")


def read(seen_at: int, read_age: int | None, lag: int) -> ServerRow:
    """A server that told of itself at a minute, with ages in minutes."""
    ages = {"read_age": read_age * MINUTE if read_age is not None else None, "lag": lag * MINUTE}
    return ServerRow(beat("one", **ages), Micros(0), Micros(seen_at * MINUTE))


@pytest.mark.parametrize(
    "servers, published_at, age",
    [
        ([], 40, 60),
        ([read(99, None, 0)], 40, 60),
        ([read(99, 0, 0)], 40, 1),
        ([read(99, 2, 2)], 40, 3),
        ([read(99, 0, 30)], 40, 31),
        ([read(99, 0, 30), read(98, 0, 0)], 40, 31),
        ([read(50, 0, 0), read(99, None, 0)], 40, 50),
        ([read(50, 0, 45)], 60, 40),
        ([read(99, 0, 80)], 60, 81),
        ([read(99, 0, 0)], 100, 0),
        ([], 101, 0),
    ],
)
def test_the_last_word_on_the_ref_counts(servers: list[ServerRow], published_at: int, age: int) -> None:
    """REV-14: that of who read it last, with what it found outdated, or the publication where that came later."""
    found = outdated_as_told(Micros(100 * MINUTE), servers, Micros(published_at * MINUTE))
    assert found == age * MINUTE


@pytest.mark.parametrize(
    "changes",
    [{"ref": "main"}, {"dirty": True}, {"policy_path": "p"}, {"policy_webhook": ("127.0.0.1", 0)}],
)
def test_what_follows_nothing_is_told_no_ref(changes: dict[str, object], tmp_path: Path) -> None:
    """A start refuses what contradicts itself; a directory of that name is written with its path."""
    with pytest.raises(ConfigRefused, match="policy published follows no ref"):
        ServerConfig(policy="published", **changes)  # type: ignore[arg-type] # the changes of each case
    file = tmp_path / "discreet-server.yaml"
    file.write_text("policy: published\n")
    assert load_config(file, {}).policy == "published"
