"""Policies published by hand against a real server: published, refused, rolled back, unpinned, listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from discreet.cli.connection import connect
from discreet.cli.demo.server_process import ServerProcess
from discreet.cli.errors import CliError
from discreet.cli.policy_publishing import TRIES_MAX, publish, reading
from discreet.policy.starter import starter_files
from discreet.server.policies.commits import Read
from tests.server.cli.command import Outcome, discreet
from tests.server.cli.policy_folder import PolicyFolder

SECRET = "t0k3n-AB"


class Waiting(ServerProcess):
    """A server that may wait for its first revision: it has started once it answers."""

    def _ready(self) -> bool:
        try:
            return bool(self.status().instance)
        except CliError:
            return False


class Publishing:
    """A server that follows no ref, a repository, and the command line pointed at both."""

    def __init__(self, directory: Path) -> None:
        self.folder = PolicyFolder.begun(directory / "repo")
        self.process = Waiting(directory, Path("published"))

    def __call__(self, *args: str) -> Outcome:
        """Runs `policy ARGS` against the server."""
        return discreet("--socket-dir", str(self.process.sockets), "policy", *args)

    def publish(self, *args: str) -> Outcome:
        """Publishes the policies of the repository."""
        return self("publish", "--repo", str(self.folder.policies), *args)

    def change(self, message: str) -> str:
        """Commits another comment in a file; returns the commit."""
        file = self.folder.policies / "sources.yaml"
        lines = [line for line in file.read_text().splitlines() if not line.startswith("# ")]
        file.write_text("\n".join([f"# {message}", *lines]) + "\n")
        return self.folder.commit(message)

    def revisions(self) -> list[tuple[int, str, bool]]:
        """Number and commit of every revision, newest first, and which is in force."""
        found = self("revisions", "-o", "json")
        assert found.code == 0, found.err
        return [
            (int(one["revision"]["number"]), one["revision"]["commit"], one["in_force"])
            for one in found.tree["revisions"]
        ]


@pytest.fixture(scope="module")
def running() -> Iterator[Publishing]:
    """A server and a repository that the tests of this module share."""
    with TemporaryDirectory(prefix="dp-") as name:
        made = Publishing(Path(name))
        try:
            made.process.start()
            yield made
        finally:
            made.process.stop()
            made.folder.close()


@pytest.fixture
def publishing(running: Publishing) -> Publishing:
    """The shared server, with a good set committed and in force."""
    for name, data in starter_files().items():
        (running.folder.policies / name).write_bytes(data)
    running.change(f"Good again after {len(running.revisions())} revisions")
    done = running.publish()
    assert done.code == 0, done.err
    return running


def test_a_commit_comes_into_force_and_is_left_as_it_is_then(publishing: Publishing) -> None:
    """F2: number, commit, subject, author and tests are said; once more writes nothing; --wait names the servers."""
    before = publishing.revisions()
    commit = publishing.change("Two")
    dry = publishing.publish("--dry-run")
    assert (dry.code, dry.out.endswith(")\n")) == (0, True)
    assert dry.out.startswith(f"revision {before[0][0] + 1} would be commit {commit[:12]} ")
    assert publishing.revisions() == before
    done = publishing.publish("--ref", "main", "--wait")
    assert done.code == 0, done.err
    said = f'revision {before[0][0] + 1} is in force: commit {commit[:12]} "Two" by Dora <dora@marlowe.example>; '
    assert done.out.startswith(said)
    assert " tests passed" in done.out
    assert "no server answers under the state before: 1 seen" in done.err
    assert publishing.revisions() == [
        (before[0][0] + 1, commit, True),
        (before[0][0], before[0][1], False),
        *before[1:],
    ]
    again = publishing.publish()
    assert again.out.startswith(f"revision {before[0][0] + 1} is in force already: commit {commit[:12]}")
    assert publishing.publish("--dry-run").out.startswith(f"revision {before[0][0] + 1} is in force already: commit")
    assert len(publishing.revisions()) == len(before) + 1


def test_a_bad_commit_publishes_nothing_and_says_why(publishing: Publishing) -> None:
    """F2, YML-12: problems end with 3, failing tests with 4, each with file, line and column."""
    before = publishing.revisions()
    publishing.folder.change("effect: ALLOW", "effect: ALOW")
    commit = publishing.folder.commit("Broken")
    problems = publishing.publish()
    assert problems.code == 3
    assert problems.err.splitlines()[0] == (
        f"discreet: commit {commit[:12]} was refused for its problems; nothing of it is in force"
    )
    assert problems.err.splitlines()[1].startswith('disclosure.yaml:23:13: no effect "ALOW"')
    publishing.folder.change("effect: ALOW", "effect: WITHHOLD")
    publishing.folder.commit("Tests fail")
    failing = publishing.publish("--dry-run")
    assert failing.code == 4
    assert "was refused for its failing tests" in failing.err
    assert failing.err.splitlines()[1].startswith("notes_test.yaml:")
    assert publishing.revisions() == before


def test_what_was_rolled_back_stays_out_until_it_is_unpinned(publishing: Publishing) -> None:
    """F2: a rollback is a new revision, its commit pinned out; a pin goes by its beginning, if there is one."""
    number, first, _ = publishing.revisions()[0]
    second = publishing.change("Withholds too much")
    assert publishing.publish().code == 0
    late = publishing("rollback", str(number), "--if-in-force", str(number), "--reason", "late")
    assert late.err == f"discreet: revision {number + 1} is in force, not {number}; see `discreet policy revisions`\n"
    assert late.code == 2
    for typed, said in ((str(number + 1), "that is the revision in force"), ("999", "there is no such revision")):
        refused = publishing("rollback", typed, "--reason", "x")
        assert refused.code == 2
        assert refused.err == f"discreet: revision {typed}: {said}; see `discreet policy revisions`\n"
    back = publishing("rollback", str(number), "--reason", "withholds every note", "--wait=5")
    assert back.code == 0, back.err
    assert back.out.startswith(
        f"revision {number + 2} is in force: that of revision {number}, {first[:12]}; {second[:12]} is pinned out"
    )
    pinned = publishing.publish()
    assert pinned.code == 2
    assert f"{second} is pinned out since publisher rolled it back (withholds every note)" in pinned.err
    listed = publishing("revisions", "-n", "1")
    assert "rolled back to" in listed.out
    assert "pinned out" in listed.out
    assert "there are more than 1; give a larger -n" in listed.err
    lines = publishing("revisions", "-n", "2", "-o", "jsonl").lines
    assert [line.get("rolled_back_to") for line in lines] == [number, 0, None]
    assert lines[2]["pin"]["pinned"] == second
    for typed, said in (("0123456", "is not pinned out; pinned out: "), ("NOPE", "is no commit")):
        refused = publishing("unpin", typed, "--reason", "x")
        assert (refused.code, said in refused.err) == (2, True)
    gone = publishing("unpin", second[:8], "--reason", "mended")
    assert gone.out.startswith(f"unpinned: {second[:12]} (token ")
    assert publishing.publish().code == 0
    none = publishing("unpin", "--reason", "x")
    assert (none.code, none.err) == (2, "discreet: nothing is pinned out; see `discreet policy revisions`\n")


def test_a_revision_that_is_quicker_has_the_ref_read_again(publishing: Publishing) -> None:
    """F2: the number in force is read before the ref, and after a lost race both are read anew, five times at most."""
    path = str(publishing.folder.policies)
    races = iter(["once"])

    def quicker(read: Callable[[], Read], names: Iterator[str]) -> Callable[[], Read]:
        def again() -> Read:
            found = read()
            name = next(names, "")
            if name:
                publishing.change(f"Quicker {name}")
                assert publishing.publish().code == 0
            return found

        return again

    publishing.change("Slower")
    with connect(publishing.process.settings, "publisher") as line, reading(path, "", "") as read:
        done = publish(line, quicker(read, races), dry_run=False)
        assert not done.response.published  # read again, the ref names what the quicker one published
        assert done.response.revision.commit == publishing.revisions()[0][1]
        many = iter(map(str, range(TRIES_MAX)))
        publishing.change("Slower still")
        with pytest.raises(CliError, match="5 times another revision came into force"):
            publish(line, quicker(read, many), dry_run=False)


@pytest.mark.parametrize(
    "repo, ref, said",
    [
        (f"https://{SECRET}:x@127.0.0.1:9/p.git", "main", "https://127.0.0.1:9/p.git@main: cannot be fetched"),
        (f"ssh://{SECRET}@git.invalid/p.git", "", "--repo: URLs begin with one of https://"),
        (f"{SECRET}@git.invalid:p.git", "", "--repo git.invalid:p.git: is no directory"),
        ("/nowhere", "", "--repo /nowhere: is no directory"),
        ("REPO", "nowhere", "no branch or tag nowhere; there are refs/heads/main"),
        ("PLAIN", "", "lies in no Git repository"),
    ],
)
def test_what_cannot_be_read_is_said_without_a_secret(
    publishing: Publishing, tmp_path: Path, repo: str, ref: str, said: str
) -> None:
    """GIT-04, GIT-12: no message holds credentials, and each says what would be right; nothing is published."""
    before = publishing.revisions()
    place = {"REPO": str(publishing.folder.policies), "PLAIN": str(tmp_path)}.get(repo, repo)
    found = publishing("publish", "--repo", place, "--ref", ref)
    assert found.code in {2, 3}
    assert said in found.err
    assert SECRET not in found.out + found.err
    assert publishing.revisions() == before


def test_a_url_is_fetched_and_recorded(publishing: Publishing) -> None:
    """F2: a repository by URL, the set in a directory of it, the ref as it was typed."""
    commit = publishing.change("By URL")
    url = f"file://{publishing.folder.root}"
    done = publishing("publish", "--repo", url, "--ref", "refs/heads/main", "--policy-path", "policies", "-o", "json")
    assert done.code == 0, done.err
    assert done.tree["revision"]["commit"] == commit
    (newest, *_) = publishing("revisions", "-n", "1", "-o", "json").tree["revisions"]
    origin = newest["origin"]
    assert (origin["source"], origin["ref"], origin["subject"]) == (url, "refs/heads/main", "By URL")
    assert (origin["publisher"], newest["servers"]) == ("publisher", [publishing.process.status().instance])


def test_others_may_not_publish(publishing: Publishing) -> None:
    """F2: an identity of another role is refused, and ends with 6; --wait has nothing to wait for after a dry run."""
    assert publishing.publish("--identity", "agent").code == 6
    assert publishing.publish("--identity", "operator").code == 6
    assert publishing.publish("--dry-run", "--wait").code == 2
