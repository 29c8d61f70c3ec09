"""Commits of a local repository as people name them: what Git takes, short of a search, and nothing that means two.

On top of what a server may be told to follow: commits cut short, branches of remotes, and steps back such as `HEAD~2`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from dulwich.graph import find_merge_base
from dulwich.objects import Commit, ObjectID, Tag
from dulwich.refs import Ref
from dulwich.repo import Repo

from discreet.server.policies.errors import SourceRefused, SourceUnavailable
from discreet.server.policies.git_library import DAMAGE
from discreet.server.policies.origin import visible_text
from discreet.server.policies.refs import wanted_sha
from discreet.server.policies.sources import TAGS_MAX, RepoSource, path_within, repository_of
from discreet.server.ports_policy import Origin

STEPS_MAX = 10_000
_CUT_SHORT = re.compile(r"[0-9a-f]{4,39}", re.ASCII)
_STEPS = re.compile(r"(.*?)((?:[~^][0-9]{0,5})*)", re.ASCII | re.DOTALL)
_STEP = re.compile(r"([~^])([0-9]*)", re.ASCII)


class Read(NamedTuple):
    """The policy files of a commit."""

    commit: str
    origin: Origin
    files: dict[str, bytes]


class Commits:
    """The commits of the repository that a directory lies in, with the policy set below a path of that directory."""

    def __init__(self, directory: Path, path: str) -> None:
        """Raises SourceUnavailable, SourceRefused where there is no such repository, or no such path in it."""
        if not directory.is_dir():
            raise SourceUnavailable(f"{directory}: is no directory; name one that lies in a Git repository")
        repo = repository_of(directory.absolute())
        if repo is None:
            raise SourceUnavailable(f"{directory}: lies in no Git repository")
        self._repo = repo
        self._subpath = path_within(repo, directory.absolute() / path)
        if self._subpath.split("/")[0] == "..":
            raise SourceUnavailable(f"{path}: lies outside the repository {repo}")

    def named(self, name: str) -> str:
        """The id of the commit that a name means; HEAD where it is empty. SourceUnavailable, SourceRefused."""
        try:
            with Repo(str(self._repo)) as repo:
                return _commit_of(repo, name).id.decode()
        except (OSError, ValueError, *DAMAGE) as error:
            raise SourceUnavailable(f"{name or 'HEAD'}: cannot be read ({type(error).__name__})") from None

    def base(self, one: str, other: str) -> str:
        """The id of the commit from which the history of two others parted. SourceUnavailable, SourceRefused."""
        ids = [ObjectID(self.named(name).encode()) for name in (one, other)]
        try:
            with Repo(str(self._repo)) as repo:
                found = find_merge_base(repo, ids)
        except (OSError, ValueError, *DAMAGE):
            found = []
        if len(found) == 1:
            return found[0].decode()
        what = "have several commits" if found else "have no commit"
        raise SourceUnavailable(
            f"{one or 'HEAD'} and {other or 'HEAD'} {what} from which they parted; name the older one, with two dots"
            + ("" if found else ", or fetch the whole history")
        )

    def read(self, name: str) -> Read:
        """The policy files of the commit that a name means. SourceUnavailable, SourceRefused."""
        source = RepoSource(self._repo, self.named(name), self._subpath)
        target = source.resolve()
        origin = target.origin._replace(ref=visible_text(name))
        return Read(target.commit, origin, source.files(target))


def _commit_of(repo: Repo, name: str) -> Commit:
    match = _STEPS.fullmatch(name)
    base, steps = match.groups() if match else (name, "")
    found = _peeled(repo, _sha_of(repo, base), name)
    for sign, count in _STEP.findall(steps):
        back = int(count or 1)
        if back > STEPS_MAX:
            raise SourceRefused(f"{name}: goes back more than {STEPS_MAX} commits")
        # ~2 is the first parent of the first parent, ^2 the second parent of a merge.
        for parent in [0] * back if sign == "~" else [back - 1] * (back > 0):
            found = _peeled(repo, _parent(repo, found, parent, name), name)
    return found


def _parent(repo: Repo, commit: Commit, number: int, name: str) -> ObjectID:
    parents = commit.parents
    if number < len(parents) and parents[number] in repo.object_store:
        return parents[number]
    cut = " here; fetch the whole history" if commit.id in repo.get_shallow() else ""
    raise SourceUnavailable(f"{name}: goes back beyond the first commit{cut}")


def _sha_of(repo: Repo, name: str) -> ObjectID:
    refs = repo.get_refs()
    try:
        sha = wanted_sha(refs, name)
    except SourceUnavailable:
        remote = Ref(f"refs/remotes/{name}".encode())
        found = {refs[remote]} if remote in refs else _cut_short(repo, name)
        if len(found) > 1:
            raise SourceRefused(f"{name}: is the beginning of {len(found)} commits; write more of it") from None
        if not found:
            raise
        return found.pop()
    if sha not in repo.object_store:
        raise SourceUnavailable(f"{name}: the repository holds no such commit; fetch it")
    return sha


def _cut_short(repo: Repo, name: str) -> set[ObjectID]:
    """The commits whose ids begin so."""
    if not _CUT_SHORT.fullmatch(name):
        return set()
    found = repo.object_store.iter_prefix(name.encode())
    return {sha for sha in found if isinstance(repo.object_store[sha], Commit)}


def _peeled(repo: Repo, sha: ObjectID, name: str) -> Commit:
    found = repo[sha]
    for _ in range(TAGS_MAX):
        if not isinstance(found, Tag):
            break
        found = repo[found.object[1]]
    if not isinstance(found, Commit):
        raise SourceRefused(f"{name}: names no commit")
    return found
