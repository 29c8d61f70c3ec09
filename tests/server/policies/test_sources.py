"""Policy sets from Git and from folders: what is read, what is refused, what is never touched."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from discreet.server.config import ServerConfig
from discreet.server.policies import tree
from discreet.server.policies.errors import SourceRefused, SourceUnavailable
from discreet.server.policies.origin import without_credentials
from discreet.server.policies.sources import RemoteSource, source_of
from tests.server.support import POLICY, PolicyRepo, git, make_repo

SECRET = "tok3n-AB"


def config(policy: Path | str, **changes: Any) -> ServerConfig:
    """A configuration of a policy source alone."""
    return dataclasses.replace(ServerConfig(policy=str(policy)), **changes)


def read(settings: ServerConfig) -> dict[str, bytes]:
    """The files that a source gives now."""
    source = source_of(settings)
    return source.files(source.resolve())


def test_a_directory_in_git_means_its_head_not_its_files(repo: PolicyRepo) -> None:
    """GIT-03: policies come from objects.

    What the work tree was made into by hands, modes or filters is of no consequence.
    """
    (repo.path / "rules.yaml").write_text("half written")
    (repo.path / "stray.yaml").write_text("stray")
    (repo.path / "discreet.yaml").chmod(0o755)
    git(repo.path, "config", "core.autocrlf", "true")
    assert read(config(repo.path)) == {name: text.encode() for name, text in POLICY.items()}


def test_dirty_means_the_files_as_they_are(repo: PolicyRepo) -> None:
    """--dirty serves the work tree, under a revision that names no commit."""
    (repo.path / "rules.yaml").write_text("half written")
    source = source_of(config(repo.path, dirty=True))
    target = source.resolve()
    assert (target.commit, target.dirty) == ("", True)
    assert source.files(target)["rules.yaml"] == b"half written"


def test_a_folder_without_git_is_dirty_and_its_key_follows_its_content(place: Path) -> None:
    """Every change of a file changes the key; reading the same twice does not."""
    folder = place / "plain"
    folder.mkdir()
    (folder / "a.yaml").write_text("a")
    source = source_of(config(folder))
    first, again = source.resolve(), source.resolve()
    (folder / "a.yaml").write_text("b")
    assert (first == again, first.dirty) == (True, True)
    assert source.resolve().key != first.key


def test_a_subdirectory_of_a_repository_is_served_alone(place: Path) -> None:
    """GIT-11: one commit, one directory of it, whole."""
    repo = make_repo(place / "r", {"team/discreet.yaml": "x", "other/rules.yaml": "y", "README.md": "z"})
    assert read(config(repo.path / "team")) == {"discreet.yaml": b"x"}
    (repo.path / "empty").mkdir()
    with pytest.raises(SourceUnavailable, match="--dirty"):
        read(config(repo.path / "empty"))


def test_bare_repositories_and_worktrees_are_read(place: Path, repo: PolicyRepo) -> None:
    """Both keep their objects elsewhere than a plain clone."""
    git(place, "clone", "-q", "--bare", str(repo.path), str(place / "bare.git"))
    git(repo.path, "worktree", "add", "-q", "-b", "side", str(place / "side"))
    side = PolicyRepo(place / "side")
    side.commit({"discreet.yaml": "of the side"})
    assert read(config(place / "bare.git"))["discreet.yaml"] == POLICY["discreet.yaml"].encode()
    assert read(config(place / "side"))["discreet.yaml"] == b"of the side"
    assert read(config(repo.path, ref="side"))["discreet.yaml"] == b"of the side"


def test_packed_refs_and_packed_objects_are_read(repo: PolicyRepo) -> None:
    """What git gc makes of a repository changes nothing."""
    git(repo.path, "gc", "-q")
    assert read(config(repo.path, ref="refs/heads/main"))["discreet.yaml"] == POLICY["discreet.yaml"].encode()


def test_a_short_ref_that_is_branch_and_tag_is_refused_with_both(repo: PolicyRepo) -> None:
    """GIT-08: neither is guessed; each full ref means its own."""
    git(repo.path, "tag", "-a", "live", "-m", "old")
    git(repo.path, "branch", "live")
    git(repo.path, "checkout", "-q", "live")
    newest = repo.commit({"discreet.yaml": "new"})
    with pytest.raises(SourceRefused, match="refs/heads/live or refs/tags/live"):
        source_of(config(repo.path, ref="live")).resolve()
    assert source_of(config(repo.path, ref="refs/heads/live")).resolve().commit == newest
    tagged = source_of(config(repo.path, ref="refs/tags/live")).resolve().commit
    assert tagged == git(repo.path, "rev-parse", "refs/tags/live^{commit}")


def test_a_ref_that_does_not_exist_is_said_with_those_that_do(repo: PolicyRepo, place: Path) -> None:
    """GIT-12: the error names what there is; an empty repository says that it is empty."""
    with pytest.raises(SourceUnavailable, match="there are refs/heads/main"):
        source_of(config(repo.path, ref="master")).resolve()
    (place / "empty").mkdir()
    git(place / "empty", "init", "-q")
    with pytest.raises(SourceUnavailable, match="no commit yet"):
        source_of(config(place / "empty")).resolve()


def test_a_commit_id_pins(repo: PolicyRepo) -> None:
    """A commit is itself."""
    first = git(repo.path, "rev-parse", "HEAD")
    repo.commit({"discreet.yaml": "later"})
    assert source_of(config(repo.path, ref=first)).resolve().commit == first


@pytest.mark.parametrize("dirty", [False, True])
def test_links_are_refused(repo: PolicyRepo, dirty: bool) -> None:
    """A link could lead out of the repository."""
    (repo.path / "more.yaml").symlink_to("/etc/passwd")
    git(repo.path, "add", "-A")
    git(repo.path, "commit", "-q", "-m", "link")
    with pytest.raises(SourceRefused, match=r"more\.yaml:1:1: is a symbolic link"):
        read(config(repo.path, dirty=dirty))


def test_submodules_are_refused(repo: PolicyRepo) -> None:
    """What a submodule holds is not in the commit."""
    head = git(repo.path, "rev-parse", "HEAD")
    git(repo.path, "update-index", "--add", "--cacheinfo", f"160000,{head},vendored")
    git(repo.path, "commit", "-q", "-m", "submodule")
    with pytest.raises(SourceRefused, match="vendored:1:1: is a submodule"):
        read(config(repo.path))


@pytest.mark.parametrize("dirty", [False, True])
def test_sizes_and_counts_are_bounded(place: Path, dirty: bool) -> None:
    """At the limit it is taken, one past it is refused."""
    repo = make_repo(place / "r", {"a.yaml": "x" * tree.FILE_BYTES_MAX})
    assert len(read(config(repo.path, dirty=dirty))["a.yaml"]) == tree.FILE_BYTES_MAX
    repo.commit({"a.yaml": "x" * (tree.FILE_BYTES_MAX + 1)})
    with pytest.raises(SourceRefused, match="at most"):
        read(config(repo.path, dirty=dirty))


@pytest.mark.parametrize("dirty", [False, True])
def test_the_number_of_files_and_the_depth_are_bounded(place: Path, dirty: bool) -> None:
    """A set has a thousand files and sixteen levels at most."""
    many = make_repo(place / "many", {f"f{i}.yaml": "x" for i in range(tree.FILES_MAX + 1)})
    with pytest.raises(SourceRefused, match="one file too many"):
        read(config(many.path, dirty=dirty))
    deep = make_repo(place / "deep", {"d/" * (tree.DEPTH_MAX + 1) + "a.yaml": "x"})
    with pytest.raises(SourceRefused, match="directories deep"):
        read(config(deep.path, dirty=dirty))


def test_hidden_entries_and_other_files_are_no_part_of_a_set(repo: PolicyRepo) -> None:
    """Workflow files are YAML too."""
    repo.commit({".github/ci.yaml": "on: push", "README.md": "words", "notes.txt": "more"})
    assert set(read(config(repo.path))) == set(POLICY)


def test_a_remote_is_fetched_and_followed(place: Path, repo: PolicyRepo) -> None:
    """GIT-01: a forced push is taken like any other, and known for what it is."""
    source = source_of(config(f"file://{repo.path}", state_dir=place / "state", ref="refs/heads/main"))
    first = source.resolve()
    assert source.files(first)["discreet.yaml"] == POLICY["discreet.yaml"].encode()
    second = repo.commit({"discreet.yaml": "second"})
    assert source.resolve().commit == second
    assert not source.rewritten(first.commit, second)
    (repo.path / "discreet.yaml").write_text("amended")
    git(repo.path, "commit", "-q", "-a", "--amend", "-m", "amended")
    third = source.resolve()
    assert source.files(third)["discreet.yaml"] == b"amended"
    assert source.rewritten(second, third.commit)


def test_locks_that_others_left_stop_nothing(place: Path, repo: PolicyRepo) -> None:
    """GIT-06: neither the repository's locks nor those of a clone matter, and a damaged clone is made anew."""
    source = source_of(config(f"file://{repo.path}", state_dir=place / "state"))
    source.resolve()
    clone = next((place / "state" / "git").iterdir())
    second = repo.commit({"discreet.yaml": "second"})
    for lock in (
        repo.path / ".git" / "index.lock",
        clone / "HEAD.lock",
        clone / "packed-refs.lock",
        clone / "shallow.lock",
    ):
        lock.write_text("")
    assert source.resolve().commit == second
    for pack in (clone / "objects").rglob("*"):
        if pack.is_file():
            pack.chmod(0o600)
            pack.write_bytes(b"")
    assert source.files(source.resolve())["discreet.yaml"] == b"second"


@pytest.mark.parametrize(
    "url", [f"https://{SECRET}:x@127.0.0.1:1/p.git", f"http://user:{SECRET}@127.0.0.1:1/p.git?k={SECRET}"]
)
def test_credentials_are_in_no_error(place: Path, url: str) -> None:
    """GIT-04: neither the error nor its causes repeat what stands before the @, or the query."""
    source = RemoteSource(url, "", "", place / "git")
    with pytest.raises(SourceUnavailable) as caught:
        source.resolve()
    assert SECRET not in f"{caught.value!r}{source.shown}{caught.value.__cause__!r}"
    assert SECRET not in without_credentials(url)
    assert not any(SECRET in str(path) for path in (place / "git").rglob("*"))


def test_a_remote_that_is_no_repository_is_unavailable(place: Path) -> None:
    """A wrong path is said, and tried again."""
    (place / "nothing").mkdir()
    with pytest.raises(SourceUnavailable, match="is no Git repository"):
        source_of(config(f"file://{place / 'nothing'}", state_dir=place / "state")).resolve()


@pytest.mark.parametrize("changes", [{"dirty": True}, {}])
def test_settings_that_contradict_each_other_are_refused(place: Path, changes: dict[str, Any]) -> None:
    """--dirty with a URL, a ref without a repository, a directory that is not there."""
    if changes:
        with pytest.raises(SourceRefused, match="--dirty"):
            source_of(config("file:///x", **changes))
        return
    for url in ("ssh://git@example.org/p.git", "git://example.org/p.git"):
        with pytest.raises(SourceRefused, match="URLs begin with"):
            source_of(config(url))
    for url in ("https://[tok3n-AB/p.git", "https://u:tok3n-AB@h:port/p.git", "https:///p.git"):
        with pytest.raises(SourceRefused, match=r"--policy: is no valid URL; write https://HOST") as refusal:
            source_of(config(url))
        assert "tok3n" not in str(refusal.value)
    (place / "plain").mkdir()
    with pytest.raises(SourceRefused, match="--ref needs a Git repository"):
        source_of(config(place / "plain", ref="main"))
    with pytest.raises(SourceRefused, match="is no directory"):
        source_of(config(place / "nowhere"))
