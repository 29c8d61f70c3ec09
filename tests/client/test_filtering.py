"""A retriever's candidates are let through in order, with receipts, however many there are."""

from dataclasses import dataclass

import grpc
import pytest

from discreet.client import Binding, Consistency, Segment
from discreet.client.encode import REQUEST_BYTES_MAX, SEGMENTS_PER_CALL_MAX
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, check_response, refuse, well_formed
from tests.client.asking import RECORD_DIGEST, Surface, binding, segments
from tests.client.scripted import Refused, ScriptedServer


@dataclass(frozen=True)
class Chunk:
    """What a retriever found."""

    record_id: str
    text: str = "text"


def _key(chunk: Chunk) -> Binding:
    return Binding(chunk.record_id, "v1", RECORD_DIGEST, locator="chunk 3")


def _odd_ones_refused(request: Request, _: grpc.ServicerContext) -> Reply:
    assert isinstance(request, disclosure_pb2.CheckRequest)
    reply = check_response(request)
    for segment, result in zip(request.segments, reply.results, strict=True):
        if segment.bindings[0].record_id.endswith("odd"):
            refuse(result, common_pb2.REASON_NOT_AVAILABLE)
    return reply


def test_what_is_allowed_comes_through_in_order_with_receipt_and_token(
    surface: Surface, server: ScriptedServer
) -> None:
    """B1, B4, B12: kept candidates carry what their segments must show at PUBLISH; the rest is held back."""
    server.script = _odd_ones_refused
    found = [Chunk("a"), Chunk("b-odd"), Chunk("c"), Chunk("a")]
    kept = surface.filter(found, _key)
    assert [one.candidate.record_id for one in kept] == ["a", "c", "a"]
    assert len(kept) == 3
    assert [one.receipt for one in kept] == ["receipt-0-0", "receipt-2-0", "receipt-3-0"]
    assert {one.binding.granted_under for one in kept} == {"epoch.7.1"}
    assert kept.kept[0].binding.locator == "chunk 3"
    assert [(chunk.record_id, result.reason.name) for chunk, result in kept.withheld] == [("b-odd", "NOT_AVAILABLE")]
    assert kept.text == ""


def test_where_nothing_comes_through_there_is_a_text_to_show(surface: Surface, server: ScriptedServer) -> None:
    """A12, A17: everything withheld, or nothing found, is said in fixed words."""
    server.script = _odd_ones_refused
    assert surface.filter([Chunk("odd")], _key).text == "The policy's own text."
    assert surface.filter([], _key).text == "This is not available."
    assert surface.filter([], _key, locale="zh-Hans").text == "此内容不可用。"
    assert len(server.asked) == 1


def test_a_key_that_gives_no_binding_is_the_callers_error(surface: Surface) -> None:
    """POL-16: wrong arguments are told at once."""
    with pytest.raises(TypeError, match="candidate 0"):
        surface.ask("filter", [Chunk("a")], key=lambda chunk: "a", principal="ana", session_id="session-1")


def test_twenty_thousand_candidates_are_asked_about_in_calls_of_a_thousand(
    surface: Surface, server: ScriptedServer
) -> None:
    """RPC-01: no call exceeds the API's number of segments, and every candidate gets its own answer."""
    server.script = _odd_ones_refused
    found = [Chunk(f"{at}-{'odd' if at % 2 else 'even'}") for at in range(20_000)]
    kept = surface.filter(found, _key, deadline_s=60.0)
    assert [one.candidate for one in kept] == found[::2]
    assert len(kept.withheld) == 10_000
    sizes = [len(request.segments) for request in server.asked]
    assert sizes == [SEGMENTS_PER_CALL_MAX] * 20


@pytest.mark.parametrize("count", [SEGMENTS_PER_CALL_MAX, SEGMENTS_PER_CALL_MAX + 1])
def test_the_number_of_calls_follows_the_limit(surface: Surface, server: ScriptedServer, count: int) -> None:
    """RPC-01: at the limit one call, one past it two."""
    assert len(surface.retrieve(segments(count), deadline_s=30.0)) == count
    assert len(server.asked) == -(-count // SEGMENTS_PER_CALL_MAX)
    assert len(surface.commit(segments(count), deadline_s=30.0)) == count
    assert len(surface.replay([f"l{at}" for at in range(count)], deadline_s=30.0)) == count


def test_large_messages_are_split_below_the_servers_limit(surface: Surface, server: ScriptedServer) -> None:
    """RPC-01: segments that together exceed a message go in several, whole and in order."""
    wide = [
        Segment(
            f"s{at}",
            digest="0" * 64,
            bindings=tuple(Binding("r" * 512, f"{at}-{place}", RECORD_DIGEST, "l" * 256) for place in range(32)),
        )
        for at in range(300)
    ]
    answer = surface.commit(wide, deadline_s=30.0)
    assert all(result.allowed for result in answer)
    assert len(server.asked) > 1
    assert all(request.ByteSize() <= REQUEST_BYTES_MAX for request in server.asked)


def test_one_oversized_segment_is_withheld_and_takes_nothing_with_it(surface: Surface, server: ScriptedServer) -> None:
    """RPC-01, B4: what no message can carry is refused by the server, and the rest is answered."""
    huge = Segment("huge", bindings=(Binding("r" * 5_000_000, "v1", RECORD_DIGEST),))
    answer = surface.retrieve([*segments(2), huge])
    assert [result.allowed for result in answer] == [True, True, False]
    assert answer.error is not None
    assert answer.error.code == "RESOURCE_EXHAUSTED"


def test_answers_over_grpcs_default_size_are_read(surface: Surface, server: ScriptedServer) -> None:
    """RPC-01: an answer to many bindings is larger than 4 MiB and is read all the same."""
    label = "l" * 6_000

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        assert isinstance(reply, disclosure_pb2.CheckResponse)
        for result in reply.results:
            result.evidence[0].source_label = label
        return reply

    server.script = script
    assert all(result.allowed for result in surface.retrieve(segments(1_000), deadline_s=30.0))


def test_one_failing_call_of_a_split_question_withholds_its_own_part(surface: Surface, server: ScriptedServer) -> None:
    """B4, POL-16: the calls of a question fail one by one."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        if any(segment.id == "s0" for segment in request.segments):
            raise Refused(grpc.StatusCode.RESOURCE_EXHAUSTED, "later")
        return well_formed(request)

    server.script = script
    answer = surface.retrieve(segments(1_500), deadline_s=30.0)
    assert [result.allowed for result in answer] == [False] * 1_000 + [True] * 500
    assert [failure.code for failure in answer.errors] == ["RESOURCE_EXHAUSTED"]
    assert answer.token == "epoch.7.1"


def test_a_question_that_outlasts_its_deadline_withholds_what_was_not_asked(
    surface_kind: str, server: ScriptedServer
) -> None:
    """POL-16, A12: the deadline is the whole question's; calls it leaves no time for are not made."""
    now = [100.0]

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        now[0] += 8.0
        return well_formed(request)

    server.script = script
    surface = Surface(surface_kind, server.target, clock=lambda: now[0])
    answer = surface.retrieve(segments(2_500), deadline_s=16.0)
    assert [result.allowed for result in answer] == [True] * 2_000 + [False] * 500
    assert [failure.code for failure in answer.errors] == ["DEADLINE_EXCEEDED"]
    assert len(server.asked) == 2
    surface.close()


def test_earlier_facts_are_asked_for_where_the_caller_says_so_and_at_retrieve_alone(
    surface: Surface, server: ScriptedServer
) -> None:
    """E6: left out, the field is not sent; before anything is shown it is refused, and nothing is asked."""
    surface.retrieve(segments(1))
    surface.retrieve(segments(1), consistency=Consistency.AUTHORITATIVE)
    surface.retrieve(segments(1), consistency=Consistency.BOUNDED)
    sent = [request.consistency for request in server.asked if isinstance(request, disclosure_pb2.CheckRequest)]
    assert sent == [0, 0, common_pb2.CONSISTENCY_BOUNDED]
    with pytest.raises(ValueError, match="consistency BOUNDED is for retrieve"):
        surface.commit(segments(1), consistency=Consistency.BOUNDED)
    with pytest.raises(ValueError, match="consistency BOUNDED is for retrieve"):
        surface.replay(["l-1"], consistency=Consistency.BOUNDED)
    assert len(server.asked) == 3


def test_bindings_and_options_arrive_as_they_were_said(surface: Surface, server: ScriptedServer) -> None:
    """B2, A15: the request holds what the caller said, and nothing that is derived."""
    said = Segment("s0", "quote", bindings=(binding(),))
    surface.retrieve([said], tenant="acme", need_numbers=True, need_advice=True, min_token="t", locale="zh-Hans")
    request = server.asked[0]
    assert isinstance(request, disclosure_pb2.CheckRequest)
    assert (request.tenant, request.min_token, request.locale) == ("acme", "t", "zh-Hans")
    assert (request.need_numbers, request.need_advice) == (True, True)
    assert request.moment == common_pb2.MOMENT_RETRIEVE
    assert request.principal.id == "ana"
    assert request.segments[0].kind == "quote"
    assert request.segments[0].bindings[0].digest == RECORD_DIGEST
    assert request.segments[0].grounding == common_pb2.GROUNDING_BOUND
