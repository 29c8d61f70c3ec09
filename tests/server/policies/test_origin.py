"""Where a revision comes from, as a commit tells it: in bounded, visible text, whatever the commit holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from dulwich.objects import Commit, ObjectID
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.idents import text_problem
from discreet.server.config import ServerConfig
from discreet.server.policies.origin import SECONDS_MAX, TEXT_BYTES_MAX, origin_of_commit, visible_text
from discreet.server.policies.sources import source_of
from tests.server.support import PolicyRepo, git


def a_commit(**changes: object) -> Commit:
    """A commit as Git may hold one."""
    one = Commit()
    one.tree = ObjectID(b"0" * 40)
    one.author = one.committer = b"Ana <ana@example.org>"
    one.author_time = one.commit_time = 1_700_000_000
    one.author_timezone = one.commit_timezone = 0
    one.message = b"subject\n\nbody\n"
    for name, value in changes.items():
        setattr(one, name, value)
    return one


def test_the_first_line_the_author_and_the_time_are_kept() -> None:
    """E2: what a person looks for in a list of revisions; the rest of the message is not."""
    origin = origin_of_commit(a_commit(), "https://u:p@git.example/p.git", "refs/heads/main")
    assert (origin.source, origin.ref) == ("https://git.example/p.git", "refs/heads/main")
    assert (origin.author, origin.subject) == ("Ana <ana@example.org>", "subject")
    assert origin.committed_at == 1_700_000_000 * 1_000_000
    assert origin.publisher == ""


@pytest.mark.parametrize(
    "changes, author, subject",
    [
        ({"message": b"\n\n  first\r\nsecond"}, "Ana <ana@example.org>", "first"),
        ({"message": b""}, "Ana <ana@example.org>", ""),
        ({"message": b"a\x1b[2Jb\x00c\xe2\x80\xaed"}, "Ana <ana@example.org>", "a[2Jbcd"),
        ({"message": b"caf\xe9", "encoding": b"latin-1"}, "Ana <ana@example.org>", "caf\u00e9"),
        ({"message": b"caf\xe9"}, "Ana <ana@example.org>", "caf\ufffd"),
        ({"message": b"caf\xe9", "encoding": b"no-such"}, "Ana <ana@example.org>", "caf\ufffd"),
        ({"message": b"x", "encoding": b"\xff"}, "Ana <ana@example.org>", "x"),
        ({"author": b"A\nB <a@b>\x07"}, "AB <a@b>", "subject"),
    ],
)
def test_what_is_odd_in_a_commit_is_left_out(changes: dict[str, object], author: str, subject: str) -> None:
    """OBS-01: control characters, other encodings, bytes that are none: nothing of it reaches a log or a terminal."""
    origin = origin_of_commit(a_commit(**changes), "", "")
    assert (origin.author, origin.subject) == (author, subject)


@pytest.mark.parametrize("seconds, kept", [(0, True), (SECONDS_MAX, True), (SECONDS_MAX + 1, False), (-1, False)])
def test_a_time_beyond_the_years_is_left_out(seconds: int, kept: bool) -> None:
    """A commit may say any time; what no timestamp can hold is not said."""
    assert (origin_of_commit(a_commit(commit_time=seconds), "", "").committed_at is not None) == kept


@given(st.text(max_size=3_000))
def test_any_text_is_bounded_and_visible(text: str) -> None:
    """OBS-01: what is kept is empty or fit to be recorded, and cutting it again changes nothing."""
    shown = visible_text(text)
    assert shown == "" or text_problem(shown, TEXT_BYTES_MAX) is None
    assert visible_text(shown) == shown


@pytest.mark.parametrize("url", [True, False])
def test_sources_say_where_a_set_comes_from(place: Path, repo: PolicyRepo, url: bool) -> None:
    """E2: a local and a fetched repository, by branch and by tag; a folder says its place alone."""
    commit = repo.commit({"a.yaml": "x"}, message="Tighten the embargo\n\nlong story")
    git(repo.path, "tag", "-a", "v1", "-m", "of the tag")
    policy = f"file://{repo.path}" if url else str(repo.path)
    for ref in ("refs/heads/main", "refs/tags/v1"):
        target = source_of(ServerConfig(policy=policy, ref=ref, state_dir=place / "state")).resolve()
        origin = target.origin
        assert (target.commit, origin.subject, origin.ref) == (commit, "Tighten the embargo", ref)
        assert (origin.author, origin.source) == ("Ana <ana@example.org>", policy)
        assert origin.committed_at is not None
    folder = source_of(ServerConfig(policy=str(repo.path), dirty=True)).resolve().origin
    assert (folder.source, folder.author, folder.committed_at) == (str(repo.path), "", None)
