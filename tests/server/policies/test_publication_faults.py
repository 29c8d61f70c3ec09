"""What stands between a ref and its revision: older servers, a silent store, others who publish without end."""

from __future__ import annotations

import asyncio
import contextlib
import io
from pathlib import Path

import grpc
import pytest

from discreet.policy.engine import ENGINE
from discreet.server.bell import Bell
from discreet.server.clock import SystemClock
from discreet.server.logs import make_log
from discreet.server.policies import follower as following
from discreet.server.policies.bundles import Bundles, NoCache
from discreet.server.policies.errors import Cause
from discreet.server.policies.follower import PUBLISH_TRIES_MAX, Policies
from discreet.server.policies.sources import RepoSource, source_of
from discreet.server.ports import OutcomeUnknown, Store, StoreError
from discreet.server.ports_policy import PolicyName
from discreet.server.stores import open_store
from tests.server.faults import FaultyStore
from tests.server.policies.revisions import BAD, LISTED, beat, compiled, in_force, publish, published
from tests.server.support import POLICY, PolicyRepo, config_of, eventually, git, in_process


class Ringing(Bundles):
    """Bundles that remember what was told of, and whether SQL had it by then."""

    def __init__(self, store: Store) -> None:
        super().__init__(store, NoCache(), Bell())
        self.told: list[PolicyName] = []

    def published(self, name: PolicyName, bundle: bytes) -> None:
        """See the class inside."""
        self.told.append(name)
        super().published(name, bundle)


def counted(monkeypatch: pytest.MonkeyPatch, holder: object, name: str) -> list[str]:
    """One entry for each call of a function from now on, which does what it did."""
    calls: list[str] = []
    whole = getattr(holder, name)

    def counting(*args: object, **kwargs: object) -> object:
        calls.append(name)
        return whole(*args, **kwargs)

    monkeypatch.setattr(holder, name, counting)
    return calls


async def follower(place: Path, repo: PolicyRepo) -> tuple[Policies, FaultyStore, Ringing, io.StringIO]:
    """A follower without a server, on a store that can be broken."""
    store = FaultyStore(open_store(str(place / "discreet.db")))
    await store.open()
    bundles, log = Ringing(store), io.StringIO()
    source = source_of(config_of(place, repo.path))
    return Policies(source, bundles, store, SystemClock(), make_log("json", "debug", log), "test"), store, bundles, log


async def test_a_set_that_a_live_server_is_too_old_for_waits_for_it(place: Path, repo: PolicyRepo) -> None:
    """F1, F2: refused with the servers' names and counted once; tried again at each look."""
    policies, store, _, _ = await follower(place, repo)
    assert await store.beat(beat("old", engine=ENGINE - 1))
    for _ in range(3):
        await policies.poll()
    tip = git(repo.path, "rev-parse", "HEAD")
    assert (policies.snapshot, policies.following.error_commit) == (None, tip)
    assert (
        policies.following.error == f"the set needs engine {ENGINE}, which these servers lack: old; upgrade them first"
    )
    assert policies.refused[Cause.ENGINE] == 1
    assert policies.following.pending_ns is not None
    assert await store.beat(beat("old", engine=ENGINE - 1, ended=True))
    await policies.poll()
    assert policies.snapshot is not None
    assert (policies.snapshot.commit, policies.following.error) == (tip, "")
    assert not policies.following.pending_ns
    await store.close()


async def test_sql_first_then_the_others_are_told_once(place: Path, repo: PolicyRepo) -> None:
    """E2: what is told of can be read; neither a no-op nor a second look tells again."""
    policies, store, bundles, _ = await follower(place, repo)
    for _ in range(2):
        await policies.poll()
    name = await store.policy_name(0)
    assert bundles.told == [name]
    assert store.calls.index("change") > store.calls.index("policy_name")
    await store.close()


async def test_a_silent_store_stops_the_publication_and_not_the_reading(place: Path, repo: PolicyRepo) -> None:
    """A12: the ref goes on being read, what is new is known to be pending, and it comes into force once SQL answers."""
    policies, store, _, log = await follower(place, repo)
    await policies.poll()
    newest = repo.commit({"sources.yaml": LISTED})
    for method in ("policy_name", "change"):
        store.broken[method] = StoreError("lost")
        before = policies.following.read_ns
        await policies.poll()
        assert policies.following.read_ns != before
        assert policies.following.pending_ns is not None
        assert policies.snapshot is not None
        assert policies.snapshot.commit != newest
        del store.broken[method]
    assert "policy not published: the store does not answer" in log.getvalue()
    await policies.poll()
    assert (policies.snapshot or compiled().snapshot).commit == newest
    assert not policies.following.pending_ns
    await store.close()


async def test_without_a_ref_a_silent_store_is_said_once_and_the_age_grows(place: Path, repo: PolicyRepo) -> None:
    """REV-14: what others said before grows older by this process's own clock, until they can be asked again."""
    policies, store, bundles, _ = await follower(place, repo)
    await policies.poll()
    assert await store.beat(beat("reader", read_age=0))
    log = io.StringIO()
    other = Policies(None, bundles, store, SystemClock(), make_log("json", "debug", log), "other")
    await other.start()
    await other.poll()
    told = other.age_us()
    store.broken["servers"] = StoreError("lost")
    for _ in range(3):
        await other.poll()
    assert other.age_us() > told
    assert log.getvalue().count("nobody can be asked about the ref") == 1
    del store.broken["servers"]
    assert await store.beat(beat("reader", read_age=0))
    grown = other.age_us()
    await other.poll()
    assert other.age_us() < grown
    await store.close()


async def test_an_outcome_that_was_lost_is_looked_up_by_doing_it_again(place: Path, repo: PolicyRepo) -> None:
    """F2: the transaction was committed and its answer lost: the next look finds it in force and writes nothing."""
    policies, store, _, _ = await follower(place, repo)
    whole = store._inside
    made = compiled()
    store.before["change"] = lambda: whole.change(lambda work: work.policies.publish(0, row, origin))
    row = made.row._replace(commit=git(repo.path, "rev-parse", "HEAD"))
    origin = source_of(config_of(place, repo.path)).resolve().origin
    store.broken["change"] = OutcomeUnknown("lost on the way")
    await policies.poll()
    unpublished = policies.snapshot
    assert unpublished is None
    del store.broken["change"]
    await policies.poll()
    assert policies.snapshot is not None
    assert (policies.snapshot.number, len(await store.revisions(None, 9))) == (1, 1)
    await store.close()


async def test_others_who_publish_without_end_are_given_up_on_for_a_look(
    place: Path, repo: PolicyRepo, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F2: a bounded number of tries, each from the ref on, compiled once; then the next look."""
    policies, store, _, log = await follower(place, repo)
    compiles, resolves = counted(monkeypatch, following, "compile_files"), counted(monkeypatch, RepoSource, "resolve")
    inside = store._inside
    origin = source_of(config_of(place, repo.path)).resolve().origin
    tries = 0

    async def somebody_else() -> None:
        nonlocal tries
        held = await inside.policy_name(0)
        row = compiled(f"other {tries}").row
        await inside.change(lambda work: work.policies.publish(held.number if held else 0, row, origin))
        tries += 1
        store.before["change"] = somebody_else

    store.before["change"] = somebody_else
    await policies.poll()
    assert (tries, len(resolves), len(compiles)) == (PUBLISH_TRIES_MAX, PUBLISH_TRIES_MAX + 1, 1)
    assert "others keep publishing" in log.getvalue()
    assert (policies.snapshot, policies.following.pending_ns is not None) == (None, True)
    store.before.clear()
    await policies.poll()
    assert policies.snapshot is not None
    assert policies.snapshot.number == tries + 1
    await store.close()


async def test_a_bad_commit_changes_no_digest_and_is_not_tried_until_the_branch_moves(
    place: Path, repo: PolicyRepo
) -> None:
    """F2: digest in force, revisions and number stay; the same bad commit is compiled once, and its mending once."""
    policies, store, _, log = await follower(place, repo)
    await policies.poll()
    assert policies.snapshot is not None
    before = policies.snapshot
    repo.commit({"rules.yaml": BAD})
    for _ in range(3):
        await policies.poll()
    assert policies.snapshot is before
    assert policies.following.error.startswith("rules.yaml:5:5:")
    assert log.getvalue().count("policy refused") == 1
    assert len(await store.revisions(None, 9)) == 1
    mended = repo.commit({"rules.yaml": POLICY["rules.yaml"]})
    await policies.poll()
    assert (policies.snapshot.commit, policies.snapshot.digest) == (mended, before.digest)
    await store.close()


async def test_calls_and_a_follower_at_once_lose_nothing_and_undo_nothing(place: Path, repo: PolicyRepo) -> None:
    """F2: whoever is overtaken is told, numbers have no gaps, and every revision has its row of the audit."""
    async with in_process(config_of(place, repo.path)) as running:

        async def publish_until_done(mark: str) -> None:
            while True:
                held = (await running.server.store.head()).policy_revision
                with contextlib.suppress(grpc.aio.AioRpcError):
                    assert (await published(running, publish(mark, held))).published
                    return

        publishing = [asyncio.create_task(publish_until_done(mark)) for mark in "abcd"]
        newest = repo.commit({"sources.yaml": LISTED})
        await asyncio.gather(*publishing)

        async def all_there() -> bool:
            return len(await running.server.store.revisions(None, 50)) == 6

        await eventually(all_there)
        revisions = await running.server.store.revisions(None, 50)
        assert [one.name.number for one in revisions] == [6, 5, 4, 3, 2, 1]
        assert {one.name.commit for one in revisions} >= {newest}
        again = repo.commit({"sources.yaml": POLICY["sources.yaml"] + "# last\n"})
        await in_force(running, again)
