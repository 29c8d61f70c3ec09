"""A policy repository made with Git, for the demo: files are written, committed, and nothing else."""

from importlib.resources import files
from pathlib import Path

from dulwich import porcelain
from dulwich.repo import Repo

AUTHOR = b"Dora <dora@marlowe.example>"
NAMES = ("discreet.yaml", "sources.yaml", "disclosure.yaml", "texts.yaml")


class PolicyRepository:
    """A Git repository with the demo's policy set, on the branch main."""

    def __init__(self, path: Path) -> None:
        path.mkdir()
        self.path = path
        self._repo = Repo.init(str(path), default_branch=b"main")

    def first_commit(self) -> str:
        """Commits the policy set as it is packaged; returns the commit."""
        source = files("discreet.cli.demo").joinpath("policies")
        return self.commit("First policy set", {name: source.joinpath(name).read_text("utf-8") for name in NAMES})

    def read(self, name: str) -> str:
        """A file as it stands in the work tree."""
        return (self.path / name).read_text("utf-8")

    def commit(self, message: str, changed: dict[str, str]) -> str:
        """Writes the files and commits them; returns the commit."""
        for name, text in changed.items():
            (self.path / name).write_text(text, "utf-8")
        porcelain.add(self._repo, [str(self.path / name) for name in changed])
        made = porcelain.commit(self._repo, message=message.encode(), author=AUTHOR, committer=AUTHOR)
        return made.decode()

    def close(self) -> None:
        """Lets go of the repository's files."""
        self._repo.close()
