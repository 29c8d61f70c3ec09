"""The shape of the tree: what stands at the top, and that the namespace stays one over its source roots."""

from __future__ import annotations

from tests.tidy.tree import SOURCE_ROOTS, python_files, repository_files

TOP = {
    *("pyproject.toml", "proto", "policy", "server", "client", "tests", "README.md"),
    *("docs", "Makefile", "CHANGELOG.md", "LICENSE", "requirements.lock"),
    *(".ci", ".editorconfig", ".gitignore", ".pre-commit-hooks.yaml"),
}
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}


def test_the_top_level_is_the_agreed_one() -> None:
    """E4: nothing stands at the top but what was agreed, and everything agreed is there."""
    assert {path.parts[0] for path in repository_files()} == TOP


def test_no_package_file_hides_the_namespace() -> None:
    """E4: a `discreet/__init__.py` in one source root would hide the others."""
    assert [str(path) for path in repository_files() if path.parts[-2:] == ("discreet", "__init__.py")] == []


def test_every_source_root_holds_the_namespace_and_nothing_importable_beside_it() -> None:
    """E4: what stood beside `discreet` in a source root would become a top-level import name of every installation.

    A step of the build stands beside it under a name that none can import.
    """
    beside = [path for path in python_files() if path.parts[0] in SOURCE_ROOTS and path.parts[1] != "discreet"]
    assert [path for path in beside if len(path.parts) > 2 or path.stem.isidentifier()] == []


def test_every_shipped_package_is_typed() -> None:
    """Each package right under the namespace has its `py.typed`, or its users' checkers would ignore its types."""
    packages = {path.parts[:3] for path in python_files() if path.parts[0] in SOURCE_ROOTS and len(path.parts) > 3}
    typed = {path.parts[:3] for path in repository_files() if path.name == "py.typed"}
    assert packages - typed == set()


def test_module_names_say_what_they_hold() -> None:
    """A module of odds and ends grows without end."""
    assert [str(path) for path in python_files() if {path.stem, *path.parts[:-1]} & VAGUE] == []
