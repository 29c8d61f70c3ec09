"""A bare repository that takes a commit every few milliseconds, and the record of what each commit holds."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

from dulwich.objects import Blob, Commit, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from tests.storm.sets import BAD, Kind, files_of

BRANCH = Ref(b"refs/heads/main")
FILE_MODE = 0o100644
WHO = b"Ana <ana@example.org>"
FIRST_S = 1_750_000_000


@dataclass(frozen=True, slots=True)
class Made:
    """A commit of the storm."""

    commit: str
    index: int
    kind: Kind
    at: float = 0.0
    """When, on the monotonic clock."""


@dataclass(slots=True)
class StormRepo:
    """Written by the library that servers read with: a child process for each commit would be most of the load."""

    path: Path
    bad_share: float
    chance: random.Random
    made: list[Made] = field(default_factory=list)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def begin(self) -> None:
        """Makes the repository with a first good commit."""
        self.path.mkdir(parents=True)
        Repo.init_bare(str(self.path), default_branch=b"main").close()
        self.commit(Kind.GOOD)

    @property
    def last(self) -> Made:
        """The commit that the branch points at."""
        return self.made[-1]

    def any_kind(self) -> Kind:
        """A kind by chance, as often bad as was asked for."""
        return self.chance.choice(BAD) if self.chance.random() < self.bad_share else Kind.GOOD

    def commit(self, kind: Kind) -> Made:
        """A next commit on the branch. Blocking; by one thread at a time."""
        index = next(self._numbers)
        with Repo(str(self.path)) as repo:
            tree = Tree()
            for name, text in files_of(index, kind).items():
                blob = Blob.from_string(text.encode())
                repo.object_store.add_object(blob)
                tree.add(name.encode(), FILE_MODE, blob.id)
            repo.object_store.add_object(tree)
            commit = Commit()
            commit.tree, commit.parents = tree.id, [repo.refs[BRANCH]] if self.made else []
            commit.author = commit.committer = WHO
            commit.author_time = commit.commit_time = FIRST_S + index
            commit.author_timezone = commit.commit_timezone = 0
            commit.message = f"{kind.value} {index}\n".encode()
            repo.object_store.add_object(commit)
            repo.refs[BRANCH] = commit.id
        made = Made(commit.id.decode(), index, kind, time.monotonic())
        self.made.append(made)
        return made
