"""One commit published: the number in force read first, then the ref, again from there where another one was quicker.

So no commit comes into force over one whose ref was read later, whoever else publishes. Knows nothing of printing.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.cli.errors import (
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    CliError,
    InputError,
    PolicySetError,
    PolicyTestsFailed,
    Unreachable,
)
from discreet.cli.printing import note
from discreet.cli.settings import DEADLINE_S, Settings

if TYPE_CHECKING:
    from discreet.cli.connection import Line
    from discreet.server.policies.commits import Read
    from discreet.v1.policy_pb2 import PublishRevisionRequest, PublishRevisionResponse

TRIES_MAX = 5
COMPILE_DEADLINE_S = 60.0
FILES_MAX = 1_000
FILES_BYTES_MAX = 3 * 1024 * 1024
"""As PublishRevision takes them; a larger set is followed by a server."""
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_PLACED = re.compile(r"[^\n]+:\d+:\d+: ")
_TEST = re.compile(r"[^\n]+:\d+:\d+: test ")
UNKNOWN_OUTCOME = "whether it came into force is not known; see `discreet policy revisions`"

Reading = Callable[[], "Read"]
"""Reads the ref anew, and the files of the commit that it names then."""


class Published(NamedTuple):
    """What was asked for, and what came of it."""

    request: "PublishRevisionRequest"
    response: "PublishRevisionResponse"


@contextmanager
def reading(repo: str, ref: str, path: str) -> Iterator[Reading]:
    """How a ref of a repository is read, as often as it takes. What is fetched is thrown away at the end."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="discreet-") as clones:
        yield lambda: _read(repo, ref, path, Path(clones))


def _read(repo: str, ref: str, path: str, clones: Path) -> "Read":
    """The commit with its files. Raises InputError, PolicySetError; no message holds credentials."""
    from discreet.server.policies.commits import Commits
    from discreet.server.policies.errors import SourceRefused, SourceUnavailable
    from discreet.server.policies.origin import without_credentials

    if not _URL.match(repo) and not Path(repo).is_dir():
        raise InputError(
            f"--repo {without_credentials(repo)}: is no directory", "name one, or a URL with https:// or file://"
        )
    try:
        found = _fetched(repo, ref, path, clones) if _URL.match(repo) else Commits(Path(repo), path).read(ref)
    except SourceUnavailable as error:
        raise InputError(str(error)) from None
    except SourceRefused as error:
        raise PolicySetError(str(error).replace("--policy:", "--repo:")) from None
    size = sum(map(len, found.files.values()))
    if len(found.files) > FILES_MAX or size > FILES_BYTES_MAX:
        most = f"at most {FILES_MAX} files and {FILES_BYTES_MAX} bytes can be sent"
        raise PolicySetError(
            f"the set has {len(found.files)} files and {size} bytes; {most}",
            "let a server follow the ref: discreet serve --policy URL --ref REF",
        )
    return found


def _fetched(url: str, ref: str, path: str, clones: Path) -> "Read":
    from discreet.server.config import ServerConfig
    from discreet.server.policies.commits import Read
    from discreet.server.policies.sources import source_of

    source = source_of(ServerConfig(policy=url, ref=ref, policy_path=path, state_dir=clones))
    target = source.resolve()
    return Read(target.commit, target.origin, source.files(target))


def publish(line: "Line", read: Reading, *, dry_run: bool) -> Published:
    """Publishes what the ref names, begun again where another revision came into force meanwhile. Raises CliError."""
    for _ in range(TRIES_MAX):
        expected = number_in_force(line)
        request = _request(read(), expected, dry_run=dry_run)
        try:
            return Published(request, _call(line, request))
        except CliError as error:
            if error.status != FAILED_PRECONDITION:
                raise
            now = number_in_force(line)
            if now == expected:
                raise
            note(f"revision {now} came into force meanwhile; reading the ref again")
    raise CliError(
        f"{TRIES_MAX} times another revision came into force while the ref was read",
        "see who publishes with `discreet policy revisions`, and try again",
    )


def patient(settings: Settings) -> Settings:
    """The settings with time enough for the server to compile a set and run its tests, unless the user gave another."""
    given = settings.deadline_s != DEADLINE_S
    return settings if given else replace(settings, deadline_s=COMPILE_DEADLINE_S)


def number_in_force(line: "Line") -> int:
    """The number of the revision in force; 0: none."""
    from discreet.v1.policy_pb2 import ListRevisionsRequest
    from discreet.v1.policy_pb2_grpc import PolicyServiceStub

    return line.call(PolicyServiceStub(line.channel).ListRevisions, ListRevisionsRequest(page_size=1)).number_in_force


def _request(read: "Read", expected: int, *, dry_run: bool) -> "PublishRevisionRequest":
    from discreet.v1.policy_pb2 import PolicyFile, PolicyOrigin, PublishRevisionRequest

    origin = read.origin
    message = PolicyOrigin(source=origin.source, ref=origin.ref, author=origin.author, subject=origin.subject)
    if origin.committed_at is not None:
        message.committed_at.FromMicroseconds(origin.committed_at)
    return PublishRevisionRequest(
        files=[PolicyFile(path=path, content=read.files[path]) for path in sorted(read.files)],
        commit=read.commit,
        origin=message,
        expected_number=expected,
        dry_run=dry_run,
    )


def _call(line: "Line", request: "PublishRevisionRequest") -> "PublishRevisionResponse":
    from discreet.v1.policy_pb2_grpc import PolicyServiceStub

    try:
        return line.call(PolicyServiceStub(line.channel).PublishRevision, request)
    except Unreachable as error:
        if request.dry_run:
            raise
        raise Unreachable(error.message, UNKNOWN_OUTCOME) from None
    except InputError as error:
        if error.status != INVALID_ARGUMENT or not _PLACED.match(error.message):
            raise
        raise _refused(error.message, request.commit) from None


def _refused(problems: str, commit: str) -> CliError:
    """The problems of a set, or the tests of it that fail, as lines of their own beneath what became of it."""
    lines = problems.split("\n")
    only_tests = all(_TEST.match(line) for line in lines if _PLACED.match(line))
    kind = PolicyTestsFailed if only_tests else PolicySetError
    what = "failing tests" if only_tests else "problems"
    return kind("\n".join([f"commit {commit[:12]} was refused for its {what}; nothing of it is in force", *lines]))
