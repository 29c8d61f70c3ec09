"""A policy set as one string of bytes: what is stored, compared by digest, and compiled by every worker.

The bundle holds the policy files alone: `*.yaml` and `*.yml` outside hidden folders, without the tests (`*_test.yaml`),
which the publisher runs from Git and no worker needs; so a change of tests alone is no other policy. Each file is held
in one spelling (no byte-order mark, LF). Files stand in the order of their paths, each path and content behind its
length. A set that is served in an environment has the second form, which begins with the name of that environment: a
revision says what it was compiled for, and the same files in another environment are another revision.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Final

from discreet.policy.yaml import normal

MAGIC: Final = b"discreet-bundle/1\n"
MAGIC_WITH_ENVIRONMENT: Final = b"discreet-bundle/2\n"
FILES_MAX: Final = 5_000
SET_BYTES_MAX: Final = 64 * 1024 * 1024

_SUFFIXES: Final = (".yaml", ".yml")
_TEST_SUFFIXES: Final = ("_test.yaml", "_test.yml")
_LENGTH_BYTES: Final = 4


class BadBundle(ValueError):
    """The bytes are no bundle of this format."""


def is_hidden(path: str) -> bool:
    """Says whether a path lies in a hidden folder (`.github`) or is a hidden file; such files are not read."""
    return any(part.startswith(".") for part in path.split("/"))


def is_test(path: str) -> bool:
    """Says whether a path is a file of policy tests."""
    return path.endswith(_TEST_SUFFIXES) and not is_hidden(path)


def is_policy(path: str) -> bool:
    """Says whether a path is a policy file.

    >>> [is_policy(path) for path in ("rules/a.yaml", "a_test.yaml", ".github/ci.yml", "README.md")]
    [True, False, False, False]
    """
    return path.endswith(_SUFFIXES) and not is_hidden(path) and not is_test(path)


def looks_like_policy(path: str) -> bool:
    """Says whether a path would be a policy file or a test if its suffix were written in lower case."""
    lower = path.lower()
    return lower.endswith(_SUFFIXES) and not path.endswith(_SUFFIXES) and not is_hidden(path)


def policy_files(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Returns the policy files of a folder, each in its one spelling."""
    return {path: normal(files[path]) for path in sorted(files) if is_policy(path)}


def bundle(files: Mapping[str, bytes], environment: str = "") -> bytes:
    """Returns the canonical bundle of a folder's policy files; other files change nothing."""
    parts = [MAGIC_WITH_ENVIRONMENT, *_sized(environment.encode())] if environment else [MAGIC]
    for path, data in sorted((path.encode(), data) for path, data in policy_files(files).items()):
        parts += (*_sized(path), *_sized(data))
    return b"".join(parts)


def _sized(piece: bytes) -> tuple[bytes, bytes]:
    return len(piece).to_bytes(_LENGTH_BYTES, "big"), piece


def bundle_digest(files: Mapping[str, bytes], environment: str = "") -> str:
    """Returns the SHA-256 of the canonical bundle, 64 lower-case hex digits."""
    return hashlib.sha256(bundle(files, environment)).hexdigest()


def files_of(data: bytes) -> dict[str, bytes]:
    """Returns the files of a bundle. Raises BadBundle for anything but what `bundle` makes."""
    return contents_of(data)[0]


def contents_of(data: bytes) -> tuple[dict[str, bytes], str]:
    """Returns the files of a bundle and its environment. Raises BadBundle for anything but what `bundle` makes."""
    magic = data[: len(MAGIC)]
    if magic not in {MAGIC, MAGIC_WITH_ENVIRONMENT}:
        raise BadBundle("these bytes are no policy bundle of this version")
    pieces = _pieces(data, len(magic))
    try:
        environment = next(pieces, b"").decode() if magic == MAGIC_WITH_ENVIRONMENT else ""
        files = _files(pieces)
    except UnicodeDecodeError:
        raise BadBundle("the policy bundle has a path that is no UTF-8") from None
    if bundle(files, environment) != data:
        raise BadBundle("the policy bundle is not in its canonical form")
    return files, environment


def _files(pieces: Iterator[bytes]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for path in pieces:
        content = next(pieces, None)
        if content is None:
            raise BadBundle("the policy bundle is cut off")
        files[path.decode()] = content
    return files


def _pieces(data: bytes, position: int) -> Iterator[bytes]:
    while position < len(data):
        length = int.from_bytes(data[position : position + _LENGTH_BYTES], "big")
        start, position = position + _LENGTH_BYTES, position + _LENGTH_BYTES + length
        if position > len(data):
            raise BadBundle("the policy bundle is cut off")
        yield data[start:position]
