"""Text is held back until its commit, and leaves whole or not at all."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from discreet.client import Grounding, Verdict, digest
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, commit_response, refuse_entry
from tests.client.asking import Surface, binding
from tests.client.scripted import Refused, ScriptedServer

CHUNKS = [f"chunk {at} of the answer. " for at in range(6)]
REFUSED_TEXT = "The policy's own text."


class Hand:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 1_000.0

    def __call__(self) -> float:
        return self.seconds


def _refusing(*segment_ids: str) -> Callable[[Request, grpc.ServicerContext], Reply]:
    """A script that commits all but the segments named."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        for entry in reply.results:
            if entry.result.segment_id in segment_ids:
                refuse_entry(entry, common_pb2.REASON_SUPERSEDED)
        return reply

    return script


def test_nothing_leaves_before_the_commit_and_a_refused_chunk_never_does(
    surface: Surface, server: ScriptedServer
) -> None:
    """DSC-01, B3, B4, B6, B10, F13: of six chunks the fifth is refused; in its place stands the fixed text."""
    server.script = _refusing("s5")
    with surface.publishing() as out:
        for chunk in CHUNKS:
            out.add(chunk, [binding()])
        assert server.asked == []
    assert len(server.asked) == 1
    request = server.asked[0]
    assert isinstance(request, disclosure_pb2.CommitRequest)
    assert [segment.digest for segment in request.segments] == [digest(chunk) for chunk in CHUNKS]
    pieces = list(out.committed())
    assert [piece.text for piece in pieces] == [*CHUNKS[:4], REFUSED_TEXT, CHUNKS[5]]
    assert [piece.allowed for piece in pieces] == [True] * 4 + [False, True]
    assert pieces[0].ledger_id == "ledger-s1"
    assert pieces[4].ledger_id == ""
    assert list(out.committed()) == []
    assert len(server.asked) == 1


def test_windows_leave_one_by_one_each_after_its_own_commit(surface: Surface, server: ScriptedServer) -> None:
    """F13, DSC-01: taken inside the context, a window is committed before its text is handed out."""
    shown: list[str] = []
    with surface.publishing() as out:
        for at in range(0, 6, 2):
            out.add(CHUNKS[at], [binding()])
            out.add(CHUNKS[at + 1], [binding()])
            commits = len(server.asked)
            for piece in out.committed():
                assert len(server.asked) == commits + 1
                shown.append(piece.text)
    assert shown == CHUNKS
    assert [len(request.segments) for request in server.asked] == [2, 2, 2]


def test_an_answer_that_ends_with_an_error_publishes_nothing(surface: Surface, server: ScriptedServer) -> None:
    """DSC-01, F13: half an answer never leaves: it is neither committed nor handed out."""
    out = surface.publishing()
    with pytest.raises(KeyError), out:
        out.add(CHUNKS[0], [binding()])
        raise KeyError("the model failed")
    assert server.asked == []
    with pytest.raises(RuntimeError, match="ended with an error"):
        list(out.committed())
    with pytest.raises(RuntimeError, match="closed"):
        out.add(CHUNKS[1])


def test_a_sidecar_that_fails_lets_no_text_out(surface: Surface, server: ScriptedServer) -> None:
    """POL-16, DSC-01: every piece has the fixed text, and no protected word leaves."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        raise Refused(grpc.StatusCode.INTERNAL, "lost")

    server.script = script
    with surface.publishing(locale="zh-Hans") as out:
        for chunk in CHUNKS:
            out.add(chunk, [binding()])
    pieces = list(out.committed())
    assert len(pieces) == 6
    assert not any(piece.allowed or "chunk" in piece.text for piece in pieces)
    assert all("未予显示" in piece.text for piece in pieces)


def test_a_verdict_that_ran_out_before_its_text_was_taken_is_asked_for_again(server: ScriptedServer) -> None:
    """B6, B10: past `use_within` a piece leaves only after a fresh verdict, under the same ids; each asks once."""
    hand = Hand()
    surface = Surface("threads", server.target, clock=hand)
    with surface.publishing() as out:
        for chunk in CHUNKS[:3]:
            out.add(chunk, [binding()])
    pieces = out.committed()
    assert next(pieces).allowed
    hand.seconds += 61
    server.script = _refusing("s3")
    assert next(pieces).allowed
    asked_again = server.asked[-1]
    assert [segment.id for segment in asked_again.segments] == ["s2", "s3"]
    assert isinstance(asked_again, disclosure_pb2.CommitRequest)
    assert asked_again.answer_id == "answer-1"
    last = next(pieces)
    assert (last.allowed, last.text) == (False, REFUSED_TEXT)
    surface.close()


def test_verdicts_that_run_out_on_the_way_withhold(server: ScriptedServer) -> None:
    """B6: a server whose verdicts have ended when they arrive is asked once more, and then withholds."""
    hand = Hand()

    def script(request: Request, context: grpc.ServicerContext) -> Reply:
        hand.seconds += 61
        return _refusing()(request, context)

    server.script = script
    surface = Surface("threads", server.target, clock=hand, deadline_s=200.0)
    with surface.publishing() as out:
        out.add(CHUNKS[0], [binding()])
    piece = next(out.committed())
    assert not piece.allowed
    assert piece.text
    assert CHUNKS[0] not in piece.text
    assert piece.result.error is not None
    assert piece.result.error.code == "EXPIRED"
    assert len(server.asked) == 2
    surface.close()


def test_talk_and_knowledge_are_told_apart(surface: Surface, server: ScriptedServer) -> None:
    """B12: unbound talk is declared with a kind of its own; without a binding nothing else passes."""
    with surface.publishing() as out:
        out.add("Good morning.", kind="small-talk", grounding=Grounding.UNBOUND)
        out.add("Rates rose.")
    greeting, rates = out.committed()
    assert (greeting.text, greeting.allowed) == ("Good morning.", True)
    assert (rates.allowed, rates.result.verdict) == (False, Verdict.WITHHOLD)
    with pytest.raises(ValueError, match="UNBOUND"):
        out_again = surface.publishing()
        out_again.add("Rates rose.", [binding()], grounding=Grounding.UNBOUND)


def test_ids_within_an_answer_are_given_or_counted_and_never_used_twice(surface: Surface) -> None:
    """B6: a segment's id is part of its commit's key."""
    not_text: Any = b"d"
    out = surface.publishing()
    assert out.add("a") == "s1"
    assert out.add("b", segment_id="quote") == "quote"
    assert out.add("c") == "s3"
    with pytest.raises(ValueError, match="used before"):
        out.add("d", segment_id="quote")
    with pytest.raises(TypeError, match="bytes"):
        out.add(not_text)
