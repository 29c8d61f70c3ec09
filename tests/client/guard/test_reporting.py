"""What a reader was shown is reported, so that released becomes confirmed; a report decides and raises nothing."""

from collections.abc import Callable

import grpc
import pytest

from discreet.client import Client, Reported
from discreet.client.reporting import NOTED_MAX, Shown
from discreet.v1 import disclosure_pb2
from tests.client.answers import confirmed
from tests.client.asking import PRINCIPAL, SESSION, Surface
from tests.client.guard.guarding import Guarded, answer_of, row, text_of
from tests.client.guard.test_streaming import refusing
from tests.client.scripted import Refused, ScriptedServer

Spoil = Callable[[disclosure_pb2.ReportShownResponse], object]
Kind = disclosure_pb2.ShownOutcome.Kind.ValueType
UNKNOWN = disclosure_pb2.ShownOutcome.KIND_UNKNOWN
ALREADY = disclosure_pb2.ShownOutcome.KIND_ALREADY_CONFIRMED

ODD: dict[str, Spoil] = {
    "one too few": lambda reply: reply.outcomes.pop(),
    "one too many": lambda reply: reply.outcomes.add(ledger_id="l9"),
    "another id": lambda reply: setattr(reply.outcomes[1], "ledger_id", "l9"),
    "another order": lambda reply: reply.outcomes.reverse(),
}


def test_a_report_names_reader_session_and_ids(surface: Surface, server: ScriptedServer) -> None:
    """F4: the ledger can tell what was put before whom; ids that are not there are told apart."""

    def script(
        request: disclosure_pb2.ReportShownRequest, _: grpc.ServicerContext
    ) -> disclosure_pb2.ReportShownResponse:
        reply = confirmed(request)
        reply.outcomes[1].kind = ALREADY
        reply.outcomes[2].kind = UNKNOWN
        return reply

    server.report_script = script
    found = surface.ask("report_shown", ["l1", "l2", "l3"], PRINCIPAL, SESSION)
    assert found == Reported(confirmed=("l1", "l2"), unknown=("l3",))
    (request,) = server.reports
    assert (request.principal.id, request.session_id) == (PRINCIPAL, SESSION)
    assert list(request.ledger_ids) == ["l1", "l2", "l3"]


@pytest.mark.parametrize("spoil", ODD.values(), ids=ODD.keys())
def test_an_odd_answer_confirms_nothing(surface: Surface, server: ScriptedServer, spoil: Spoil) -> None:
    """POL-03: outcomes that are not, one for one, those of the report are none."""

    def script(
        request: disclosure_pb2.ReportShownRequest, _: grpc.ServicerContext
    ) -> disclosure_pb2.ReportShownResponse:
        reply = confirmed(request)
        spoil(reply)
        return reply

    server.report_script = script
    found = surface.ask("report_shown", ["l1", "l2"], PRINCIPAL, SESSION)
    assert (found.confirmed, found.unknown, found.unsaid) == ((), (), ("l1", "l2"))
    assert found.error is not None
    assert found.error.code == "MALFORMED_ANSWER"


def test_a_kind_that_is_not_known_is_to_be_reported_again(surface: Surface, server: ScriptedServer) -> None:
    """A newer server's word counts for its own id alone, as not said."""

    def script(
        request: disclosure_pb2.ReportShownRequest, _: grpc.ServicerContext
    ) -> disclosure_pb2.ReportShownResponse:
        reply = confirmed(request)
        reply.outcomes[0].MergeFromString(bytes([2 << 3, 99]))
        return reply

    server.report_script = script
    found = surface.ask("report_shown", ["l1", "l2"], PRINCIPAL, SESSION)
    assert (found.confirmed, found.unsaid) == (("l2",), ("l1",))


def test_a_failing_sidecar_raises_nothing(surface: Surface, server: ScriptedServer) -> None:
    """POL-16: what could not be said is said again later."""

    def script(
        request: disclosure_pb2.ReportShownRequest, _: grpc.ServicerContext
    ) -> disclosure_pb2.ReportShownResponse:
        raise Refused(grpc.StatusCode.INTERNAL, "lost")

    server.report_script = script
    found = surface.ask("report_shown", ["l1"], PRINCIPAL, SESSION)
    assert (found.confirmed, found.unsaid) == ((), ("l1",))
    assert found.error is not None
    assert found.error.code == "INTERNAL"


def test_more_than_a_call_holds_is_said_in_several(server: ScriptedServer) -> None:
    """Limits: 1,000 ids a call; one past it goes in another."""
    client = Client(server.target, deadline_s=30.0)
    for count in (1_000, 1_001):
        found = client.report_shown([f"l{at}" for at in range(count)], PRINCIPAL, SESSION)
        assert len(found.confirmed) == count
    assert [len(request.ledger_ids) for request in server.reports] == [1_000, 1_000, 1]
    client.close()


def test_a_guard_reports_what_was_shown_and_nothing_else(guarded: Guarded, server: ScriptedServer) -> None:
    """F4, F13: fixed texts are nothing to report; what could not be said goes with the next report, once."""
    server.script = refusing("s1")
    for piece in guarded.stream(answer_of("s0", "s1", "s2")):
        guarded.guard.shown(piece)
    server.report_script = lambda request, _: (_ for _ in ()).throw(Refused(grpc.StatusCode.INTERNAL, "lost"))
    assert guarded.report().unsaid == ("ledger-s0", "ledger-s2")
    server.reset()
    for piece in guarded.resume([row("s0", "ledger-s0", text_of("s0")), row("s9", "ledger-s9", "more")]):
        guarded.guard.shown(piece)
    assert guarded.report().confirmed == ("ledger-s0", "ledger-s2", "ledger-s9")
    assert guarded.report() == Reported()
    assert [list(request.ledger_ids) for request in server.reports] == [["ledger-s0", "ledger-s2", "ledger-s9"]]


def test_what_is_noted_is_bounded(guarded: Guarded) -> None:
    """Limits: NOTED_MAX ids are kept; one past it, the oldest is forgotten and stays on record as released."""
    (piece,) = guarded.resume([row("s0", "l0", "text")])
    noted = Shown()
    for at in range(NOTED_MAX + 1):
        noted.note(type(piece)(f"s{at}", "text", True, type(piece.result)(f"s{at}", ledger_id=f"l{at}")))
    assert (len(noted.ledger_ids), noted.ledger_ids[0]) == (NOTED_MAX, "l1")
