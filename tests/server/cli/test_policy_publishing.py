"""How a publication goes on and ends, whatever the server answers: over a real channel, with answers that are given."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

from discreet.cli.connection import Line
from discreet.cli.errors import CliError, InputError, PolicySetError, PolicyTestsFailed, Refused, Unreachable
from discreet.cli.policy_publishing import FILES_BYTES_MAX, TRIES_MAX, publish, reading
from discreet.server.policies.commits import Read
from discreet.server.ports_policy import Origin
from discreet.v1 import policy_pb2 as pb
from discreet.v1.policy_pb2_grpc import PolicyServiceServicer, add_PolicyServiceServicer_to_server
from tests.server.cli.policy_folder import PolicyFolder

READ = Read("c" * 40, Origin("", "repo", "main", "Dora", "subject"), {"discreet.yaml": b"x"})
PROBLEM = 'disclosure.yaml:23:13: no effect "ALOW"; did you mean "ALLOW"?'
FAILURE = 'notes_test.yaml:9:5: test "a" fails: verdict: expected ALLOW, found WITHHOLD; mend the policy or the test'
Status = tuple[grpc.StatusCode, str]


class Answering(PolicyServiceServicer):
    """Answers with the statuses that it was given, one a call; the number in force goes up with each `quicker` call."""

    def __init__(self, *statuses: Status, quicker: int = 0) -> None:
        self.left = list(statuses)
        self.quicker = quicker
        self.number = 7
        self.expected: list[int] = []

    def ListRevisions(  # noqa: N802 - the name of the method in the .proto file
        self, request: pb.ListRevisionsRequest, context: grpc.ServicerContext
    ) -> pb.ListRevisionsResponse:
        """The number in force."""
        return pb.ListRevisionsResponse(number_in_force=self.number)

    def PublishRevision(  # noqa: N802 - the name of the method in the .proto file
        self, request: pb.PublishRevisionRequest, context: grpc.ServicerContext
    ) -> pb.PublishRevisionResponse:
        """The next status, or that it is in force."""
        self.expected.append(request.expected_number)
        if self.quicker:
            self.quicker -= 1
            self.number += 1
        if self.left:
            context.abort(*self.left.pop(0))
        return pb.PublishRevisionResponse(published=True)

    def RollbackRevision(  # noqa: N802 - the name of the method in the .proto file
        self, request: pb.RollbackRevisionRequest, context: grpc.ServicerContext
    ) -> pb.RollbackRevisionResponse:
        """Nothing."""
        return pb.RollbackRevisionResponse()

    def UnpinRevision(  # noqa: N802 - the name of the method in the .proto file
        self, request: pb.UnpinRevisionRequest, context: grpc.ServicerContext
    ) -> pb.UnpinRevisionResponse:
        """Nothing."""
        return pb.UnpinRevisionResponse()


@contextmanager
def line_to(servicer: Answering) -> Iterator[Line]:
    """A line to a server that answers so."""
    server = grpc.server(ThreadPoolExecutor(1))
    add_PolicyServiceServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            yield Line(channel, f"127.0.0.1:{port}", 30.0)
    finally:
        server.stop(None).wait()


OVERTAKEN: Status = (grpc.StatusCode.FAILED_PRECONDITION, "expected_number: revision 8 is in force, not 7")


def test_the_ref_is_read_after_the_number_and_anew_each_time() -> None:
    """F2: each try names the number that was in force before its ref was read; after five the command gives up."""
    numbers: list[int] = []
    servicer = Answering(OVERTAKEN, OVERTAKEN, quicker=2)

    def read() -> Read:
        numbers.append(servicer.number)
        return READ

    with line_to(servicer) as line:
        assert publish(line, read, dry_run=False).response.published
    assert servicer.expected == numbers == [7, 8, 9]
    servicer = Answering(*[OVERTAKEN] * TRIES_MAX, quicker=TRIES_MAX)
    with line_to(servicer) as line, pytest.raises(CliError, match="5 times another revision came into force"):
        publish(line, read, dry_run=False)
    assert len(servicer.expected) == TRIES_MAX


@pytest.mark.parametrize(
    "status, kind, said",
    [
        ((grpc.StatusCode.FAILED_PRECONDITION, f"{'c' * 40} is pinned out"), InputError, "is pinned out"),
        ((grpc.StatusCode.FAILED_PRECONDITION, "the set needs engine 9"), InputError, "the set needs engine 9"),
        ((grpc.StatusCode.INVALID_ARGUMENT, PROBLEM), PolicySetError, "refused for its problems"),
        ((grpc.StatusCode.INVALID_ARGUMENT, f"{PROBLEM}\nand 7 more"), PolicySetError, "and 7 more"),
        ((grpc.StatusCode.INVALID_ARGUMENT, f"{FAILURE}\n{PROBLEM}"), PolicySetError, "refused for its problems"),
        ((grpc.StatusCode.INVALID_ARGUMENT, FAILURE), PolicyTestsFailed, "refused for its failing tests"),
        ((grpc.StatusCode.INVALID_ARGUMENT, "files: are too large together"), InputError, "files: are too large"),
        ((grpc.StatusCode.PERMISSION_DENIED, "PublishRevision: is for publishers"), Refused, "is for publishers"),
        ((grpc.StatusCode.UNAVAILABLE, "stopping"), Unreachable, "whether it came into force is not known"),
        ((grpc.StatusCode.DEADLINE_EXCEEDED, ""), Unreachable, "whether it came into force is not known"),
    ],
)
def test_what_the_server_says_becomes_who_must_act(status: Status, kind: type[CliError], said: str) -> None:
    """E3: every refusal ends the command at once, as the error of the party that must act, with what to do."""
    servicer = Answering(status)
    with line_to(servicer) as line, pytest.raises(kind, match=said):
        publish(line, lambda: READ, dry_run=False)
    assert servicer.expected == [7]


def test_a_dry_run_has_no_unknown_outcome() -> None:
    """E3: whatever became of the call, nothing came into force by it."""
    with (
        line_to(Answering((grpc.StatusCode.UNAVAILABLE, "stopping"))) as line,
        pytest.raises(Unreachable, match="no answer from"),
    ):
        publish(line, lambda: READ, dry_run=True)


def test_a_set_that_cannot_be_sent_is_refused_before_it_is(tmp_path: Path) -> None:
    """E3: more than a call holds is said with the bound, and with the way that has none."""
    folder = PolicyFolder(tmp_path / "repo")
    for number in range(4):
        (folder.policies / f"more-{number}.yaml").write_text("#" * (FILES_BYTES_MAX // 4))
    folder.commit("Large")
    with reading(str(folder.policies), "", "") as read, pytest.raises(PolicySetError) as refused:
        read()
    assert f"at most 1000 files and {FILES_BYTES_MAX} bytes can be sent; let a server follow the ref" in str(
        refused.value
    )
    folder.close()
