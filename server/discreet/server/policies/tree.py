"""The policy files of a directory: of a Git tree, read from its objects, or of a folder as it lies there.

Never the work tree of a repository unless that was asked for: what a checkout, a mode, a umask or a filter made of the
files is of no consequence (GIT-03). Links, submodules and odd names are refused, not followed; sizes and counts are
bounded. Hidden entries (names that begin with a dot) are no part of a policy set.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from dulwich.object_store import BaseObjectStore
from dulwich.objects import Blob, ObjectID, Tree

from discreet.server.policies.errors import SourceRefused, SourceUnavailable

FILES_MAX = 1_000
DEPTH_MAX = 16
FILE_BYTES_MAX = 1024 * 1024
TOTAL_BYTES_MAX = 16 * 1024 * 1024
ENTRIES_MAX = 100_000
"""Entries that are looked at: a few objects can spell a tree of billions, and a folder can hold a home."""
SUFFIXES = (".yaml", ".yml")
"""In any case: a policy file whose suffix is in upper case is a mistake that the compiler names."""


class _Gathering:
    """The files so far, within their limits."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self._total = 0
        self._entries = 0

    def look(self, prefix: str) -> None:
        """Counts an entry, whatever it is."""
        self._entries += 1
        if self._entries > ENTRIES_MAX:
            raise SourceRefused(f"{prefix or '.'}: holds one entry too many; at most {ENTRIES_MAX} are looked at")

    def add(self, path: str, data: bytes) -> None:
        self._total += len(data)
        if len(data) > FILE_BYTES_MAX:
            raise SourceRefused(f"{path}:1:1: has {len(data)} bytes; a policy file has at most {FILE_BYTES_MAX}")
        if len(self.files) >= FILES_MAX:
            raise SourceRefused(f"{path}:1:1: is one file too many; a policy set has at most {FILES_MAX}")
        if self._total > TOTAL_BYTES_MAX:
            raise SourceRefused(f"{path}:1:1: makes the set larger than {TOTAL_BYTES_MAX} bytes")
        self.files[path] = data


def files_of_tree(objects: BaseObjectStore, root: ObjectID, subpath: str) -> dict[str, bytes]:
    """The policy files below a path of a tree, by their paths relative to it. SourceRefused, SourceUnavailable."""
    top = _descend(objects, root, subpath)
    found = _Gathering()
    for path, mode, sha in _walk(objects, found, top, "", 0):
        _refuse_links(path, mode)
        if path.lower().endswith(SUFFIXES):
            blob = objects[sha]
            if not isinstance(blob, Blob):
                raise SourceRefused(f"{path}:1:1: is no file")
            found.add(path, blob.data)
    return found.files


def _descend(objects: BaseObjectStore, root: ObjectID, subpath: str) -> Tree:
    tree = _tree(objects, root)
    for part in [part for part in subpath.split("/") if part]:
        name = part.encode()
        if name not in tree or not stat.S_ISDIR(tree[name][0]):
            raise SourceUnavailable(
                f"the commit has no directory {subpath}; commit it, or serve the files as they are with --dirty"
            )
        tree = _tree(objects, tree[name][1])
    return tree


def _tree(objects: BaseObjectStore, sha: ObjectID) -> Tree:
    found = objects[sha]
    if not isinstance(found, Tree):
        raise SourceUnavailable("the repository is damaged: an object that should be a tree is none")
    return found


def _walk(
    objects: BaseObjectStore, found: _Gathering, tree: Tree, prefix: str, depth: int
) -> Iterator[tuple[str, int, ObjectID]]:
    """Every entry that is no directory, hidden ones left out, in the order of Git."""
    if depth > DEPTH_MAX:
        raise SourceRefused(f"{prefix}: is nested more than {DEPTH_MAX} directories deep")
    for entry in tree.iteritems():
        name = safe_name(prefix, entry.path)
        found.look(prefix)
        if name.startswith("."):
            continue
        if stat.S_ISDIR(entry.mode):
            yield from _walk(objects, found, _tree(objects, entry.sha), f"{prefix}{name}/", depth + 1)
        else:
            yield f"{prefix}{name}", entry.mode, entry.sha


def safe_name(prefix: str, raw: bytes) -> str:
    """The name of an entry. SourceRefused where it leads elsewhere, or could be taken for another."""
    try:
        name = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise SourceRefused(f"{prefix}: holds a file whose name is not UTF-8") from None
    odd = any(unicodedata.category(char)[0] in "CZ" and char != " " for char in name)
    if not name or name in {".", ".."} or "/" in name or "\\" in name or odd:
        raise SourceRefused(f"{prefix}: holds a file whose name has a dot segment, a slash or a hidden character")
    return name


def _refuse_links(path: str, mode: int) -> None:
    if stat.S_ISLNK(mode):
        raise SourceRefused(f"{path}:1:1: is a symbolic link; a policy set holds plain files")
    if stat.S_IFMT(mode) == 0o160000:
        raise SourceRefused(f"{path}:1:1: is a submodule; a policy set holds plain files")


def files_of_folder(folder: Path) -> dict[str, bytes]:
    """The policy files of a folder as they lie there, by their paths relative to it.

    SourceRefused, SourceUnavailable.
    """
    if not folder.is_dir():
        raise SourceUnavailable(f"{folder}: is no directory")
    found = _Gathering()
    try:
        for path in _walk_folder(folder, found, folder, 0):
            relative = path.relative_to(folder).as_posix()
            _refuse_links(relative, path.lstat().st_mode)
            if relative.lower().endswith(SUFFIXES):
                found.add(relative, _read(path))
    except OSError as error:
        raise SourceUnavailable(f"{folder}: cannot be read: {error.strerror}") from None
    return found.files


def _walk_folder(base: Path, found: _Gathering, folder: Path, depth: int) -> Iterator[Path]:
    if depth > DEPTH_MAX:
        raise SourceRefused(f"{folder.relative_to(base)}: is nested more than {DEPTH_MAX} directories deep")
    for path in sorted(folder.iterdir()):
        prefix = path.parent.relative_to(base).as_posix()
        name = safe_name(prefix, os.fsencode(path.name))
        found.look(prefix)
        if name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk_folder(base, found, path, depth + 1)
        else:
            yield path


def _read(path: Path) -> bytes:
    """The file's bytes, at most one more than the limit, through no link."""
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SourceRefused(f"{path.name}:1:1: is no plain file")
        return file.read(FILE_BYTES_MAX + 1)
