"""The lock file installs the same bytes everywhere, and the project file states honest floors."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from tests.tidy.tree import repository_files, text

PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)(?: *;[^\\]+)? \\$", re.MULTILINE | re.IGNORECASE)


def _project() -> dict[str, list[str]]:
    """The requirements of the project: base, and each extra."""
    project = tomllib.loads(text(Path("pyproject.toml")))["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def _pins() -> dict[str, Version]:
    """The locked releases by canonical name."""
    found = PIN.findall(text(Path("requirements.lock")))
    return {re.sub(r"[-_.]+", "-", name).lower(): Version(version) for name, version in found}


def test_the_lock_holds_names_versions_and_digests_only() -> None:
    """No address, path or option: the lock says what to install, the environment from where."""
    for line in text(Path("requirements.lock")).splitlines():
        assert re.fullmatch(r"(#.*)?|[A-Za-z0-9._-]+==\S+( ; .+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?", line), line


def test_every_requirement_of_server_and_dev_is_locked_within_its_range() -> None:
    """A range that the lock does not satisfy means that one of the two was forgotten."""
    pins, project = _pins(), _project()
    for line in [*project[""], *project["server"], *project["dev"]]:
        requirement = Requirement(line)
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        assert name in pins, f"{name} is not locked: run 'make lock'"
        assert requirement.specifier.contains(pins[name]), f"{line} but locked is {pins[name]}: run 'make lock'"


def test_the_floors_of_the_client_are_those_that_the_generated_modules_check() -> None:
    """A lower floor would install and then fail at import."""
    floors = {
        r.name: next(s.version for s in r.specifier if s.operator == ">=") for r in map(Requirement, _project()[""])
    }
    grpc, protobuf = set(), set()
    for path in repository_files():
        if path.name.endswith("_pb2_grpc.py"):
            grpc.update(re.findall(r"GRPC_GENERATED_VERSION = '([\d.]+)'", text(path)))
        elif path.name.endswith("_pb2.py"):
            found = re.search(r"Domain\.PUBLIC,\s*(\d+),\s*(\d+),\s*(\d+),", text(path))
            assert found is not None, path
            protobuf.add(".".join(found.groups()))
    assert (grpc, protobuf) == ({floors["grpcio"]}, {floors["protobuf"]})
