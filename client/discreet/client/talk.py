"""A question's conversation with the server, without the line: what to ask next, how long to wait, when to stop.

Both clients drive these generators, one with threads and one with asyncio, so that they cannot differ. Each step is an
Ask, answered with a message or a Failure, or a Pause. This module knows no channel and does no I/O.
"""

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from discreet.client.decode import MALFORMED, Decoded, Frame, decode, withheld
from discreet.client.encode import Asking, Batch
from discreet.client.levels import ServerLevel
from discreet.client.result import CALLER_FAULTS, Answer, Clock, Failure, Result
from discreet.client.words import Moment
from discreet.v1 import disclosure_pb2, server_pb2

# How often one commit is asked, whatever time is left.
COMMIT_ATTEMPTS_MAX = 8
# Before a commit is repeated; doubled each time.
COMMIT_PAUSE_S = 0.05
# Below this, no call is worth starting.
TIME_LEFT_MIN_S = 0.001

_log = logging.getLogger("discreet.client")

Request: TypeAlias = (
    disclosure_pb2.CheckRequest
    | disclosure_pb2.CommitRequest
    | disclosure_pb2.ReportShownRequest
    | server_pb2.GetServerInfoRequest
)
Response: TypeAlias = (
    disclosure_pb2.CheckResponse
    | disclosure_pb2.CommitResponse
    | disclosure_pb2.ReportShownResponse
    | server_pb2.GetServerInfoResponse
)


class Method(Enum):
    """What is called."""

    CHECK = "Check"
    COMMIT = "Commit"
    REPORT_SHOWN = "ReportShown"
    SERVER_INFO = "GetServerInfo"


@dataclass(frozen=True, slots=True)
class Ask:
    """One call, answered with the response or with why there is none."""

    method: Method
    request: Request
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Pause:
    """Let that much time pass."""

    seconds: float


Reply: TypeAlias = Response | Failure | None
Talk: TypeAlias = Generator[Ask | Pause, Reply, Answer]
Step: TypeAlias = Generator[Ask | Pause, Reply, tuple[Response | Failure, float]]


def question(method: Method, asked: Asking, batches: Sequence[Batch], clock: Clock, level: ServerLevel) -> Talk:
    """The answer to a question, whatever happens: each call of it fails alone, and into WITHHOLD."""
    ends_at = clock() + asked.deadline_s
    if level.wanted:
        info = yield Ask(Method.SERVER_INFO, server_pb2.GetServerInfoRequest(), asked.deadline_s)
        level.learn(info.api_level if isinstance(info, server_pb2.GetServerInfoResponse) else 0)
    results: list[Result] = []
    errors: list[Failure] = []
    last: disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse | None = None
    request_ids: list[str] = []
    ask = _repeated if method is Method.COMMIT else _once
    for batch in batches:
        level.fit(batch.request)
        response, asked_at = yield from ask(method, batch, ends_at, clock)
        decoded = _judge(asked, batch, response, asked_at, clock, advice=_is_advice(method, batch))
        results.extend(decoded.results)
        if decoded.failure is not None:
            errors.append(decoded.failure)
            _report(method, decoded.failure)
        if isinstance(response, disclosure_pb2.CheckResponse | disclosure_pb2.CommitResponse):
            last = response
            request_ids.append(response.request_id)
    head = last or disclosure_pb2.CheckResponse()
    return Answer(
        results=tuple(results),
        token=head.token,
        policy_revision=head.policy.number,
        policy_commit=head.policy.commit,
        instance=head.instance,
        request_ids=tuple(request_ids),
        errors=tuple(errors),
    )


def _is_advice(method: Method, batch: Batch) -> bool:
    return method is Method.CHECK and batch.moment is Moment.PUBLISH


def _judge(
    asked: Asking, batch: Batch, response: Response | Failure, asked_at: float, clock: Clock, *, advice: bool
) -> Decoded:
    frame = Frame(batch, asked.locale, asked_at, clock, advice, asked.need_numbers)
    if isinstance(response, Failure):
        return withheld(frame, response)
    due = (
        disclosure_pb2.CheckResponse
        if isinstance(batch.request, disclosure_pb2.CheckRequest)
        else disclosure_pb2.CommitResponse
    )
    if not isinstance(response, due):
        return withheld(frame, Failure(MALFORMED, "the answer is to another method"))
    return decode(frame, response)


def _once(method: Method, batch: Batch, ends_at: float, clock: Clock) -> Step:
    """One call. A repetition of an unavailable one, which changes nothing, is the channel's."""
    asked_at = clock()
    if ends_at - asked_at < TIME_LEFT_MIN_S:
        return Failure("DEADLINE_EXCEEDED", "no time was left to ask"), asked_at
    reply = yield Ask(method, batch.request, ends_at - asked_at)
    return _answered(reply), asked_at


def _repeated(method: Method, batch: Batch, ends_at: float, clock: Clock) -> Step:
    """A commit, asked again within the deadline while its outcome is unknown.

    That is safe: a commit is known by tenant, session, answer and segment, and a repeated one answers with a fresh
    verdict.
    """
    pause_s = COMMIT_PAUSE_S
    response, asked_at = yield from _once(method, batch, ends_at, clock)
    for _ in range(COMMIT_ATTEMPTS_MAX - 1):
        unknown = isinstance(response, Failure) and response.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
        if not unknown or ends_at - clock() <= pause_s + TIME_LEFT_MIN_S:
            break
        yield Pause(pause_s)
        pause_s *= 2
        response, asked_at = yield from _once(method, batch, ends_at, clock)
    return response, asked_at


def _answered(reply: Reply) -> Response | Failure:
    return Failure(MALFORMED, "no answer") if reply is None else reply


def _report(method: Method, failure: Failure) -> None:
    """Logs loudly what someone must mend: a fault of the caller, or of the server's making."""
    if failure.code in CALLER_FAULTS:
        _log.warning("%s was refused and counts as WITHHOLD: %s", method.value, failure)
    elif failure.code == MALFORMED:
        _log.warning("%s gave an answer that no client may trust; it counts as WITHHOLD: %s", method.value, failure)
    else:
        _log.info("%s failed and counts as WITHHOLD: %s", method.value, failure)
