"""Fresh environments that see installed dependencies but not the tree. Nothing is fetched: all is built or linked."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
# Without what would lead the programs back into the tree or change how they warn.
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@dataclass(frozen=True, slots=True)
class Environment:
    """A virtual environment with the wheel in it."""

    home: Path

    @property
    def site_packages(self) -> Path:
        """Where the wheel lies."""
        return Path(sysconfig.get_path("purelib", "venv", {"base": str(self.home), "platbase": str(self.home)}))

    def run(self, *command: str) -> str:
        """What a program of the environment prints; fails the test, with all output, if it does not end with 0."""
        done = subprocess.run(
            [str(self.home / "bin" / command[0]), *command[1:]],
            cwd=self.home,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def build_wheel(into: Path) -> Path:
    """Builds the wheel of the tree with the installed hatchling and returns its path."""
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(into), str(ROOT)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = into.glob("discreet-*.whl")
    return wheel


def install(wheel: Path, home: Path, dependencies: Path) -> Environment:
    """Returns a fresh environment with the wheel alone installed and `dependencies` importable behind it.

    The line in the .pth adds one folder; the .pth files within that folder are not read, so that a project installed
    there in place stays out of sight.
    """
    venv.create(home, with_pip=False, symlinks=True)
    environment = Environment(home)
    (environment.site_packages / "dependencies.pth").write_text(f"{dependencies}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home / "bin" / "python")]
    command = [*pip, "install", "--quiet", "--no-deps", "--no-index", "--no-compile", str(wheel)]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return environment


def link_base_dependencies(into: Path) -> list[str]:
    """Links what the base dependencies install, and what those need in turn, into a folder; returns their names."""
    waiting, found = [Requirement(line) for line in distribution("discreet").requires or ()], dict[str, Distribution]()
    while waiting:
        requirement = waiting.pop()
        if requirement.name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[requirement.name] = distribution(requirement.name)
        waiting.extend(Requirement(line) for line in found[requirement.name].requires or ())
    for one in found.values():
        for file in one.files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                link = into / file
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(Path(str(one.locate_file(file))).resolve())
    return sorted(found)
