"""A stream is held back, not taken back: each segment leaves after its commit, or its fixed text in its place."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import grpc
import pytest

from discreet.client import Cutting, Delta, End, Grounding, Limits, Verdict, by_agent, digest
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, commit_response, refuse_entry, result_of
from tests.client.asking import binding
from tests.client.guard.guarding import SECRET, Guarded, Item, answer_of, text_of
from tests.client.scripted import Refused, ScriptedServer
from tests.client.test_hostile_answers import ALONE, COMMIT, Spoil, SpoilEntry
from tests.client.test_publishing import REFUSED_TEXT, Hand

NAMES = ["s0", "s1", "s2", "s3", "s4", "s5"]


def refusing(*segment_ids: str) -> Callable[[Request, grpc.ServicerContext], Reply]:
    """A script that commits all but the segments named."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        for entry in reply.results:
            if entry.result.segment_id in segment_ids:
                refuse_entry(entry, common_pb2.REASON_SUPERSEDED)
        return reply

    return script


def committed(server: ScriptedServer) -> list[list[str]]:
    """The segment ids of each commit, in order."""
    return [[segment.id for segment in request.segments] for request in server.asked]


def test_a_refused_segment_is_replaced_and_nothing_of_it_leaves(guarded: Guarded, server: ScriptedServer) -> None:
    """DSC-01, F13, B3, B4: of six segments the fifth is refused; the others leave whole and in order."""
    server.script = refusing("s4")
    pieces = list(guarded.stream(answer_of(*NAMES)))
    assert [piece.segment_id for piece in pieces] == NAMES
    assert [piece.text for piece in pieces] == [*map(text_of, NAMES[:4]), REFUSED_TEXT, text_of("s5")]
    assert [piece.allowed for piece in pieces] == [True] * 4 + [False, True]
    assert (pieces[0].ledger_id, pieces[4].ledger_id) == ("ledger-s0", "")
    assert "s4-0" not in repr(pieces)


def test_a_commit_says_what_is_shown_and_what_it_rests_on(guarded: Guarded, server: ScriptedServer) -> None:
    """B2, B12: the digest is that of the text that leaves; bindings are the bits' and the stream's own."""
    items: list[Item] = [Delta("One ", (binding("a"),)), Delta("two", (binding("b"),)), End((binding("c"),), "s0")]
    pieces = list(guarded.stream(items, bindings=[binding("d")]))
    (request,) = server.asked
    assert isinstance(request, disclosure_pb2.CommitRequest)
    assert (request.session_id, request.answer_id, request.principal.id) == ("session-1", "answer-1", "ana")
    (segment,) = request.segments
    assert segment.digest == digest(pieces[0].text) == digest("One two")
    assert [bound.record_id for bound in segment.bindings] == ["d", "c", "a", "b"]


def test_talk_is_talk_and_knowledge_without_a_binding_is_withheld(guarded: Guarded) -> None:
    """B12: unbound text is declared with a kind of its own, and lends it to nothing."""
    pieces = list(guarded.stream([Delta("Hello. ", kind="small-talk", grounding=Grounding.UNBOUND), "Rates rose."]))
    assert [(piece.allowed, piece.verdict) for piece in pieces] == [(True, Verdict.ALLOW), (False, Verdict.WITHHOLD)]


def test_segment_ids_are_not_guessed_and_never_used_twice(guarded: Guarded) -> None:
    """DSC-07: who resumes names a segment; an id that the agent gives twice is an error, and nothing more leaves."""
    first, second = guarded.stream([Delta("a", (binding(),)), End(), Delta("b", (binding(),))])
    assert first.segment_id.startswith("s1-")
    assert second.segment_id.startswith("s2-")
    assert len({first.segment_id[3:], second.segment_id[3:]}) == 2
    with pytest.raises(ValueError, match="used before"):
        list(guarded.stream(answer_of("s0", "s0")))


def test_an_error_of_the_source_ends_the_stream_and_nothing_more_leaves(
    guarded: Guarded, server: ScriptedServer
) -> None:
    """DSC-01, F13: the segment that was being written is neither committed nor shown; the error is the consumer's."""

    def failing() -> Iterator[Item]:
        yield from answer_of("s0")
        yield from (Delta(word, (binding(),)) for word in SECRET)
        raise KeyError("the model failed")

    seen: list[str] = []
    with pytest.raises(KeyError, match="the model failed"):
        seen.extend(piece.text for piece in guarded.stream(failing()))
    assert not any(word in text for text in seen for word in SECRET)
    assert all(names in (["s0"], []) for names in committed(server))


def test_leaving_early_releases_nothing_more(guarded: Guarded, server: ScriptedServer) -> None:
    """F13: a consumer that goes leaves what is held where it is, and the source of the text is closed."""
    closed = []

    def source() -> Iterator[Item]:
        try:
            yield from answer_of(*NAMES)
        finally:
            closed.append(True)

    pieces = guarded.stream(source())
    assert next(pieces).text == text_of("s0")
    asked = len(server.asked)
    pieces.close()  # type: ignore[attr-defined] # a generator
    assert list(pieces) == []
    assert len(server.asked) == asked
    if guarded.guard.__class__.__name__ == "Guard":
        assert closed == [True]


def test_a_sidecar_that_fails_lets_nothing_out_and_the_stream_goes_on(guarded: Guarded, server: ScriptedServer) -> None:
    """POL-16, A12, B3, F13: every kind of failure shows the built-in text, piece by piece, and hides no later one."""
    codes = iter([grpc.StatusCode.INTERNAL, grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.DATA_LOSS])

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        code = next(codes, None)
        if code is not None:
            raise Refused(code, "lost")
        assert isinstance(request, disclosure_pb2.CommitRequest)
        return commit_response(request)

    server.script = script
    one = Guarded("threads", server.target, Cutting(by_agent, limits=Limits(segments_max=1)), deadline_s=30.0)
    pieces = list(one.stream(answer_of(*NAMES)))
    assert [piece.allowed for piece in pieces] == [False] * 3 + [True] * 3
    assert all(piece.undecided and "could not be checked" in piece.text for piece in pieces[:3])
    assert "s0-" not in repr(pieces[0])
    one.close()


@pytest.mark.parametrize("spoil", ALONE.values(), ids=ALONE.keys())
def test_an_odd_answer_withholds_its_segment_alone(guarded: Guarded, server: ScriptedServer, spoil: Spoil) -> None:
    """POL-03, B3, B4, F13: what is not well-formed throughout lets nothing out; its neighbours leave."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        for at, segment in enumerate(request.segments):
            if segment.id == "s1":
                spoil(result_of(reply, at))
        return reply

    server.script = script
    _only_the_second_is_withheld(guarded)


@pytest.mark.parametrize("spoil", COMMIT.values(), ids=COMMIT.keys())
def test_an_allow_without_its_ledger_entry_is_none(guarded: Guarded, server: ScriptedServer, spoil: SpoilEntry) -> None:
    """POL-03, B6, DSC-01: only what is in the ledger leaves."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        for entry in reply.results:
            if entry.result.segment_id == "s1":
                spoil(entry)
        return reply

    server.script = script
    _only_the_second_is_withheld(guarded)


def _only_the_second_is_withheld(guarded: Guarded) -> None:
    pieces = list(guarded.stream(answer_of("s0", "s1", "s2")))
    assert [piece.allowed for piece in pieces] == [True, False, True]
    assert pieces[1].verdict is Verdict.WITHHOLD
    assert pieces[1].undecided
    assert "s1-" not in pieces[1].text
    assert pieces[1].text


@pytest.mark.parametrize("code", [grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.ALREADY_EXISTS])
def test_a_faulty_segment_falls_alone(guard_kind: str, server: ScriptedServer, code: grpc.StatusCode) -> None:
    """B4: a call is refused whole for one segment; the others are asked about alone, and leave."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        if any(segment.id == "s1" for segment in request.segments):
            raise Refused(code, "segments[1] is faulty")
        return commit_response(request)

    server.script = script
    guarded = Guarded(guard_kind, server.target, Cutting(limits=Limits(segments_max=3)), deadline_s=30.0)
    bits: list[Item] = [Delta("x-0 ", (binding(),)), End(segment_id="s0"), Delta("x-1 ", (binding(),))]
    bits += [End(segment_id="s1"), Delta("x-2 ", (binding(),)), End(segment_id="s2")]
    pieces = list(guarded.stream(bits))
    assert [(piece.segment_id, piece.allowed) for piece in pieces] == [("s0", True), ("s1", False), ("s2", True)]
    # Asked again, it would be refused again: its text is not kept for a resume.
    assert (pieces[1].undecided, guarded.guard.undecided) == (False, ())
    guarded.close()


def test_a_permission_that_ran_out_before_its_piece_was_taken_is_asked_for_again(server: ScriptedServer) -> None:
    """B6, B10, F13: a verdict of before is never shown on; the repeated commit says what holds now."""
    hand = Hand()
    guarded = Guarded("asyncio", server.target, clock=hand, deadline_s=30.0)
    pieces = guarded.stream(["One. Two. Three. Four."], bindings=[binding()])
    first = next(pieces)
    assert first.allowed
    names = committed(server)[0]
    assert len(names) == 4
    hand.seconds += 61
    server.script = refusing(names[2])
    rest = list(pieces)
    assert [piece.text for piece in rest] == ["Two. ", REFUSED_TEXT, "Four."]
    assert committed(server)[1] == names[1:]
    assert len(server.asked) == 2
    guarded.close()


def test_verdicts_that_run_out_on_the_way_withhold(guard_kind: str, server: ScriptedServer) -> None:
    """B6: a piece is asked about once more and no oftener; then its fixed text is shown."""
    hand = Hand()

    def script(request: Request, context: grpc.ServicerContext) -> Reply:
        hand.seconds += 61
        return refusing()(request, context)

    server.script = script
    guarded = Guarded(guard_kind, server.target, Cutting(by_agent), clock=hand, deadline_s=200.0)
    (piece,) = guarded.stream(answer_of("s0"))
    assert (piece.allowed, piece.undecided, piece.use_within_ms) == (False, True, 0)
    assert text_of("s0") not in piece.text
    assert len(server.asked) == 2
    guarded.close()


def test_a_piece_says_until_when_it_may_be_stored(server: ScriptedServer, guard_kind: str) -> None:
    """B7, B10: after `store_by` nothing is stored, whichever clock says so; one set back gives no more time."""
    hand = Hand()
    by = datetime.now(UTC) + timedelta(minutes=10)

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        for entry in reply.results:
            entry.store_by.FromDatetime(by)
            if entry.result.segment_id.startswith("s2-"):
                refuse_entry(entry, common_pb2.REASON_STALE)
        return reply

    server.script = script
    guarded = Guarded(guard_kind, server.target, clock=hand, deadline_s=30.0)
    shown, refused = guarded.stream([Delta("One. Two.", (binding(),))])
    assert shown.store_by == by
    hand.seconds += 590
    assert shown.may_store()
    assert not shown.may_store(by)
    assert not refused.may_store()
    hand.seconds += 11
    assert not shown.may_store()
    assert not shown.may_store(by - timedelta(minutes=5))
    kept = guarded.guard.stored(shown)
    assert kept is not None
    assert (kept.text, kept.ledger_id) == ("", shown.ledger_id)
    guarded.close()


def test_what_is_stored_of_a_refused_piece_is_its_fixed_text(guarded: Guarded, server: ScriptedServer) -> None:
    """B3: refused text enters no stored segment, and a row cannot even be built with text and no ledger id."""
    server.script = refusing("s1")
    rows = [guarded.guard.stored(piece) for piece in guarded.stream(answer_of("s0", "s1"))]
    assert [(row.ledger_id, row.text, row.disclosure) for row in rows if row is not None] == [
        ("ledger-s0", text_of("s0"), ""),
        ("", "", REFUSED_TEXT),
    ]
