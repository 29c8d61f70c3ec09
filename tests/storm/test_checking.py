"""The checker of storms finds what it is there for: each rule broken by hand, and nothing wrong where nothing is."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from discreet.policy.bundle import bundle
from discreet.policy.problems import PolicyProblems
from discreet.server.policies.compile import compile_files
from tests.server.support import git
from tests.storm.answers import Answer, read_answers
from tests.storm.checking import Published, violations
from tests.storm.client import Task
from tests.storm.repo import Made, StormRepo
from tests.storm.sets import BAD, Kind, Said, expected, files_of, judged
from tests.storm.soak import concluded, plan
from tests.storm.storm import Outcome

MADE = tuple(Made(f"{number:040x}", number, Kind.MISSPELT if number == 3 else Kind.GOOD) for number in range(1, 7))


def revision(number: int, index: int, rolled_back_to: int = 0) -> Published:
    """A revision that holds the set of that index."""
    files = {name: text.encode() for name, text in files_of(index).items()}
    held = bundle(files)
    return Published(number, MADE[index - 1].commit, hashlib.sha256(held).hexdigest(), False, held, rolled_back_to)


PUBLISHED = (revision(1, 1), revision(2, 2), revision(3, 1, rolled_back_to=1), revision(4, 4))


def answer(number: int, began: int, ended: int, **changed: object) -> Answer:
    """An answer under a revision of that number, as it must be."""
    held = PUBLISHED[number - 1]
    index = next(one.index for one in MADE if one.commit == held.commit)
    made = Answer(
        "c", "one", began, ended, number, held.commit, held.digest, index, 5, 5, "", (), ordered=True
    )  # fmt: skip
    return made._replace(**changed)  # type: ignore[arg-type] # fields of an Answer


GOOD = (answer(1, 0, 10), answer(2, 20, 30), answer(3, 31, 40), answer(4, 50, 60))


def test_a_storm_in_which_all_is_well_has_no_violation() -> None:
    """Rollbacks, questions side by side, calls without an answer, and answers that no revision decided are no fault."""
    beside = answer(1, 5, 25, client="d")
    refused = Answer("c", "one", 70, 80, 0, "", "", 0, 0, 0, "UNAVAILABLE", (), ordered=False)
    withheld = answer(1, 70, 80, client="e", decided=0, shown=0)
    assert violations((*GOOD, beside, refused, withheld), PUBLISHED, MADE) == []


@pytest.mark.parametrize(
    "wrong, found",
    [
        (answer(4, 70, 80, wrong=("ALLOW of the secret",)), "ALLOW of the secret"),
        (answer(4, 70, 80, shown=2), "names commit 4 and answers as 2"),
        (answer(4, 70, 80, shown=0), "names commit 4 and answers as none"),
        (answer(4, 70, 80, digest="0" * 64), "SQL published no such revision"),
        (answer(4, 70, 80, commit=MADE[1].commit, shown=2), "SQL published no such revision"),
        (answer(4, 70, 80)._replace(number=9), "SQL published no such revision"),
        (answer(4, 70, 80, commit=MADE[2].commit, shown=3), "under a commit that is misspelt"),
        (answer(4, 70, 80)._replace(number=0), "decided under no revision"),
        (answer(3, 70, 80), "after 4 on the same connection"),
        (answer(3, 61, 80, client="d", ordered=False), "asked after revision 4 had answered"),
    ],
)
def test_an_answer_that_is_wrong_is_found(wrong: Answer, found: str) -> None:
    """E2, F2: mixed, leaking, of another commit, of a bad one, of none, older on its line, older in real time."""
    assert re.search(found, "\n".join(violations((*GOOD, wrong), PUBLISHED, MADE)))


@pytest.mark.parametrize(
    "published, found",
    [
        ((PUBLISHED[0], PUBLISHED[2]), "numbers have gaps"),
        ((*PUBLISHED, revision(5, 3)), "revision 5 is misspelt"),
        ((*PUBLISHED, revision(5, 5)._replace(commit="f" * 40)), "of no commit of the storm"),
        ((*PUBLISHED, revision(5, 5)._replace(bundle=b"other")), "not what commit"),
        ((*PUBLISHED, revision(5, 5)._replace(digest=PUBLISHED[0].digest)), "not what commit"),
        ((*PUBLISHED, revision(5, 2)), "brings commit 2 over 4"),
        ((*PUBLISHED, revision(5, 4)), "brings commit 4 over 4"),
        ((*PUBLISHED, revision(5, 2, rolled_back_to=1)), "is not that of 1"),
    ],
)
def test_a_publication_that_is_wrong_is_found(published: tuple[Published, ...], found: str) -> None:
    """E2: a bad commit, other files, an older commit over a newer one, a rollback to something else."""
    assert re.search(found, "\n".join(violations((), published, MADE)))


@pytest.mark.parametrize(
    "told, found",
    [
        ((*expected(7)[:3], Said("ALLOW", "NONE", "", "allow-7"), expected(7)[4]), "ALLOW of the secret"),
        ((*expected(7)[:2], expected(8)[2], *expected(7)[3:]), r"sets \[7, 8\] in one answer"),
        ((*expected(8)[:2], expected(7)[1], *expected(8)[3:]), r"sets \[7, 8\] in one answer"),
        ((*expected(7), *expected(8)), r"sets \[7, 8\] in one answer"),
        ((expected(8)[0], expected(8)[1], expected(8)[1], *expected(8)[3:]), "not Said"),
        ((*expected(8)[:3], Said("WITHHOLD", "UNTRUSTED_SOURCE", "", ""), expected(8)[4]), "not Said"),
        ((Said("ALLOW", "DEPENDENCY_UNAVAILABLE", "", ""), *expected(8)[1:]), "not withheld"),
    ],
)
def test_content_that_no_one_set_says_is_found(told: tuple[Said, ...], found: str) -> None:
    """E2: segments of two sets in one answer, or of one that says something else."""
    assert re.search(found, "\n".join(judged(told).wrong))


def test_what_nobody_decided_is_neither_wrong_nor_counted() -> None:
    """Withheld for a lost store or a policy that keeps changing."""
    lost = Said("WITHHOLD", "DEPENDENCY_UNAVAILABLE", "", "")
    assert judged((lost,) * 5) == (None, 0, ())
    assert judged((*expected(9)[:3], lost, lost)) == (9, 3, ())
    assert judged(expected(9) * 3) == (9, 15, ())


@pytest.mark.parametrize("index", [1, 2])
def test_good_sets_come_into_force_and_bad_ones_do_not(index: int) -> None:
    """E2: what a storm calls bad does not compile, or fails its own tests."""
    for kind in Kind:
        files = {name: text.encode() for name, text in files_of(index, kind).items()}
        if kind in BAD:
            with pytest.raises(PolicyProblems):
                compile_files(files, "a" * 40, dirty=False)
        else:
            assert compile_files(files, "a" * 40, dirty=False).tests == 2


def test_the_repository_of_a_storm_is_one_that_git_reads(tmp_path: Path) -> None:
    """Commits, their order and their files are as git sees them; nothing is broken."""
    repo = StormRepo(tmp_path / "policy.git", 0.5, Random(1))
    repo.begin()
    for _ in range(5):
        repo.commit(repo.any_kind())
    assert git(repo.path, "log", "--reverse", "--format=%H", "main").split() == [one.commit for one in repo.made]
    assert git(repo.path, "fsck", "--strict") == ""
    for one in repo.made:
        found = git(repo.path, "ls-tree", "--name-only", one.commit).split()
        assert found == sorted(files_of(one.index, one.kind))
        assert git(repo.path, "show", f"{one.commit}:rules.yaml") == files_of(one.index, one.kind)["rules.yaml"].strip()


def test_answers_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    """What a client was killed in the middle of is left out."""
    (tmp_path / "a").write_text("".join(one.line() for one in GOOD) + GOOD[0].line()[:-5])
    assert tuple(read_answers(iter([tmp_path / "a"]))) == GOOD


def test_a_long_storm_ends_with_one_where_anything_was_wrong(tmp_path: Path) -> None:
    """The report counts the decisions and names what was wrong."""
    outcome = Outcome(GOOD, PUBLISHED, MADE, violations(GOOD, PUBLISHED, MADE))
    assert concluded(plan(20, 1), outcome, tmp_path / "good") == 0
    assert "**20 decisions**" in (tmp_path / "good" / "storm.md").read_text()
    assert "**violations: 0**" in (tmp_path / "good" / "storm.md").read_text()
    answers = (*GOOD, answer(3, 70, 80))
    outcome = Outcome(answers, PUBLISHED, MADE, violations(answers, PUBLISHED, MADE))
    assert concluded(plan(20, 1), outcome, tmp_path / "bad") == 1
    assert "**violations: 2**" in (tmp_path / "bad" / "storm.md").read_text()
    assert len((tmp_path / "bad" / "storm-violations.txt").read_text().splitlines()) == 2


def test_a_client_ends_with_whoever_started_it(tmp_path: Path) -> None:
    """It asks until its stdin ends, also where no server is there; then it ends by itself."""
    task = Task("c", {"one": f"unix:{tmp_path}/none"}, ["batches", "stream", "commits"], 1, str(tmp_path / "answers"))
    done = subprocess.run(
        [sys.executable, "-m", "tests.storm.client"], input=task.text() + "\n", text=True, timeout=60, check=False,
        capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert {one.status for one in read_answers(iter([tmp_path / "answers"]))} <= {"UNAVAILABLE"}
