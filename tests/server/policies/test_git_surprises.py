"""What Git does to those who follow it: pushes by force, refs that vanish, histories cut short, locks left behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.server.config import ServerConfig
from discreet.server.policies.errors import SourceUnavailable
from discreet.server.policies.sources import Source, source_of
from discreet.v1 import server_pb2
from tests.server.policies.revisions import LISTED, in_force
from tests.server.support import (
    POLICY,
    PolicyRepo,
    Running,
    check,
    config_of,
    document,
    eventually,
    git,
    in_process,
    make_repo,
    verdicts,
)

MAIN = "refs/heads/main"


def source(policy: Path | str, **changes: Any) -> Source:
    """The source of a configuration."""
    return source_of(dataclasses.replace(ServerConfig(policy=str(policy)), **changes))


def said(running: Running, *words: str) -> Callable[[], Awaitable[bool]]:
    """Whether the status says why the source cannot be read."""

    async def holds() -> bool:
        error = (await running.lines.operator.status()).policy_error
        return all(word in error for word in words)

    return holds


@pytest.fixture
def bare(place: Path, repo: PolicyRepo) -> Path:
    """A bare repository that the work tree pushes to."""
    git(place, "clone", "-q", "--bare", str(repo.path), str(place / "bare.git"))
    git(repo.path, "remote", "add", "origin", str(place / "bare.git"))
    return place / "bare.git"


async def pushed(running: Running, repo: PolicyRepo, *force: str) -> server_pb2.GetStatusResponse:
    """The status once what was pushed is in force."""
    git(repo.path, "push", "-q", *force, "origin", "HEAD:main")
    return await in_force(running, git(repo.path, "rev-parse", "HEAD"))


async def test_a_forced_push_and_more_pushes_are_followed(place: Path, repo: PolicyRepo, bare: Path) -> None:
    """GIT-01: history rewritten in a repository that is fetched: in force, logged with both ids, a short lag."""
    async with in_process(config_of(place, f"file://{bare}", ref=MAIN)) as running:
        old = repo.commit({"sources.yaml": POLICY["sources.yaml"] + "# one\n"})
        await pushed(running, repo)
        (repo.path / "sources.yaml").write_text(POLICY["sources.yaml"] + "# two\n")
        git(repo.path, "commit", "-q", "-a", "--amend", "-m", "amended")
        new = git(repo.path, "rev-parse", "HEAD")
        lags = [(await pushed(running, repo, "--force")).policy_lag_ms]
        for mark in "ab":
            repo.commit({"sources.yaml": POLICY["sources.yaml"] + f"# {mark}\n"})
            lags.append((await pushed(running, repo)).policy_lag_ms)
        rewritten = [line for line in running.log.getvalue().splitlines() if "history rewritten" in line]
        assert [(old in line, new in line) for line in rewritten] == [(True, True)]
        assert max(lags) < 10_000


async def test_a_branch_deleted_on_the_remote_keeps_the_last_good_revision(
    place: Path, repo: PolicyRepo, bare: Path
) -> None:
    """GIT-12: serving goes on, the error names what there is, the lag grows, and it mends itself."""
    git(repo.path, "push", "-q", "origin", "HEAD:live")
    async with in_process(config_of(place, f"file://{bare}", ref="refs/heads/live")) as running:
        await running.lines.collector.put(document())
        before = (await running.lines.operator.status()).policy
        git(repo.path, "push", "-q", "origin", ":live")
        await eventually(said(running, "no ref refs/heads/live; there are refs/heads/main"))
        first = (await running.lines.operator.status()).policy_lag_ms

        async def grows() -> bool:
            return (await running.lines.operator.status()).policy_lag_ms > first

        await eventually(grows)
        assert verdicts(await running.lines.agent.check(check())) == [("ALLOW", "NONE")]
        assert (await running.lines.operator.status()).policy == before
        newest = repo.commit({"sources.yaml": LISTED})
        git(repo.path, "push", "-q", "origin", "HEAD:live")
        assert list((await in_force(running, newest)).problems) == []


@pytest.mark.parametrize("url", [True, False])
async def test_a_start_on_a_branch_that_is_not_there_waits_for_it(place: Path, repo: PolicyRepo, url: bool) -> None:
    """GIT-12: main exists and master is wanted: NOT_SERVING, the cause names main, the process stays up and retries."""
    policy = f"file://{repo.path}" if url else repo.path
    async with in_process(config_of(place, policy, ref="refs/heads/master")) as running:
        await eventually(said(running, "no ref refs/heads/master; there are refs/heads/main"))
        status = await running.lines.operator.status()
        assert (status.ready, status.HasField("policy")) == (False, True)
        assert status.policy.number == 0
        git(repo.path, "branch", "master")
        await in_force(running, git(repo.path, "rev-parse", "HEAD"))


async def test_a_start_on_an_empty_repository_waits_for_a_commit(place: Path) -> None:
    """GIT-12: it says that there is no commit yet, and serves the first one by itself."""
    empty = place / "empty"
    empty.mkdir()
    git(empty, "init", "-q", "-b", "main")
    async with in_process(config_of(place, empty, ref=MAIN)) as running:
        await eventually(said(running, "the repository holds no commit yet"))
        await in_force(running, PolicyRepo(empty).commit(POLICY))


async def test_a_detached_head_is_followed_as_head_and_not_as_a_branch(place: Path, repo: PolicyRepo) -> None:
    """GIT-12: HEAD is what is checked out; a branch is its tip, whatever is checked out."""
    first = git(repo.path, "rev-parse", "HEAD")
    second = repo.commit({"sources.yaml": LISTED})
    git(repo.path, "checkout", "-q", "--detach", first)
    assert source(repo.path).resolve().commit == first
    assert source(f"file://{repo.path}", state_dir=place / "state").resolve().commit == first
    assert source(repo.path, ref=MAIN).resolve().commit == second
    third = repo.commit({"discreet.yaml": POLICY["discreet.yaml"] + "# on no branch\n"})
    assert source(repo.path).resolve().commit == third
    assert source(repo.path, ref=MAIN).resolve().commit == second


@pytest.mark.parametrize("lock", [True, False])
def test_a_shallow_clone_is_read_and_claims_nothing_of_what_it_lacks(place: Path, repo: PolicyRepo, lock: bool) -> None:
    """GIT-01, GIT-06: as a directory and as a remote, its lock or none; that history was rewritten is not claimed."""
    first = repo.commit({"discreet.yaml": "one"})
    repo.commit({"discreet.yaml": "two"})
    shallow = place / "shallow"
    git(place, "clone", "-q", "--depth", "1", f"file://{repo.path}", str(shallow))
    tip = git(shallow, "rev-parse", "HEAD")
    if lock:
        (shallow / ".git" / "shallow.lock").write_text("")
    for one in (source(shallow), source(f"file://{shallow}", state_dir=place / "state")):
        target = one.resolve()
        assert (target.commit, one.files(target)["discreet.yaml"]) == (tip, b"two")
        assert not one.rewritten(first, tip)
    local = source(shallow)
    newer = PolicyRepo(shallow).commit({"discreet.yaml": "three"})
    assert not local.rewritten(tip, newer)
    git(shallow, "commit", "-q", "--amend", "-m", "amended")
    assert local.rewritten(newer, local.resolve().commit)


LOCKS = (
    "index.lock",
    "HEAD.lock",
    "config.lock",
    "shallow.lock",
    "packed-refs.lock",
    "FETCH_HEAD.lock",
    "refs/heads/main.lock",
    "refs/heads/live.lock",
    "refs/remotes/origin/main.lock",
    "worktrees/side/index.lock",
    "worktrees/side/HEAD.lock",
    "objects/info/commit-graph.lock",
    "objects/pack/tmp_pack_a1b2c3",
    "objects/pack/pack-0000.keep",
    "gc.pid",
)


@pytest.mark.parametrize("lock", LOCKS)
async def test_a_lock_left_behind_stops_nothing(place: Path, repo: PolicyRepo, lock: str) -> None:
    """GIT-06: of each kind, in the repository, in the one that is fetched, and in our own clone: nobody waits."""
    git(repo.path, "branch", "live")
    git(repo.path, "worktree", "add", "-q", "-b", "side", str(place / "side"))
    state = place / "state"
    followed = [source(repo.path, ref="refs/heads/live"), source(place / "side", ref="refs/heads/live")]
    followed.append(source(f"file://{repo.path}", ref="refs/heads/live", state_dir=state))
    first = followed[-1].resolve()
    newest = repo.commit({"sources.yaml": LISTED})
    git(repo.path, "branch", "-f", "live", "HEAD")
    (clone,) = (state / "git").iterdir()
    for directory in (repo.path / ".git", clone):
        (directory / lock).parent.mkdir(parents=True, exist_ok=True)
        (directory / lock).write_text("")
    assert first.commit != newest
    for one in followed:
        target = one.resolve()
        assert (target.commit, one.files(target)["sources.yaml"]) == (newest, LISTED.encode())


@pytest.mark.parametrize(
    "left", ["nothing", "no HEAD", "HEAD cut off", "no objects", "config cut off", "packs cut off"]
)
def test_a_clone_that_was_killed_half_made_is_made_anew(place: Path, repo: PolicyRepo, left: str) -> None:
    """GIT-06: whatever a killed fetch left of our clone, the next look heals it; nobody deletes anything by hand."""
    one = source(f"file://{repo.path}", state_dir=place / "state")
    one.resolve()
    (clone,) = (place / "state" / "git").iterdir()
    if left == "nothing":
        for path in sorted(clone.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
    elif left == "no HEAD":
        (clone / "HEAD").unlink()
    elif left == "HEAD cut off":
        (clone / "HEAD").write_bytes(b"")
    elif left == "config cut off":
        (clone / "config").write_bytes(b"[core\n")
    else:
        for path in (clone / "objects").rglob("*"):
            if path.is_file():
                path.chmod(0o600)
                path.unlink() if left == "no objects" else path.write_bytes(path.read_bytes()[:20])
    newest = repo.commit({"sources.yaml": LISTED})
    target = one.resolve()
    assert (target.commit, one.files(target)["sources.yaml"]) == (newest, LISTED.encode())


def test_a_state_directory_that_cannot_be_written_is_said(place: Path, repo: PolicyRepo) -> None:
    """GIT-06: a clone that cannot be made is a source that cannot be read now, not a crash."""
    (place / "state").write_text("a file")
    with pytest.raises(SourceUnavailable, match="cannot be fetched"):
        source(f"file://{repo.path}", state_dir=place / "state").resolve()


async def test_two_folders_of_one_commit_come_into_force_together(place: Path) -> None:
    """GIT-11: rules and sources that need each other, changed by one commit; half of it is refused, the rest waits."""
    parts = {"discreet.yaml": "discreet.yaml", "kb/sources.yaml": "sources.yaml", "retention/rules.yaml": "rules.yaml"}
    repo = make_repo(place / "policy", {path: POLICY[name] for path, name in parts.items()})
    async with in_process(config_of(place, repo.path)) as running:
        renamed = {
            "kb/sources.yaml": POLICY["sources.yaml"].replace("label: prices", "label: quotes"),
            "retention/rules.yaml": POLICY["rules.yaml"].replace("prices", "quotes"),
        }
        before = (await running.lines.operator.status()).policy
        bad = repo.commit({"kb/sources.yaml": renamed["kb/sources.yaml"]})

        async def is_refused() -> bool:
            return (await running.lines.operator.status()).policy_error_commit == bad

        await eventually(is_refused)
        status = await running.lines.operator.status()
        assert (status.policy, "retention/rules.yaml:8:" in status.policy_error) == (before, True)
        whole = await in_force(running, repo.commit(renamed))
        assert (whole.policy_error, whole.policy.number) == ("", before.number + 1)
