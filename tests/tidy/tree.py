"""The files of the repository, as the tidy tests read them.

Must not import the product: a tree that does not import can still be read.
"""

from __future__ import annotations

import ast
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE_ROOTS = ("proto", "policy", "server", "client")


@cache
def repository_files() -> tuple[Path, ...]:
    """Every file that is in the repository or would be added to it, sorted, relative to the top."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return tuple(sorted(Path(name) for name in set(listed.split("\0")) if name and (ROOT / name).is_file()))


def is_generated(path: Path) -> bool:
    """True for what protoc writes; nobody reads it, and `make check` compares it with its source."""
    return path.name.endswith(("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi"))


@cache
def python_files() -> tuple[Path, ...]:
    """The Python files that people write, tests included."""
    return tuple(path for path in repository_files() if path.suffix == ".py" and not is_generated(path))


@cache
def product_files() -> tuple[Path, ...]:
    """The Python files that are shipped, generated ones left out."""
    return tuple(path for path in python_files() if path.parts[0] in SOURCE_ROOTS)


@cache
def text(path: Path) -> str:
    """The text of a file, or an empty one for what is no UTF-8."""
    try:
        return (ROOT / path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


@cache
def syntax(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(text(path), filename=str(path))
