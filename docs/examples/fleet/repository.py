"""The policy repository of the demo: a bare one that servers follow, and a clone in which somebody commits."""

from io import BytesIO
from pathlib import Path

from dulwich import porcelain
from dulwich.repo import Repo

AUTHOR = b"Dora <dora@marlowe.example>"
POLICIES = Path(__file__).parent / "policies"


class Repository:
    """`url` is what servers follow; `work` is where commits are made."""

    def __init__(self, place: Path) -> None:
        self.bare = place / "policies.git"
        self.work = place / "work"
        self.work.mkdir()
        Repo.init_bare(str(self.bare), mkdir=True, default_branch=b"main").close()
        self._repo = Repo.init(str(self.work), default_branch=b"main")

    @property
    def url(self) -> str:
        """The bare repository, as `--policy` and `--repo` take it."""
        return f"file://{self.bare}"

    def push_first(self) -> str:
        """Commits and pushes the policy set beside this file; returns the commit."""
        return self.push("First policy set", {file.name: file.read_text("utf-8") for file in POLICIES.glob("*.yaml")})

    def push(self, message: str, changed: dict[str, str]) -> str:
        """Writes the files, commits and pushes them; returns the commit."""
        for name, text in changed.items():
            (self.work / name).write_text(text, "utf-8")
        porcelain.add(self._repo, [str(self.work / name) for name in changed])
        made = porcelain.commit(self._repo, message=message.encode(), author=AUTHOR, committer=AUTHOR)
        porcelain.push(self._repo, str(self.bare), b"refs/heads/main", outstream=BytesIO(), errstream=BytesIO())
        return made.decode()

    def close(self) -> None:
        """Lets go of the files."""
        self._repo.close()
