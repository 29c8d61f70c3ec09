"""What the tests of policy revisions ask and wait for."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.policy.facts import Micros
from discreet.server.policies.compile import Compiled, compile_files
from discreet.server.ports_policy import Beat, Pin, Revision
from discreet.v1 import policy_pb2, server_pb2
from tests.server.support import POLICY, Running, eventually

LISTED = POLICY["sources.yaml"].replace(", listed: false", "")
BAD = "apiVersion: discreet/v1\nkind: DisclosurePolicy\nname: rules\nrules:\n  - id: x\n    efect: ALLOW\n"
FAILING_TEST = """apiVersion: discreet/v1
kind: PolicyTest
name: fails
now: 2026-01-01T00:00:00Z
cases:
  - name: says the wrong thing
    moment: PUBLISH
    principal: ana
    kind: chatter
    grounding: UNBOUND
    expect: {verdict: ALLOW}
"""


def a_set(mark: str = "") -> dict[str, str]:
    """The tests' policy set, another one for each mark."""
    return {**POLICY, "sources.yaml": f"{POLICY['sources.yaml']}# {mark}\n"} if mark else dict(POLICY)


def commit_of(mark: str) -> str:
    """A commit id of one's own."""
    return hashlib.sha1(mark.encode(), usedforsecurity=False).hexdigest()


def publish(mark: str = "", expected: int = 0, **changes: Any) -> policy_pb2.PublishRevisionRequest:
    """A publication of the set of a mark as a commit of its own."""
    return asked(a_set(mark), **{"commit": commit_of(mark), "expected_number": expected, **changes})


def asked(files: Mapping[str, str | bytes], **changes: Any) -> policy_pb2.PublishRevisionRequest:
    """A publication of these files."""
    contents = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    sent = [policy_pb2.PolicyFile(path=path, content=content) for path, content in contents.items()]
    return policy_pb2.PublishRevisionRequest(files=sent, **changes)


async def published(running: Running, request: policy_pb2.PublishRevisionRequest) -> policy_pb2.PublishRevisionResponse:
    """What the publisher is answered."""
    answer = await running.lines["publisher"].call(request)
    assert isinstance(answer, policy_pb2.PublishRevisionResponse)
    return answer


async def rolled_back(
    running: Running, number: int, *, expected: int = 0, reason: str = "it withholds too much"
) -> policy_pb2.RollbackRevisionResponse:
    """What the operator is answered."""
    answer = await running.lines.operator.call(
        policy_pb2.RollbackRevisionRequest(number=number, reason=reason, expected_number=expected)
    )
    assert isinstance(answer, policy_pb2.RollbackRevisionResponse)
    return answer


async def unpinned(running: Running, pinned: str = "", reason: str = "mended") -> list[str]:
    """What the operator took the pins of."""
    answer = await running.lines.operator.call(policy_pb2.UnpinRevisionRequest(pinned=pinned, reason=reason))
    assert isinstance(answer, policy_pb2.UnpinRevisionResponse)
    return list(answer.unpinned)


async def listed(running: Running, **fields: Any) -> policy_pb2.ListRevisionsResponse:
    """A page of revisions."""
    answer = await running.lines.auditor.call(policy_pb2.ListRevisionsRequest(**fields))
    assert isinstance(answer, policy_pb2.ListRevisionsResponse)
    return answer


async def in_force(running: Running, commit_id: str) -> server_pb2.GetStatusResponse:
    """Waits until a commit is in force."""

    async def holds() -> bool:
        return (await running.lines.operator.status()).policy.commit == commit_id

    await eventually(holds)
    return await running.lines.operator.status()


async def refused(running: Running, commit_id: str) -> server_pb2.GetStatusResponse:
    """Waits until a commit was refused."""

    async def holds() -> bool:
        return (await running.lines.operator.status()).policy_error_commit == commit_id

    await eventually(holds)
    return await running.lines.operator.status()


def compiled(mark: str = "", *, commit: bool = True) -> Compiled:
    """The set of a mark as a server compiles it; without a commit it is dirty."""
    files = {path: text.encode() for path, text in a_set(mark).items()}
    return compile_files(files, commit_of(mark) if commit else "", not commit)


def beat(instance: str, **changed: object) -> Beat:
    """What another server tells of itself."""
    plain = Beat(instance, "r", "0.1.0", 1, 60_000_000, 0, None, "", 0, None, "")
    return plain._replace(**changed)  # type: ignore[arg-type] # fields of a Beat


def numbers(revisions: Sequence[Revision]) -> list[int]:
    """Their numbers."""
    return [revision.name.number for revision in revisions]


def pinned_of(pins: Sequence[Pin]) -> list[str]:
    """What is pinned out."""
    return [pin.pinned for pin in pins]


SECOND = Micros(1_000_000)
