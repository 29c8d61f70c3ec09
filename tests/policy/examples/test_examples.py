"""The policy sets under `policy/examples`: without a warning, laid out, tested to the last branch, and described."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from discreet.policy.check import check_set
from discreet.policy.fmt import formatted
from discreet.policy.testing import prepare, run_tests
from discreet.policy.testing.coverage import Coverage
from discreet.policy.testing.mutate import mutate
from discreet.server.policies.tree import files_of_folder
from tests.e2e.consoles import environment, printed, steady, typed

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "policy" / "examples"
FOLDERS = sorted(path for path in EXAMPLES.iterdir() if path.is_dir())
OBSERVED = {"internal-wiki": {"unreviewed-pages"}}
"""Rules that are only watched, and so decide nothing."""
SETTINGS = (
    (re.compile(r"^ *(?:retrieved-in-session|same-grant-revision): (true)", re.MULTILINE), "false"),
    (re.compile(r"^ *claimed-from: (\[portal\])", re.MULTILINE), "[agent]"),
    (re.compile(r"^ *listed: (false)", re.MULTILINE), "true"),
    (re.compile(r"^ *from: (20\S+)", re.MULTILINE), "2020-01-01T00:00:00Z"),
    (re.compile(r"^ *until: (20\S+)", re.MULTILINE), "2040-01-01T00:00:00Z"),
    (re.compile(r"^ *(?:max-age|prices_max_age): (\d+[mhd])$", re.MULTILINE), "9000d"),
    (re.compile(r"^ *largest_change: (\d+)$", re.MULTILINE), "1"),
    (re.compile(r"^ *mode: (observe)", re.MULTILINE), "enforce"),
    (re.compile(r"^ *moments: \[(RETRIEVE, )", re.MULTILINE), ""),
    (re.compile(r"^ *moments: \[.*(PUBLISH, )", re.MULTILINE), ""),
    (re.compile(r"^ *moments: \[.*(, REPLAY)[],]", re.MULTILINE), ""),
    (re.compile(r"^ *moments: \[.*(, EXPORT)\]", re.MULTILINE), ""),
    (re.compile(r"^ *(?:custom-reason: )([A-Z_]+)$", re.MULTILINE), "ANOTHER"),
)
"""What is neither a rule nor a part of a condition, and decides all the same; with what it is changed to."""

each_example = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_there_are_examples() -> None:
    """E1: the four that are promised. An empty folder would pass everything else here."""
    names = [folder.name for folder in FOLDERS]
    assert names == ["customer-support", "figures", "internal-wiki", "research-notes"]


@each_example
def test_check_finds_nothing_and_fmt_changes_nothing(folder: Path) -> None:
    """E1: what people copy has no problem, no warning, and the one layout."""
    files = files_of_folder(folder)
    report = check_set(files)
    assert (report.problems, report.warnings) == ((), ())
    assert [name for name, data in files.items() if formatted(name, data) != data] == []


@each_example
def test_every_rule_and_every_part_of_a_condition_is_seen_both_ways(folder: Path) -> None:
    """E1, F12: all tests pass, they cover all there is to cover, and every rule decides in one of them."""
    files = files_of_folder(folder)
    prepared = prepare(files)
    coverage = Coverage(files, prepared)
    results = [result for one in prepared for result in one.results(coverage.watch)]
    assert [f"{result.place} {result.name}" for result in results if not result.passed] == []
    assert list(coverage.missing()) == []
    assert (coverage.seen, coverage.percent) == (coverage.points, 100.0)
    undecided = {rule.id for rule in coverage.rules.values() if not rule.decided}
    assert undecided == OBSERVED.get(folder.name, set())


@each_example
def test_no_change_of_a_rule_goes_unnoticed(folder: Path) -> None:
    """F12: each rule left out, each part of a condition negated or left out: a test fails. No survivor is excused."""
    files = files_of_folder(folder)
    mutation = mutate(files, prepare(files))
    assert mutation.tried > 8
    assert ([str(one) for one in mutation.survivors], mutation.left_out) == ([], 0)


def _other_settings(files: dict[str, bytes]) -> Iterator[tuple[str, dict[str, bytes]]]:
    for name, data in files.items():
        text = data.decode()
        for pattern, word in SETTINGS if not name.endswith("_test.yaml") else ():
            for found in pattern.finditer(text):
                changed = text[: found.start(1)] + word + text[found.end(1) :]
                if found[1] != word:
                    line = text.count("\n", 0, found.start(1)) + 1
                    yield f"{name}:{line}: {found[1]} to {word or 'nothing'}", {**files, name: changed.encode()}


@each_example
def test_no_change_of_a_setting_goes_unnoticed(folder: Path) -> None:
    """F12: demands, whose word counts, what is listed, ages, times and moments are held by tests as rules are."""
    changes = list(_other_settings(files_of_folder(folder)))
    assert len(changes) >= 4
    unnoticed = [what for what, files in changes if all(result.passed for result in run_tests(files))]
    assert "\n".join(unnoticed) == ""


@each_example
def test_its_commands_print_what_the_readme_says(folder: Path) -> None:
    """E1: a newcomer types what stands there, from a checkout, and sees what stands there."""
    with TemporaryDirectory(prefix="de-") as name:
        directory = Path(name)
        (directory / "policy").symlink_to(ROOT / "policy")
        env = environment(directory)
        steps = list(typed(folder / "README.md"))
        assert len(steps) >= 5
        for step in steps:
            assert steady(printed(step.command, directory, env)) == steady(step.printed), step.command


@each_example
def test_the_readme_names_every_file_and_the_guides_name_the_readme(folder: Path) -> None:
    """E1: nobody has to guess what a file is for, or that the example is there."""
    listed = re.findall(r"^\| `(\S+\.yaml)` \|", (folder / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(files_of_folder(folder))
    assert f"policy/examples/{folder.name}/README.md" in (ROOT / "README.md").read_text("utf-8")
    assert f"../policy/examples/{folder.name}/README.md" in (ROOT / "docs/policies.md").read_text("utf-8")
