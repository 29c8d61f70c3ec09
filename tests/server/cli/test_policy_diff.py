"""`discreet policy diff`: which sides it compares, what it prints, and how it ends."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from dulwich import porcelain
from dulwich.refs import Ref

from discreet.cli.errors import InputError
from discreet.cli.policy_differences import shortened
from discreet.cli.policy_sides import Names, names_of
from tests.server.cli.command import Outcome, discreet
from tests.server.cli.policy_folder import PolicyFolder
from tests.tidy.tree import ROOT

EXPORT = ("moments: [RETRIEVE, PUBLISH, REPLAY]\n    sources: [ledger]", "moments: [RETRIEVE]\n    sources: [ledger]")


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PolicyFolder]:
    """A repository with one commit on main."""
    made = PolicyFolder.begun(tmp_path / "repo")
    yield made
    made.close()


def diff(folder: PolicyFolder, *args: str) -> Outcome:
    """`policy diff` as if started in the repository, of its policies."""
    return discreet("policy", "diff", "-C", str(folder.root), "--path", "policies", *args)


def kinds(outcome: Outcome) -> list[tuple[str, str, str]]:
    """The changes of an answer in JSON."""
    assert outcome.code == 0, outcome.err
    return [(change["kind"], change["direction"], change["subject"]) for change in outcome.tree["changes"]]


TIGHTER = [("RULE_MOMENTS", "tightens", "figures")]
LOOSER = [("RULE_MOMENTS", "loosens", "figures")]


def test_what_changes_between_two_commits_is_said(folder: PolicyFolder) -> None:
    """F8: places, both texts, the direction, and how many; nothing where nothing changes in meaning."""
    folder.change(*EXPORT)
    second = folder.commit("Figures are read and no more")
    found = diff(folder, "HEAD~1..HEAD")
    assert found.out.splitlines()[1:] == [
        "",
        "tightens",
        "  moments of the rule figures (disclosure.yaml:27)",
        "    was RETRIEVE, PUBLISH, REPLAY",
        "    is  RETRIEVE",
        "",
        "1 change of meaning: 1 tightens",
    ]
    assert found.out.startswith("HEAD~1 (")
    assert f"HEAD ({second[:12]})" in found.out
    folder.change("rules:\n", "# said\n\nrules:\n\n")
    folder.commit("Laid out")
    same = diff(folder, "HEAD~1..")
    assert (same.code, same.out.splitlines()[-1]) == (0, "nothing changes in meaning")


def test_sides_are_named_as_git_has_it(folder: PolicyFolder) -> None:
    """F8: refs, commits cut short, steps back, sides left out, and what lies there in place of one."""
    first = folder.repo.head().decode()
    folder.change(*EXPORT)
    folder.commit("Tighter")
    forwards = ("main~1..main", "HEAD^..", f"{first[:10]}..refs/heads/main", f"{first}..HEAD", "HEAD~..HEAD")
    for typed in forwards:
        assert kinds(diff(folder, typed, "-o", "json")) == TIGHTER, typed
    assert kinds(diff(folder, "HEAD", "main~1", "-o", "json")) == LOOSER
    assert kinds(diff(folder, "..HEAD~1", "-o", "json")) == LOOSER
    assert kinds(diff(folder, "HEAD..main", "-o", "json")) == []


def test_a_side_may_be_the_files_as_they_lie_there(folder: PolicyFolder) -> None:
    """F8: the work tree where no new side is named, and any folder that is called one."""
    assert kinds(diff(folder, "-o", "json")) == []
    folder.change(*EXPORT)
    assert kinds(diff(folder, "-o", "json")) == TIGHTER
    assert kinds(diff(folder, "--dirty", "-o", "json")) == TIGHTER
    assert kinds(diff(folder, "main", "-o", "json")) == TIGHTER
    assert kinds(diff(folder, "./policies", "main", "-o", "json")) == LOOSER
    other = PolicyFolder(folder.root.parent / "other")
    alone = discreet("policy", "diff", str(other.policies), str(folder.policies), "-o", "json")
    assert kinds(alone) == TIGHTER
    other.close()


def test_three_dots_begin_where_both_parted(folder: PolicyFolder) -> None:
    """F8: what a branch changes, whatever its target became meanwhile."""
    folder.branch("topic")
    folder.change(*EXPORT)
    folder.commit("Topic")
    folder.go_on("main")
    folder.change(EXPORT[1], EXPORT[0])
    folder.change("kinds: [small-talk, question-back]", "kinds: [small-talk]")
    folder.commit("Main went on")
    assert kinds(diff(folder, "main...topic", "-o", "json")) == TIGHTER
    assert len(kinds(diff(folder, "main..topic", "-o", "json"))) == 2


def test_what_loosens_stops_a_build(folder: PolicyFolder) -> None:
    """F8: 12 where something loosens or may, and where asked to, where anything changes; 0 else."""
    folder.change(*EXPORT)
    folder.commit("Tighter")
    folder.change("now < timestamp(document", "now - duration('0s') < timestamp(document")
    folder.commit("Who knows")
    assert diff(folder, "HEAD~2..HEAD~1", "--fail-on", "loosens").code == 0
    assert diff(folder, "HEAD~2..HEAD~1", "--fail-on", "change").code == 12
    backwards = diff(folder, "HEAD~1..HEAD~2", "--fail-on", "loosens")
    assert backwards.code == 12
    assert backwards.err.startswith("discreet: 1 change of meaning: 1 loosens; look at them")
    either = diff(folder, "HEAD~1..HEAD", "--fail-on", "loosens")
    assert (either.code, "1 may loosen or tighten" in either.err) == (12, True)
    assert diff(folder, "HEAD..HEAD", "--fail-on", "change").code == 0


def test_problems_are_said_beside_their_side(folder: PolicyFolder) -> None:
    """F8: both sides must be good; file, line and column of each problem, named as Git names the file."""
    folder.change("effect: ALLOW", "effect: ALOW")
    folder.commit("Broken")
    folder.change("effect: ALOW", "effect: ALLOWS")
    found = diff(folder, "main")
    assert found.code == 3
    lines = found.out.splitlines()
    places = [f"{folder.policies}/disclosure.yaml", "main:disclosure.yaml"]
    assert sorted(line.split(": ")[0] for line in lines) == sorted(f"{place}:23:13" for place in places)
    assert 'no effect "ALOW"' in lines[0]
    assert found.err.startswith("discreet: 1 problem in main (")
    tree = diff(folder, "main", "-o", "json").tree
    assert sorted(problem["file"] for problem in tree["problems"]) == sorted(places)


@pytest.mark.parametrize(
    "typed, said",
    [
        (["nowhere.."], "no branch or tag nowhere; there are refs/heads/main"),
        (["HEAD~5.."], "HEAD~5: goes back beyond the first commit"),
        (["0000000.."], "no branch or tag 0000000"),
        (["f" * 40], "the repository holds no such commit; fetch it"),
        (["a..b..c"], "a..b..c is no range"),
        (["a", "b", "c"], "3 sides"),
        (["a..b", "c"], "a..b is a range, and stands beside something else"),
        (["a..b", "--dirty"], "--dirty stands for the new side"),
        (["HEAD", "./nowhere"], "nowhere: is no directory"),
        (["HEAD~99999.."], "goes back more than 10000 commits"),
        (["HEAD..", "--markdown", "/nowhere/diff.md"], "/nowhere/diff.md: no such file or directory"),
        (["HEAD..", "--environment", "live"], 'the set has no environment "live"'),
    ],
)
def test_what_names_nothing_is_refused_in_words(folder: PolicyFolder, typed: list[str], said: str) -> None:
    """F8, GIT-12: what is wrong, and what would be right; nothing is compared."""
    found = diff(folder, *typed)
    assert found.code in {2, 3}
    assert said in found.err + found.out


def test_a_name_that_means_two_things_is_refused(folder: PolicyFolder) -> None:
    """GIT-08: a branch and a tag of one name; the beginning of two commits is likewise none."""
    folder.tag("main")
    found = diff(folder, "main..HEAD")
    assert found.code == 3
    assert "write refs/heads/main or refs/tags/main" in found.err


def test_a_directory_outside_any_repository_has_no_commits(tmp_path: Path) -> None:
    """F8: said so; a path that leads out of a repository is refused."""
    plain = discreet("policy", "diff", "-C", str(tmp_path), "HEAD..")
    assert (plain.code, "lies in no Git repository" in plain.err) == (2, True)
    folder = PolicyFolder.begun(tmp_path / "repo")
    out = discreet("policy", "diff", "-C", str(folder.root), "--path", "../elsewhere", "HEAD..")
    assert (out.code, "lies outside the repository" in out.err) == (2, True)
    folder.close()


def test_a_bare_repository_is_enough(folder: PolicyFolder) -> None:
    """F8: what lies in a work tree is of no consequence for two commits."""
    folder.change(*EXPORT)
    folder.commit("Tighter")
    bare = folder.root.parent / "bare.git"
    porcelain.clone(str(folder.root), str(bare), bare=True, errstream=porcelain.NoneStream()).close()
    found = discreet("policy", "diff", "-C", str(bare), "--path", "policies", "HEAD~1..HEAD", "-o", "json")
    assert kinds(found) == TIGHTER


def test_markdown_shows_policies_as_code(folder: PolicyFolder) -> None:
    """F8: what a policy says cannot become markup of the pull request that it is shown in."""
    folder.change("title: Approved research notes", "title: 'a `b` | <img src=x> [c](d)'", "sources.yaml")
    folder.change(*EXPORT)
    report = folder.root.parent / "diff.md"
    assert diff(folder, "HEAD", "--markdown", str(report)).code == 0
    found = report.read_text("utf-8").splitlines()
    assert found[0] == "## What changes in meaning"
    assert "### Tightens: 1" in found
    assert "- moments of the rule `figures` (`disclosure.yaml:27`)" in found
    assert found[2].startswith("From `HEAD (")
    assert "  - is `` a `b` | <img src=x> [c](d) ``" in found


def test_the_step_of_a_workflow_is_what_it_takes(folder: PolicyFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """F8: what the guide has CI run, in a checkout with its history: 0 where nothing loosens, 12 where it may."""
    guide = (ROOT / "docs" / "guides" / "policies-in-ci.md").read_text("utf-8")
    (command,) = re.findall(r"- run: (discreet policy diff .*)$", guide, re.MULTILINE)
    folder.repo.refs[Ref(b"refs/remotes/origin/main")] = folder.repo.head()
    monkeypatch.chdir(folder.root)
    folder.change(*EXPORT)
    folder.commit("Tighter")
    assert discreet(*shlex.split(command)[1:]).code == 0
    assert (folder.root / "diff.md").exists()
    folder.change("moments: [RETRIEVE]", "moments: [RETRIEVE, EXPORT]")
    folder.commit("Looser")
    assert discreet(*shlex.split(command)[1:]).code == 12


def test_what_both_sides_say_is_left_out_of_long_texts() -> None:
    """E3: of two long texts the part that differs is shown with a little around it; short ones are shown whole."""
    many = [f'"desk-{number:03}"' for number in range(100)]
    old, new = (
        f"document.attributes.desk in [{', '.join(desks)}]" for desks in (many, [*many[:50], '"new"', *many[50:]])
    )
    was, becomes = shortened(old, new)
    assert (len(was) < 120, len(becomes) < 120, '"new", ' in becomes) == (True, True, True)
    assert becomes.replace('"new", ', "") == was
    assert shortened("x" * 300, "x" * 300 + "y")[1].endswith("xy")


def test_names_are_taken_apart() -> None:
    """F8: the forms that Git has, folders apart."""
    assert names_of(["a...b"], dirty=False) == Names("a", "b", parted=True)
    assert names_of(["..b"], dirty=False) == Names("", "b")
    assert names_of([], dirty=True) == names_of([], dirty=False) == Names("", None)
    assert names_of(["../a", "./b"], dirty=False) == Names("../a", "./b")
    with pytest.raises(InputError):
        names_of(["a....b"], dirty=False)
