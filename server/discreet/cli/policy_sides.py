"""Which two policy sets are compared: commits of a repository or folders as they lie there, as Git lets people say it.

Must know nothing of how they differ.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.cli.errors import InputError, PolicySetError
from discreet.cli.settings import Settings

if TYPE_CHECKING:
    from discreet.policy.diff import Editions
    from discreet.server.policies.commits import Commits

FOLDER = ("/", "./", "../")
"""How the name of a folder begins; `.` and `..` are folders, too. All else is a ref or a commit."""
WANTED = "write OLD..NEW, OLD...NEW, OLD (against the files as they lie there), or OLD NEW"


class Side(NamedTuple):
    """One of the two: its files, and how it is called."""

    name: str
    commit: str
    subject: str
    files: Mapping[str, bytes]

    @property
    def shown(self) -> str:
        """The name with the commit that it means."""
        if not self.commit:
            return f"{self.name} as it lies there"
        return self.name if self.commit.startswith(self.name) else f"{self.name} ({self.commit[:12]})"

    def beside(self, file: str) -> str:
        """A file of this side, named as Git names it."""
        return f"{self.name}:{file}" if self.commit else f"{self.name}/{file}"


class Names(NamedTuple):
    """The two as they were typed. `new` None: the files as they lie there. `parted`: OLD...NEW."""

    old: str
    new: str | None
    parted: bool = False


def names_of(given: Sequence[str], dirty: bool) -> Names:
    """What was typed, taken apart. Raises InputError.

    >>> names_of(["main..HEAD"], dirty=False)
    Names(old='main', new='HEAD', parted=False)
    """
    if len(given) > 2:
        raise InputError(f"{len(given)} sides", WANTED)
    ranges = [one for one in given if ".." in one and not is_folder(one)]
    if ranges and len(given) > 1:
        raise InputError(f"{ranges[0]} is a range, and stands beside something else", WANTED)
    if dirty and (ranges or len(given) > 1):
        raise InputError("--dirty stands for the new side, and there is one already", "name the old side alone")
    if ranges:
        parted = "..." in ranges[0]
        old, _, new = ranges[0].partition("..." if parted else "..")
        if ".." in new or new.startswith("."):
            raise InputError(f"{ranges[0]} is no range", WANTED)
        return Names(old, new, parted)
    return Names(given[0] if given else "", given[1] if len(given) == 2 else None)


def is_folder(name: str) -> bool:
    """Whether a name is that of a folder as it lies there."""
    return name in {".", ".."} or name.startswith(FOLDER)


def sides_of(names: Names, directory: Path, path: str) -> tuple[Side, Side]:
    """Both sides with their files. Raises InputError, PolicySetError."""
    from discreet.server.policies.commits import Commits
    from discreet.server.policies.errors import SourceRefused, SourceUnavailable

    folders = [name for name in (names.old, names.new) if name is None or is_folder(name)]
    try:
        commits = Commits(directory, path) if len(folders) < 2 else None
        old = names.old
        if names.parted and commits is not None:
            old = commits.base(names.old, names.new or "")
        return _side(commits, old, directory, path), _side(commits, names.new, directory, path)
    except SourceUnavailable as error:
        raise InputError(str(error)) from None
    except SourceRefused as error:
        raise PolicySetError(str(error)) from None


def _side(commits: "Commits | None", name: str | None, directory: Path, path: str) -> Side:
    from discreet.server.policies.tree import files_of_folder

    if name is None or is_folder(name):
        folder = directory / (path if name is None else name)
        return Side(folder.as_posix(), "", "", files_of_folder(folder))
    assert commits is not None
    read = commits.read(name)
    short = read.commit[:12] if name == read.commit else name
    return Side(short or "HEAD", read.commit, read.origin.subject, read.files)


def editions_of(settings: Settings, sides: Sequence[Side], environment: str) -> "list[Editions]":
    """Both sets compiled. Raises PolicySetError with the problems of both printed, each beside its side."""
    from discreet.cli.policy_problems import counted, print_problems, uncollected
    from discreet.policy.diff import editions
    from discreet.policy.problems import PolicyProblem, PolicyProblems

    found: list[Editions] = []
    problems: list[PolicyProblem] = []
    wrong: list[str] = []
    for side in sides:
        try:
            with uncollected():
                found.append(editions(side.files, environment))
        except PolicyProblems as error:
            problems += (replace(problem, file=side.beside(problem.file)) for problem in error.problems)
            wrong.append(f"{counted(len(error.problems) + error.more, 'problem')} in {side.shown}")
    if wrong:
        print_problems(settings, tuple(problems))
        raise PolicySetError("; ".join(wrong), "only good sets can be compared; --path says where they lie")
    return found
