"""What the Git library raises, sorted by what to do about it, and connections for it that are closed in any case.

Whatever it raises means a source that cannot be read now: none of it may end a server (GIT-12).
"""

from __future__ import annotations

import struct
import zlib
from types import TracebackType
from typing import Any, Final, Literal

import urllib3
from dulwich.bundle_uri import BundleURIError
from dulwich.client import HTTPProxyUnauthorized, HTTPUnauthorized, InvalidWants
from dulwich.errors import (
    ApplyDeltaError,
    ChecksumMismatch,
    FileFormatException,
    GitProtocolError,
    MissingCommitError,
    NotGitRepository,
    ObjectMissing,
    RefFormatError,
    WrongObjectException,
)
from dulwich.file import FileLocked
from dulwich.object_store import MaxTreeDepthExceeded
from dulwich.objects import SubmoduleEncountered
from dulwich.pack import PackFileDisappeared, UnresolvedDeltas
from dulwich.refs import SymrefLoop
from dulwich.repo import InvalidWorktreeConfiguration, UnsupportedExtension, UnsupportedVersion

DAMAGE: Final = (
    ApplyDeltaError, AssertionError, AttributeError, ChecksumMismatch, EOFError, FileFormatException, FileLocked,
    InvalidWorktreeConfiguration, LookupError, MaxTreeDepthExceeded, MissingCommitError, NotGitRepository,
    ObjectMissing, OverflowError, PackFileDisappeared, RefFormatError, RuntimeError, SubmoduleEncountered, SymrefLoop,
    TypeError, UnresolvedDeltas, UnsupportedExtension, UnsupportedVersion, WrongObjectException, struct.error,
    zlib.error,
)  # fmt: skip
"""Raised for objects and files that are missing, cut off, wrong, or of a form that is not known."""

UNREACHED: Final = (
    BundleURIError, GitProtocolError, HTTPProxyUnauthorized, HTTPUnauthorized, InvalidWants, OSError,
    urllib3.exceptions.HTTPError,
)  # fmt: skip
"""Raised where a remote does not answer, refuses, or says something odd."""

REMOTE_TIMEOUT_S: Final = 20.0


class Connections(urllib3.PoolManager):
    """Connections of one fetch. The library leaves answers open that it does not like."""

    def __init__(self) -> None:
        super().__init__(timeout=REMOTE_TIMEOUT_S, retries=False)
        self._answers: list[urllib3.BaseHTTPResponse] = []

    def urlopen(  # type: ignore[override] # the base class spells its overload otherwise than its own sub-classes
        self, method: str, url: str, redirect: bool = True, **options: Any
    ) -> urllib3.BaseHTTPResponse:
        """The answer, which is closed at the end."""
        answer = super().urlopen(method, url, redirect, **options)
        self._answers.append(answer)
        return answer

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        """Closes everything."""
        for answer in self._answers:
            answer.close()
        self.clear()
        return False
