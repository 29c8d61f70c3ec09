"""A policy set that is not in force: a folder as it lies there, or a commit. Must not know what it is for."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.cli.errors import InputError, PolicySetError
from discreet.cli.settings import Settings

if TYPE_CHECKING:
    from discreet.server.replaying.work import Candidate


class Named(NamedTuple):
    """A candidate with its place as people call it."""

    candidate: "Candidate"
    shown: str


def candidate_of(settings: Settings, against: str, repo: Path | None, environment: str) -> Named:
    """The set, compiled once so that its problems are told at once. Raises InputError, PolicySetError.

    Without a repository what is named is a folder, if there is one, else a ref of the repository of this directory.
    """
    from discreet.server.policies.errors import SourceRefused, SourceUnavailable

    try:
        named = _read(against, repo, environment)
    except SourceUnavailable as error:
        raise InputError(f"--against {against}: {error}") from None
    except SourceRefused as error:
        raise PolicySetError(str(error)) from None
    _require_good(settings, named)
    return named


def _read(against: str, repo: Path | None, environment: str) -> Named:
    from discreet.server.policies.commits import Commits
    from discreet.server.policies.errors import SourceRefused
    from discreet.server.policies.tree import files_of_folder
    from discreet.server.replaying.work import Candidate

    if repo is None and Path(against).is_dir():
        return Named(Candidate(files_of_folder(Path(against)), dirty=True, environment=environment), against)
    try:
        commits = Commits(repo if repo is not None else Path(), "")
        commits.named(against)
    except SourceRefused as error:
        raise InputError(f"--against {against}: {error}") from None
    read = commits.read(against)
    if not read.files:
        raise InputError(f"{against}: holds no policy file there", "name the folder of the policy set with --repo")
    return Named(Candidate(read.files, read.commit, environment=environment), f"{against} ({read.commit[:12]})")


def _require_good(settings: Settings, named: Named) -> None:
    from discreet.cli.policy_problems import checked, counted, print_problems
    from discreet.policy.problems import PolicyProblems

    problems = checked(named.candidate.files).problems
    if not problems:
        try:
            named.candidate.compiled()
        except PolicyProblems as error:
            problems = error.problems
    if problems:
        print_problems(settings, problems)
        raise PolicySetError(f"{counted(len(problems), 'problem')} in {named.shown}", "nothing was replayed")
