"""A Git repository of a policy set that tests change and commit, and the set that it begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from dulwich import porcelain
from dulwich.refs import Ref
from dulwich.repo import Repo

from discreet.policy.starter import starter_files

AUTHOR = b"Dora <dora@marlowe.example>"


class PolicyFolder:
    """A repository whose `policies` hold the set that `policy init` writes, committed once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.policies = root / "policies"
        self.policies.mkdir(parents=True)
        for name, data in starter_files().items():
            (self.policies / name).write_bytes(data)
        self.repo = Repo.init(str(root), default_branch=b"main")

    @classmethod
    def begun(cls, root: Path) -> Self:
        """One with its first commit."""
        folder = cls(root)
        folder.commit("First policy set")
        return folder

    def change(self, old: str, new: str, file: str = "disclosure.yaml") -> None:
        """Replaces a piece of a file once."""
        text = (self.policies / file).read_text()
        assert old in text
        (self.policies / file).write_text(text.replace(old, new, 1))

    def commit(self, message: str) -> str:
        """Commits all files as they lie there; returns the commit."""
        porcelain.add(self.repo, [str(path) for path in self.policies.rglob("*") if path.is_file()])
        return porcelain.commit(self.repo, message=message.encode(), author=AUTHOR, committer=AUTHOR).decode()

    def branch(self, name: str) -> None:
        """Goes on on a new branch."""
        porcelain.branch_create(self.repo, name)
        self.go_on(name)

    def go_on(self, name: str) -> None:
        """Goes on on a branch that there is; the files stay as they lie there."""
        self.repo.refs.set_symbolic_ref(Ref(b"HEAD"), Ref(f"refs/heads/{name}".encode()))

    def tag(self, name: str) -> None:
        """Tags the commit in hand."""
        self.repo.refs[Ref(f"refs/tags/{name}".encode())] = self.repo.head()

    def close(self) -> None:
        """Lets go of the repository's files."""
        self.repo.close()
