"""WaitForServers, and the servers of a database as messages."""

from __future__ import annotations

import asyncio

from discreet.policy.codec import Malformed
from discreet.policy.codec.values import stamp_of
from discreet.policy.facts import Micros
from discreet.policy.token import BadToken, Token, decode, encode
from discreet.server.calls import Call
from discreet.server.errors import Precondition
from discreet.server.fleet.waiting import Standing, Waiting
from discreet.server.ports import Head
from discreet.server.ports_policy import ServerRow
from discreet.server.reading.heads import SharedHeads
from discreet.v1 import common_pb2
from discreet.v1 import server_pb2 as pb

TIMEOUT_MS = 10_000
"""How long a wait takes at most where it is not told."""
TIMEOUT_MS_MAX = 60_000
_STANDING = {
    Standing.GIVEN: pb.ACKNOWLEDGEMENT_GIVEN,
    Standing.LEASE_RAN_OUT: pb.ACKNOWLEDGEMENT_LEASE_RAN_OUT,
    Standing.PENDING: pb.ACKNOWLEDGEMENT_PENDING,
}


class Servers:
    """Answers WaitForServers."""

    def __init__(self, waiting: Waiting, heads: SharedHeads, timeout_s: float) -> None:
        self._waiting = waiting
        self._heads = heads
        self._timeout_s = timeout_s

    async def wait_for_servers(self, call: Call, request: pb.WaitForServersRequest) -> pb.WaitForServersResponse:
        """How far the servers are, once all are or the time is over.

        Raises Malformed, Precondition for a token of another database or ahead of it, TooMuch, Unavailable.
        """
        token, limit_s = _asked(request)
        async with asyncio.timeout(call.time_left_s(self._timeout_s)):
            head = await self._heads.read()
        _require(head, token)
        waited = await self._waiting.until_safe(token, call.time_left_s(limit_s))
        return pb.WaitForServersResponse(
            reached=waited.reached,
            servers=[
                state_message(head.epoch, waited.now, row, _STANDING[standing]) for row, standing in waited.servers
            ],
            waited_ms=waited.waited_us // 1_000,
        )


def _asked(request: pb.WaitForServersRequest) -> tuple[Token, float]:
    if not request.token:
        raise Malformed("token", "is missing", "give the token that a change was answered with")
    if request.timeout_ms > TIMEOUT_MS_MAX:
        raise Malformed("timeout_ms", f"is above {TIMEOUT_MS_MAX:,}", "wait again where that is not enough")
    try:
        token = decode(request.token)
    except BadToken as error:
        raise Malformed("token", str(error)) from None
    return token, (request.timeout_ms or TIMEOUT_MS) / 1_000


def _require(head: Head, token: Token) -> None:
    """Raises Precondition where a token names another database or a state that this one has not reached."""
    if token.epoch != head.epoch:
        raise Precondition("token: is of another database; give one that this database answered with")
    if token.seq > head.seq or token.policy_revision > head.policy_revision:
        raise Precondition("token: is ahead of the database; was it restored from an older copy?")


def state_message(
    epoch: str,
    now: Micros,
    row: ServerRow,
    acknowledgement: pb.Acknowledgement.ValueType = pb.ACKNOWLEDGEMENT_UNSPECIFIED,
) -> pb.ServerState:
    """A server as the database knows it."""
    beat, policy = row.beat, row.beat.policy
    state = pb.ServerState(
        instance=beat.instance,
        version=beat.version,
        live=row.live(now),
        token=encode(Token(epoch, beat.acked_seq, policy.number if policy is not None else 0)),
        environment=beat.environment,
        policy_lag_ms=beat.lag // 1_000,
        problem=beat.problem,
        started_at=stamp_of(row.started_at),
        seen_at=stamp_of(row.seen_at),
        lease_ms=beat.lease // 1_000,
        ended=beat.ended,
        acknowledgement=acknowledgement,
    )
    if policy is not None:
        state.policy.CopyFrom(
            common_pb2.PolicyRevision(
                number=policy.number, commit=policy.commit, digest=policy.digest, dirty=policy.dirty
            )
        )
    return state
