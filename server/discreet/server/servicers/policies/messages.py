"""Policy revisions, pins, and what is wrong with a set, as messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from discreet.policy.codec.values import stamp_of
from discreet.policy.problems import PolicyProblems
from discreet.server.ports_policy import Origin, Pin, PolicyName, Revision, ServerRow
from discreet.v1 import common_pb2, policy_pb2

DETAILS_BYTES_MAX: Final = 6_000
"""What the details of a status may have, escaped: gRPC drops a call whose trailers are larger than 8 KiB."""


def name_message(name: PolicyName) -> common_pb2.PolicyRevision:
    """A revision without its bundle."""
    return common_pb2.PolicyRevision(number=name.number, commit=name.commit, digest=name.digest, dirty=name.dirty)


def revision_message(revision: Revision, in_force: int, servers: Iterable[ServerRow]) -> policy_pb2.RevisionRecord:
    """A published revision, with those of the servers that decide under it."""
    name, origin = revision
    message = policy_pb2.RevisionRecord(
        revision=name_message(name),
        published_at=stamp_of(name.published_at),
        in_force=name.number == in_force,
        servers=sorted(one.beat.instance for one in servers if _decides_under(one, name.number)),
    )
    if origin is not None:
        message.origin.CopyFrom(_origin_message(origin))
        message.rolled_back_to, message.reason = origin.rolled_back_to, origin.reason
    return message


def _decides_under(server: ServerRow, number: int) -> bool:
    return server.beat.policy is not None and server.beat.policy.number == number


def _origin_message(origin: Origin) -> policy_pb2.PolicyOrigin:
    return policy_pb2.PolicyOrigin(
        publisher=origin.publisher,
        source=origin.source,
        ref=origin.ref,
        author=origin.author,
        subject=origin.subject,
        committed_at=stamp_of(origin.committed_at) if origin.committed_at is not None else None,
    )


def pin_message(pin: Pin) -> policy_pb2.PolicyPin:
    """What is pinned out."""
    return policy_pb2.PolicyPin(pinned=pin.pinned, actor=pin.actor, reason=pin.reason, at=stamp_of(pin.at))


def problem_lines(problems: PolicyProblems) -> str:
    """Every problem on a line of its own; of very many, as many as a status can carry, and how many more there are."""
    lines = str(problems).split("\n")
    room, shown = DETAILS_BYTES_MAX, 0
    for line in lines:
        room -= _escaped_bytes(line)
        if room < 0:
            break
        shown += 1
    left = len(problems.problems) + problems.more - shown
    return "\n".join([*lines[:shown], f"and {left} more"] if shown < len(lines) else lines)


def _escaped_bytes(line: str) -> int:
    """How long a line and its end are in the trailers, where what is not plain ASCII takes three bytes a byte."""
    return 3 + sum(1 if 0x20 <= byte <= 0x7E and byte != 0x25 else 3 for byte in line.encode())
