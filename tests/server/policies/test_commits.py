"""Commits of a local repository as people name them: tags, merges, histories that are cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from dulwich.objects import Commit
from dulwich.repo import Repo

from discreet.server.policies.commits import Commits
from discreet.server.policies.errors import SourceRefused, SourceUnavailable
from tests.server.support import PolicyRepo, git


def grown(repo: PolicyRepo) -> Path:
    """A repository with a merge: a branch of two commits, one on main, and an annotated tag of an annotated tag."""
    path = repo.path
    git(path, "checkout", "-q", "-b", "topic")
    for name in ("one", "two"):
        git(path, "commit", "-q", "--allow-empty", "-m", name)
    git(path, "checkout", "-q", "-")
    git(path, "commit", "-q", "--allow-empty", "-m", "meanwhile")
    git(path, "merge", "-q", "--no-ff", "-m", "merged", "topic")
    git(path, "tag", "-a", "-m", "first", "v1", "topic")
    git(path, "tag", "-a", "-m", "second", "v2", "v1")
    git(path, "update-ref", "refs/remotes/origin/live", "topic~1")
    return path


NAMES = (
    "HEAD", "HEAD~", "HEAD~1", "HEAD~2", "HEAD^", "HEAD^1", "HEAD^2", "HEAD^2~1", "HEAD~1^1", "HEAD^0", "HEAD~0",
    "HEAD^2^", "topic", "refs/heads/topic", "v1", "v2", "v2~1", "refs/tags/v2", "origin/live",
    "refs/remotes/origin/live",
)  # fmt: skip


def test_names_mean_what_git_says(repo: PolicyRepo) -> None:
    """GIT-08, F8: refs, tags of tags, branches of remotes, steps back and second parents, as Git itself has them."""
    path = grown(repo)
    commits = Commits(path, "")
    for name in NAMES:
        assert commits.named(name) == git(path, "rev-parse", f"{name}^{{commit}}"), name
    whole = git(path, "rev-parse", "HEAD")
    assert {commits.named(whole[:length]) for length in (12, 39, 40)} == {whole}
    assert commits.named("") == whole


def test_where_histories_parted_is_what_git_says(repo: PolicyRepo) -> None:
    """F8: the merge base; histories that have nothing in common have none."""
    path = grown(repo)
    commits = Commits(path, "")
    assert commits.base("HEAD~1", "topic") == git(path, "merge-base", "HEAD~1", "topic")
    git(path, "checkout", "-q", "--orphan", "alone")
    git(path, "commit", "-q", "--allow-empty", "-m", "alone")
    with pytest.raises(SourceUnavailable, match="have no commit from which they parted"):
        commits.base("topic", "alone")


@pytest.mark.parametrize(
    "name", ["HEAD~40", "HEAD^3", "topic^2", "abc", "zzzz", "HEAD@{1}", "HEAD^{tree}", ":/merged", "-"]
)
def test_what_names_no_commit_is_refused(repo: PolicyRepo, name: str) -> None:
    """GIT-12: said in words, whatever it is; nothing is searched for."""
    with pytest.raises((SourceUnavailable, SourceRefused)):
        Commits(grown(repo), "").named(name)


def test_a_history_that_is_cut_off_says_so(repo: PolicyRepo, place: Path) -> None:
    """F8: a shallow clone, as CI makes one, has no earlier commit; what would be right is said."""
    path = grown(repo)
    git(place, "clone", "-q", "--depth", "1", f"file://{path}", "shallow")
    commits = Commits(place / "shallow", "")
    assert commits.named("HEAD") == git(path, "rev-parse", "HEAD")
    with pytest.raises(SourceUnavailable, match="goes back beyond the first commit here; fetch the whole history"):
        commits.named("HEAD~1")
    with pytest.raises(SourceUnavailable, match="the repository holds no such commit; fetch it"):
        commits.named(git(path, "rev-parse", "topic"))


def test_the_beginning_of_two_commits_is_neither(repo: PolicyRepo) -> None:
    """GIT-08: more of it is asked for; objects that are no commits do not count."""
    seen: dict[bytes, Commit] = {}
    with Repo(str(repo.path)) as opened:
        plain = opened[opened.head()]
        assert isinstance(plain, Commit)
        made = other = plain
        while made is other:
            copied = plain.copy()
            assert isinstance(copied, Commit)
            made = copied
            made.message = str(len(seen)).encode()
            other = seen.setdefault(made.id[:4], made)
        opened.object_store.add_objects([(made, None), (other, None)])
        twice = made.id[:4].decode()
    with pytest.raises(SourceRefused, match="is the beginning of 2 commits; write more of it"):
        Commits(repo.path, "").named(twice)


def test_what_is_read_is_of_that_commit(repo: PolicyRepo) -> None:
    """GIT-03: files, subject and the name that was typed; what lies in the work tree is of no consequence."""
    path = grown(repo)
    (path / "discreet.yaml").write_text("half written")
    read = Commits(path, "").read("topic")
    assert read.commit == git(path, "rev-parse", "topic")
    assert (read.origin.ref, read.origin.subject) == ("topic", "two")
    assert read.files["discreet.yaml"] == git(path, "show", "topic:discreet.yaml").encode() + b"\n"
