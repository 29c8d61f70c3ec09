"""`discreet policy fmt`: files are laid out whole, or nothing is touched."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.server.cli.command import discreet

UGLY = "kind: Texts\napiVersion: discreet/v1\nname: more  # a name\nlocale: 'en'\ntexts: {}\n"
TIDY = 'apiVersion: discreet/v1\nkind: Texts\nname: more # a name\nlocale: "en"\ntexts: {}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A policy set as `init` writes it."""
    assert discreet("policy", "init", str(tmp_path / "policies")).code == 0
    return tmp_path / "policies"


def test_what_init_writes_is_laid_out(folder: Path) -> None:
    """Nothing to do, and nothing is written."""
    told = discreet("policy", "fmt", "--check", str(folder))
    assert (told.code, told.out, told.err) == (0, "", "every file is laid out already\n")


def test_a_file_is_rewritten_and_named_and_keeps_its_mode(folder: Path) -> None:
    """Beside it nothing is left and nothing else is touched."""
    path = folder / "more.yaml"
    path.write_text(UGLY)
    path.chmod(0o640)
    before = {each.name: each.read_bytes() for each in folder.iterdir() if each != path}
    told = discreet("policy", "fmt", str(folder))
    assert (told.code, told.out) == (0, f"{path}\n")
    assert path.read_text() == TIDY
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert {each.name: each.read_bytes() for each in folder.iterdir() if each != path} == before
    assert discreet("policy", "fmt", "--check", str(path)).code == 0


def test_check_names_the_files_and_writes_nothing(folder: Path) -> None:
    """For hooks and CI: exit code 3."""
    path = folder / "more.yaml"
    path.write_text(UGLY)
    told = discreet("policy", "fmt", "--check", str(path), str(folder))
    assert (told.code, told.out) == (3, f"{path}\n")
    assert told.err == "discreet: 1 file is laid out otherwise; run `discreet policy fmt` on the same paths\n"
    assert path.read_text() == UGLY
    assert discreet("-o", "json", "policy", "fmt", "--check", str(path)).tree == {"would_change": [str(path)]}
    assert discreet("-o", "json", "policy", "fmt", str(path)).tree == {"changed": [str(path)]}


def test_nothing_is_written_where_one_file_cannot_be_read(folder: Path) -> None:
    """YML-12: all or nothing, with the problem at its place."""
    (folder / "more.yaml").write_text(UGLY)
    (folder / "wrong.yaml").write_text("a: 1\na: 2\n")
    told = discreet("policy", "fmt", str(folder))
    assert told.code == 3
    assert f"{folder}/wrong.yaml:2:1: " in told.out
    assert "nothing was written" in told.err
    assert (folder / "more.yaml").read_text() == UGLY


def test_what_is_no_file_is_refused(folder: Path) -> None:
    """A link is not followed: what it points to may be anybody's."""
    (folder.parent / "link.yaml").symlink_to(folder / "texts.yaml")
    for path in (folder.parent / "link.yaml", folder / "absent.yaml"):
        told = discreet("policy", "fmt", str(path))
        assert (told.code, told.out) == (2, "")
        assert f"{path} is no file" in told.err
    assert discreet("policy", "fmt").code == 2


def test_a_file_that_cannot_be_replaced_stays(folder: Path) -> None:
    """The old one is there whole, and no half-written one beside it."""
    path = folder / "more.yaml"
    path.write_text(UGLY)
    names = sorted(each.name for each in folder.iterdir())
    folder.chmod(0o500)
    try:
        told = discreet("policy", "fmt", str(path))
    finally:
        folder.chmod(0o700)
    assert sorted(each.name for each in folder.iterdir()) == names
    assert (told.code, path.read_text()) in {(2, UGLY), (0, TIDY)}, "as root, who may write anywhere, it is written"
