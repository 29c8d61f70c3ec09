"""The built wheel holds every shipped file, imports from where it is installed, and gives a client two dependencies."""

from __future__ import annotations

import sysconfig
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from discreet.policy.cel.grammar import TABLES
from tests.tidy.tree import SOURCE_ROOTS, repository_files
from tests.wheel.environments import ROOT, Environment, build_wheel, install, link_base_dependencies

IMPORT_ALL = """
import importlib, pathlib, sys
home = pathlib.Path(sys.argv[1])
for name in sys.argv[2:]:
    module = importlib.import_module(name)
    assert pathlib.Path(module.__file__).is_relative_to(home), (name, module.__file__)
print(len(sys.argv) - 2)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once from the tree."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def full(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel with every dependency of the extras in reach."""
    return install(wheel, tmp_path_factory.mktemp("full"), Path(sysconfig.get_path("purelib")))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel as `pip install discreet` leaves it: the base dependencies and nothing else."""
    dependencies = tmp_path_factory.mktemp("dependencies")
    assert link_base_dependencies(dependencies) == ["grpcio", "protobuf", "typing-extensions"]
    return install(wheel, tmp_path_factory.mktemp("bare"), dependencies)


def _shipped() -> set[Path]:
    """The repository's files under the namespace, as they are to lie in site-packages."""
    return {
        path.relative_to(path.parts[0])
        for path in repository_files()
        if path.parts[0] in SOURCE_ROOTS and path.parts[1] == "discreet"
    }


def _modules(root: str) -> list[str]:
    """The import names of one part of the product; migration scripts are run by alembic, not imported."""
    paths = sorted(path for path in _shipped() if path.suffix == ".py" and path.parts[1] == root)
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in paths]
    return [name for name in names if ".migrations." not in name and not name.endswith(".__main__")]


def test_the_wheel_holds_the_shipped_files_and_nothing_else(wheel: Path) -> None:
    """Data files, migrations, stubs and `py.typed` are where the code looks for them; nothing else slips in.

    What the build itself makes is the tables of the grammar alone.
    """
    with zipfile.ZipFile(wheel) as archive:
        held = {Path(name) for name in archive.namelist() if ".dist-info/" not in name}
        licenses = [name for name in archive.namelist() if name.endswith("licenses/LICENSE")]
    assert held == {*_shipped(), TABLES.relative_to(ROOT / "policy")}
    assert len(licenses) == 1


@pytest.mark.parametrize("part", ["v1", "policy", "server", "client", "cli"])
def test_every_module_imports_from_the_wheel(full: Environment, part: str) -> None:
    """E4: no module leans on the tree, on the order of imports or on a warning that nobody saw."""
    names = _modules(part)
    assert f"discreet.{part}" in names
    printed = full.run("python", "-I", "-W", "error", "-c", IMPORT_ALL, str(full.site_packages), *names)
    assert printed.split() == [str(len(names))]


def test_the_command_tells_its_version(full: Environment) -> None:
    """The console script is wired, and its version is the one of the installed distribution."""
    assert version("discreet") in full.run("discreet", "--version")


def test_the_client_lives_on_grpcio_and_protobuf_alone(bare: Environment) -> None:
    """E3: an agent that installs the client gets two dependencies, and every module of it imports with them."""
    names = [*_modules("v1"), *_modules("client")]
    printed = bare.run("python", "-I", "-W", "error", "-c", IMPORT_ALL, str(bare.site_packages), *names)
    assert printed.split() == [str(len(names))]
