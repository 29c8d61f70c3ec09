"""Says which committed segments a reader was shown, so that the ledger has them as confirmed, not only as released.

It decides nothing and permits nothing: where it fails, the segments stay on record as released, and may be reported
again. The conversation with the server is here, without the line; it does no I/O.
"""

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from discreet.client.decode import MALFORMED
from discreet.client.draft import Piece
from discreet.client.encode import SEGMENTS_PER_CALL_MAX, Asking, shown_requests
from discreet.client.result import Clock, Failure
from discreet.client.talk import TIME_LEFT_MIN_S, Ask, Method, Reply
from discreet.v1 import disclosure_pb2

# What a guard notes until it is reported; of more, the oldest are forgotten and stay released.
NOTED_MAX = SEGMENTS_PER_CALL_MAX
_ON_RECORD = frozenset({disclosure_pb2.ShownOutcome.KIND_CONFIRMED, disclosure_pb2.ShownOutcome.KIND_ALREADY_CONFIRMED})

ReportTalk: TypeAlias = Generator[Ask, Reply, "Reported"]


@dataclass(frozen=True, slots=True)
class Reported:
    """What became of a report: ids on record as shown, ids that name nothing of this reader, ids to report again."""

    confirmed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    unsaid: tuple[str, ...] = ()
    error: Failure | None = None


def report(asked: Asking, ledger_ids: Iterable[str], clock: Clock) -> ReportTalk:
    """The report, in calls of the size that the API allows; each fails alone."""
    ends_at = clock() + asked.deadline_s
    reported = Reported()
    for request in shown_requests(asked, ledger_ids):
        left_s = ends_at - clock()
        reply: Reply = Failure("DEADLINE_EXCEEDED", "no time was left to say it")
        if left_s >= TIME_LEFT_MIN_S:
            reply = yield Ask(Method.REPORT_SHOWN, request, left_s)
        reported = _together(reported, _judged(tuple(request.ledger_ids), reply))
    return reported


def _judged(ledger_ids: tuple[str, ...], reply: Reply) -> Reported:
    if isinstance(reply, Failure):
        return Reported(unsaid=ledger_ids, error=reply)
    if not isinstance(reply, disclosure_pb2.ReportShownResponse):
        return Reported(unsaid=ledger_ids, error=Failure(MALFORMED, "the answer is to another method"))
    if [outcome.ledger_id for outcome in reply.outcomes] != list(ledger_ids):
        return Reported(unsaid=ledger_ids, error=Failure(MALFORMED, "outcomes: not those that were reported, in order"))
    kinds = {outcome.ledger_id: outcome.kind for outcome in reply.outcomes}
    confirmed = tuple(name for name in ledger_ids if kinds[name] in _ON_RECORD)
    unknown = tuple(name for name in ledger_ids if kinds[name] == disclosure_pb2.ShownOutcome.KIND_UNKNOWN)
    unsaid = tuple(name for name in ledger_ids if name not in {*confirmed, *unknown})
    odd = Failure(MALFORMED, "outcomes: a kind that is unset or not known to this client") if unsaid else None
    return Reported(confirmed, unknown, unsaid, odd)


def _together(first: Reported, second: Reported) -> Reported:
    return Reported(
        first.confirmed + second.confirmed,
        first.unknown + second.unknown,
        first.unsaid + second.unsaid,
        first.error or second.error,
    )


class Shown:
    """The pieces that a consumer put before its reader and that were not reported yet."""

    def __init__(self) -> None:
        self._ledger_ids: dict[str, None] = {}

    def note(self, piece: Piece) -> None:
        """Notes a piece whose text was shown; a fixed text is nothing to report."""
        if piece.allowed and piece.ledger_id:
            self._ledger_ids[piece.ledger_id] = None
            if len(self._ledger_ids) > NOTED_MAX:
                del self._ledger_ids[next(iter(self._ledger_ids))]

    @property
    def ledger_ids(self) -> tuple[str, ...]:
        """What to report now."""
        return tuple(self._ledger_ids)

    def settle(self, reported: Reported) -> None:
        """Forgets what was said; what could not be said is kept for the next report."""
        for ledger_id in (*reported.confirmed, *reported.unknown):
            self._ledger_ids.pop(ledger_id, None)
