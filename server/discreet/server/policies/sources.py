"""Where policy sets come from: a commit of a local repository, of a remote one, or a folder as it lies there.

Blocking; called in a thread. Git is read by a library, never by a child process, and nothing is written to anybody's
repository: a lock file that some other program left behind is of no consequence (GIT-06).
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from dulwich.client import get_transport_and_path
from dulwich.errors import NotGitRepository
from dulwich.graph import find_merge_base
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.refs import Ref
from dulwich.repo import Repo

from discreet.server.config import PUBLISHED, ServerConfig
from discreet.server.policies.errors import SourceRefused, SourceUnavailable
from discreet.server.policies.git_library import DAMAGE, UNREACHED, Connections
from discreet.server.policies.origin import origin_of_commit, origin_of_place, without_credentials
from discreet.server.policies.refs import wanted_sha
from discreet.server.policies.tree import files_of_folder, files_of_tree
from discreet.server.ports_policy import Origin

TAGS_MAX = 8
"""How many annotated tags may point at one another."""

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.ASCII | re.IGNORECASE)
SCHEMES = ("https://", "http://", "file://")
"""What is served: ssh would need a child process, and git:// has neither identity nor time limits."""


@dataclass(frozen=True, slots=True)
class Target:
    """What a source points at: `key` changes whenever the files may have."""

    key: str
    commit: str
    dirty: bool
    origin: Origin
    """Where it comes from; nobody's yet."""


class Source(Protocol):
    """A place that policy sets come from."""

    @property
    def shown(self) -> str:
        """The place as logs and errors may name it: no credentials."""
        ...

    def resolve(self) -> Target:
        """What it points at now. SourceUnavailable, SourceRefused."""
        ...

    def files(self, target: Target) -> dict[str, bytes]:
        """The policy files of that target. SourceUnavailable, SourceRefused."""
        ...

    def rewritten(self, old: str, new: str) -> bool:
        """True where the new commit does not descend from the old one: history was rewritten, or the ref moved back."""
        ...


def followed(config: ServerConfig) -> Source | None:
    """The source that the configuration names; None where it says to serve what the database holds."""
    return None if config.policy == PUBLISHED else source_of(config)


def source_of(config: ServerConfig) -> Source:
    """The source that a directory or URL of the configuration names."""
    if _URL.match(config.policy):
        if not config.policy.startswith(SCHEMES):
            raise SourceRefused(f"--policy: URLs begin with one of {', '.join(SCHEMES)}")
        if config.dirty:
            raise SourceRefused("--dirty means the files of a directory; the policy is a URL")
        if not _is_whole(config.policy):
            raise SourceRefused("--policy: is no valid URL; write https://HOST[:PORT]/PATH, or file:///PATH")
        return RemoteSource(config.policy, config.ref, config.policy_path, config.state_dir / "git")
    directory = Path(config.policy).absolute()
    if not directory.is_dir():
        raise SourceRefused(f"--policy {directory}: is no directory; name one, or a URL with file:// or https://")
    repo = None if config.dirty else repository_of(directory)
    if repo is None:
        if config.ref and not config.dirty:
            raise SourceRefused(f"--ref needs a Git repository, and {directory} lies in none")
        return FolderSource(directory)
    return RepoSource(repo, config.ref, path_within(repo, directory) or config.policy_path)


def _is_whole(url: str) -> bool:
    """True where host and port can be read: a library that stumbles over them later would repeat the address."""
    try:
        parts = urlsplit(url)
        return parts.port != 0 and (parts.scheme == "file" or bool(parts.hostname))
    except ValueError:
        return False


def repository_of(directory: Path) -> Path | None:
    """The repository that a directory lies in; None where it lies in none. Raises SourceRefused for somebody else's."""
    try:
        with Repo.discover(str(directory)) as found:
            repo = Path(found.path).resolve()
    except NotGitRepository:
        return None
    except DAMAGE as error:
        raise SourceRefused(f"{directory}: its repository cannot be read ({type(error).__name__})") from None
    # A repository that was found further up may be anybody's, put there to be found.
    if repo.stat().st_uid != directory.stat().st_uid:
        raise SourceRefused(
            f"{directory}: lies in the repository {repo}, which belongs to another user; use --dirty or move it"
        )
    return repo


def path_within(repo: Path, directory: Path) -> str:
    """The path of a directory in a repository; empty for the whole of it."""
    relative = os.path.relpath(directory.resolve(), repo)
    return "" if relative == "." else Path(relative).as_posix()


class FolderSource:
    """A folder outside Git, or its files as they are: every revision of it is dirty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, bytes] = {}

    @property
    def shown(self) -> str:
        """The folder."""
        return str(self._folder)

    def resolve(self) -> Target:
        """The digest of all files. The files of the same reading are those that `files` gives."""
        self._read = files_of_folder(self._folder)
        digest = hashlib.sha256()
        for path in sorted(self._read):
            for part in (path.encode(), self._read[path]):
                digest.update(len(part).to_bytes(8, "big") + part)
        return Target(digest.hexdigest(), "", dirty=True, origin=origin_of_place(self.shown, ""))

    def files(self, target: Target) -> dict[str, bytes]:
        """The files that were read last."""
        return self._read

    def rewritten(self, old: str, new: str) -> bool:
        """A folder has no history."""
        return False


class RepoSource:
    """A directory of a local repository, work tree or bare: what its commit holds, whatever lies in the work tree."""

    def __init__(self, repo: Path, ref: str, subpath: str) -> None:
        self._repo = repo
        self._ref = ref
        self._subpath = subpath

    @property
    def shown(self) -> str:
        """The directory and the ref."""
        return f"{self._repo / self._subpath}@{self._ref or 'HEAD'}"

    def resolve(self) -> Target:
        """The commit of the ref."""
        try:
            with Repo(str(self._repo)) as repo:
                return _target(repo, wanted_sha(repo.get_refs(), self._ref), str(self._repo / self._subpath), self._ref)
        except (OSError, ValueError, *DAMAGE) as error:
            raise SourceUnavailable(f"{self.shown}: cannot be read ({type(error).__name__})") from None

    def files(self, target: Target) -> dict[str, bytes]:
        """The policy files of the commit's tree."""
        return _files(self._repo, target, self._subpath, self.shown)

    def rewritten(self, old: str, new: str) -> bool:
        """Looks for the old commit among the ancestors of the new one."""
        return _rewritten(self._repo, old, new)


class _HalfMade(Exception):
    """The clone can be neither opened nor made: somebody was killed while it was made, or its place is no directory."""


class RemoteSource:
    """A repository elsewhere, fetched into a bare store of objects of our own.

    Its refs are never written, so nothing is locked.
    """

    def __init__(self, url: str, ref: str, subpath: str, clones: Path) -> None:
        self._url = url
        self._ref = ref
        self._subpath = subpath
        self._clone = clones / hashlib.sha256(url.encode()).hexdigest()[:32]

    @property
    def shown(self) -> str:
        """The URL without what stands before the @: it may be a secret (GIT-04)."""
        return f"{without_credentials(self._url)}@{self._ref or 'HEAD'}"

    def resolve(self) -> Target:
        """Fetches the commit of the ref.

        A damaged clone is thrown away and made anew; where that fails too, of the commit alone: a remote that is a
        shallow clone itself lacks what comes before.
        """
        failed = ""
        for depth in (None, None, 1):
            try:
                return self._fetch(depth)
            except (ValueError, _HalfMade, *DAMAGE) as error:
                failed = type(error).__name__
                shutil.rmtree(self._clone, ignore_errors=True)
        raise SourceUnavailable(f"{self.shown}: cannot be fetched ({failed})")

    def _fetch(self, depth: int | None) -> Target:
        try:
            with self._open() as repo:
                return _target(repo, self._fetch_into(repo, depth), self._url, self._ref)
        except UNREACHED as error:
            raise SourceUnavailable(f"{self.shown}: cannot be fetched ({type(error).__name__})") from None

    def _fetch_into(self, repo: Repo, depth: int | None) -> ObjectID:
        """The id that the ref names, once its objects are there."""
        found: list[ObjectID] = []

        def wants(refs: Mapping[Ref, ObjectID], depth: int | None = None) -> list[ObjectID]:
            found.append(ObjectID(wanted_sha(refs, self._ref)))
            return [sha for sha in found if sha not in repo.object_store]

        try:
            with Connections() as pool:
                own = pool if self._url.startswith("http") else None
                client, path = get_transport_and_path(self._url, quiet=True, pool_manager=own)
                client.fetch(path, repo, determine_wants=wants, depth=depth)
        except NotGitRepository:
            raise SourceUnavailable(f"{self.shown}: is no Git repository") from None
        return found[-1]

    def _open(self) -> Repo:
        try:
            self._clone.mkdir(mode=0o700, parents=True, exist_ok=True)
            if (self._clone / "HEAD").is_file():
                return Repo(str(self._clone))
            return Repo.init_bare(str(self._clone))
        except OSError as error:
            raise _HalfMade(type(error).__name__) from None

    def files(self, target: Target) -> dict[str, bytes]:
        """The policy files of the fetched commit's tree."""
        return _files(self._clone, target, self._subpath, self.shown)

    def rewritten(self, old: str, new: str) -> bool:
        """Looks for the old commit among the ancestors of the new one."""
        return _rewritten(self._clone, old, new)


def _target(repo: Repo, sha: bytes, place: str, ref: str) -> Target:
    found = repo[sha]
    for _ in range(TAGS_MAX):
        if not isinstance(found, Tag):
            break
        found = repo[found.object[1]]
    if not isinstance(found, Commit):
        raise SourceRefused("the ref names no commit")
    commit = found.id.decode()
    return Target(commit, commit, dirty=False, origin=origin_of_commit(found, place, ref))


def _files(path: Path, target: Target, subpath: str, shown: str) -> dict[str, bytes]:
    try:
        with Repo(str(path)) as repo:
            commit = repo[target.commit.encode()]
            if not isinstance(commit, Commit):
                raise SourceRefused("the ref names no commit")
            return files_of_tree(repo.object_store, commit.tree, subpath)
    except (OSError, ValueError, *DAMAGE) as error:
        raise SourceUnavailable(f"{shown}: cannot be read ({type(error).__name__})") from None


def _rewritten(path: Path, old: str, new: str) -> bool:
    """Whether the old commit is no ancestor of the new one; False where history is cut off before that shows."""
    try:
        with Repo(str(path)) as repo:
            shallow = bool(repo.get_shallow())
            if ObjectID(old.encode()) not in repo.object_store:
                return not shallow
            bases = find_merge_base(repo, [ObjectID(old.encode()), ObjectID(new.encode())])
            return old.encode() not in bases if bases else not shallow
    except (OSError, ValueError, *DAMAGE):
        return True
