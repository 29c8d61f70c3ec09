"""A dropped connection resumes from stored rows: text comes with a fresh ALLOW, for its own reader, and not twice."""

from collections.abc import Callable, Iterator

import grpc
import pytest

from discreet.client import Reason, Stored, Verdict
from discreet.client.holding import UNDECIDED_BYTES_MAX, UNDECIDED_SEGMENTS_MAX, Undecided
from discreet.client.model import Segment
from discreet.client.resuming import RESUME_TOGETHER_MAX
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, check_response, commit_response, purge, refuse, well_formed
from tests.client.guard.guarding import Guarded, answer_of, row, text_of
from tests.client.scripted import Refused, ScriptedServer
from tests.client.test_hostile_answers import ALONE, Spoil
from tests.client.test_publishing import REFUSED_TEXT, Hand

# Answers to ledger ids say nothing of evidence.
AT_REPLAY = {
    name: spoil
    for name, spoil in ALONE.items()
    if not name.startswith(("allow on ", "allow without evidence", "allow with evidence", "freshness"))
}
ROWS = [row(f"s{at}", f"l{at}", f"text {at}") for at in range(4)]


def spoiling(**spoils: Spoil) -> Callable[[Request, grpc.ServicerContext], Reply]:
    """A script that allows all ledger ids but those named, whose result it spoils."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CheckRequest)
        reply = check_response(request)
        for result in reply.results:
            if result.segment_id in spoils:
                spoils[result.segment_id](result)
        return reply

    return script


def asked(server: ScriptedServer) -> list[list[str]]:
    """The ledger ids of each replay."""
    return [list(request.ledger_ids) for request in server.asked if isinstance(request, disclosure_pb2.CheckRequest)]


def test_what_was_shown_is_not_shown_again_and_the_rest_is_asked_about(
    guarded: Guarded, server: ScriptedServer
) -> None:
    """B1, B10, DSC-07: after the last segment shown, by ledger ids at REPLAY; from the beginning where asked."""
    assert [piece.text for piece in guarded.resume(ROWS, after="s1")] == ["text 2", "text 3"]
    assert [piece.text for piece in guarded.resume(ROWS)] == [stored.text for stored in ROWS]
    assert guarded.resume(ROWS, after="s3") == []
    assert asked(server) == [["l2", "l3"], ["l0", "l1", "l2", "l3"]]
    request = server.asked[0]
    assert isinstance(request, disclosure_pb2.CheckRequest)
    assert (request.moment, request.session_id) == (common_pb2.MOMENT_REPLAY, "session-1")


def test_what_was_refused_since_is_not_shown(guarded: Guarded, server: ScriptedServer) -> None:
    """DSC-05, B8, B9: hidden where it is suspended, an instruction to delete where it is revoked; others are shown."""
    server.script = spoiling(l1=lambda result: refuse(result, common_pb2.REASON_SUSPENDED), l2=purge)
    pieces = guarded.resume(ROWS)
    assert [piece.text for piece in pieces] == ["text 0", REFUSED_TEXT, REFUSED_TEXT, "text 3"]
    assert [piece.purge for piece in pieces] == [False, False, True, False]
    kept = [guarded.guard.stored(piece) for piece in pieces]
    assert kept == [None, None, row("s2", "l2", "", REFUSED_TEXT), None]


@pytest.mark.parametrize("spoil", AT_REPLAY.values(), ids=AT_REPLAY.keys())
def test_an_odd_answer_shows_nothing(guarded: Guarded, server: ScriptedServer, spoil: Spoil) -> None:
    """POL-03, B3, B8: stored text leaves by a well-formed ALLOW alone, and nothing odd deletes it."""
    server.script = spoiling(l1=spoil)
    pieces = guarded.resume(ROWS[:3])
    assert [piece.text for piece in pieces] == ["text 0", pieces[1].text, "text 2"]
    assert "text 1" not in pieces[1].text
    assert pieces[1].undecided
    assert not pieces[1].purge
    assert guarded.guard.stored(pieces[1]) is None


def test_a_sidecar_that_fails_shows_nothing_and_deletes_nothing(guarded: Guarded, server: ScriptedServer) -> None:
    """POL-16, B8, DSC-05: with the index out of reach stored text is hidden, still stored, and shown later."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        raise Refused(grpc.StatusCode.INTERNAL, "lost")

    server.script = script
    pieces = guarded.resume(ROWS)
    assert all(piece.undecided and not piece.allowed and not piece.purge for piece in pieces)
    assert [guarded.guard.stored(piece) for piece in pieces] == [None] * 4
    server.reset()
    assert [piece.text for piece in guarded.resume(ROWS)] == [stored.text for stored in ROWS]


@pytest.mark.parametrize("whose", [{"principal": "bo"}, {"session_id": "session-2"}, {"answer_id": "answer-2"}])
def test_anothers_resume_yields_nothing_and_is_asked_about(
    guarded: Guarded, server: ScriptedServer, whose: dict[str, str]
) -> None:
    """DSC-07: rows of another reader, session or answer give no piece, whatever the sidecar says; the audit has it."""
    other = guarded.another(**whose)
    for after in ("", "s1", "guessed"):
        assert guarded.resume(ROWS, other, after=after, notices=True) == []
        assert not other.follows(ROWS, after)
    assert asked(server) == [["l0", "l1", "l2", "l3"]] * 3
    assert other.follows([])
    assert not other.follows([], "s1")


def test_a_guessed_position_yields_nothing(guarded: Guarded, server: ScriptedServer) -> None:
    """DSC-07: a last segment that this answer does not have re-sends nothing."""
    assert guarded.resume(ROWS, after="s9") == []
    assert guarded.guard.follows(ROWS, "s3")
    assert not guarded.guard.follows(ROWS, "s9")
    assert server.asked == []


def test_one_foreign_row_among_ones_own_is_left_out(guarded: Guarded, server: ScriptedServer) -> None:
    """DSC-07: a store that mixes rows up shows nobody another's."""
    mixed = [ROWS[0], row("s1", "l9", "bo's text", principal_id="bo"), ROWS[2]]
    assert [piece.text for piece in guarded.resume(mixed)] == ["text 0", "text 2"]
    assert guarded.resume(mixed, after="s1") == []
    assert not guarded.guard.follows(mixed)


def test_rows_that_share_an_id_are_judged_each_by_its_own_ledger_id(guarded: Guarded, server: ScriptedServer) -> None:
    """B4, B10: a store that names two rows alike lends neither the other's verdict."""
    server.script = spoiling(l1=refuse)
    pieces = guarded.resume([row("s0", "l1", "hidden"), row("s0", "l2", "shown")])
    assert [piece.text for piece in pieces] == [REFUSED_TEXT, "shown"]


def test_segments_shown_before_that_may_no_longer_be_are_told(guarded: Guarded, server: ScriptedServer) -> None:
    """B10, DSC-05: on demand, what stands on the reader's page and may not any more comes as a piece to replace it."""
    server.script = spoiling(l0=purge, l1=lambda result: result.ClearField("output"), l3=refuse)
    pieces = guarded.resume(ROWS, after="s2", notices=True)
    assert [(piece.segment_id, piece.replaces, piece.purge) for piece in pieces] == [
        ("s0", True, True),
        ("s3", False, False),
    ]


def test_segments_that_were_undecided_are_told_when_they_are_decided(guarded: Guarded, server: ScriptedServer) -> None:
    """B6, B10: text that could not be checked when it was due comes in the place of its fixed text, once."""
    server.script = lambda request, _: (_ for _ in ()).throw(Refused(grpc.StatusCode.INTERNAL, "lost"))
    pieces = list(guarded.stream(answer_of("s0", "s1")))
    rows = [*_stored(guarded, *pieces), row("s2", disclosure="It was refused."), row("s3", "l3", "text 3")]
    assert guarded.resume(rows, after="s3", notices=True) == []
    server.reset()
    told = guarded.resume(rows, after="s3", notices=True)
    assert [(piece.text, piece.replaces) for piece in told] == [(text_of("s0"), True), (text_of("s1"), True)]
    assert guarded.resume(rows, after="s3", notices=True) == []


def test_rows_without_text_have_their_fixed_text(guarded: Guarded, server: ScriptedServer) -> None:
    """B3: what was refused, purged, or not stored in time, is shown as its fixed text, and never as nothing."""
    rows = [row("s0", disclosure="It was refused."), row("s1", "l1", "", "It was deleted."), row("s2", "l2")]
    pieces = guarded.resume(rows)
    assert [piece.text for piece in pieces] == ["It was refused.", "It was deleted.", "This is not available."]
    assert not any(piece.allowed or piece.undecided for piece in pieces)
    with pytest.raises(ValueError, match="without a ledger id"):
        row("s3", text="text that nobody committed")


def test_a_verdict_that_ran_out_before_its_piece_was_taken_is_asked_for_again(
    guard_kind: str, server: ScriptedServer
) -> None:
    """B1, B10: a slow reader gets no stored text on an old verdict."""
    hand = Hand()
    guarded = Guarded("threads", server.target, clock=hand, deadline_s=30.0)
    pieces = guarded.guard.resume(ROWS)
    assert isinstance(pieces, Iterator)
    assert next(pieces).text == "text 0"
    hand.seconds += 61
    server.script = spoiling(l2=refuse)
    assert [piece.text for piece in pieces] == ["text 1", REFUSED_TEXT, "text 3"]
    assert asked(server) == [["l0", "l1", "l2", "l3"], ["l1", "l2", "l3"]]
    guarded.close()


def test_verdicts_that_run_out_on_the_way_withhold(guard_kind: str, server: ScriptedServer) -> None:
    """B1, B6: a stored segment is asked about once more and no oftener; then it counts as undecided, without text."""
    hand = Hand()

    def script(request: Request, context: grpc.ServicerContext) -> Reply:
        hand.seconds += 61
        return spoiling()(request, context)

    server.script = script
    guarded = Guarded(guard_kind, server.target, clock=hand, deadline_s=200.0)
    (piece,) = guarded.resume(ROWS[:1])
    assert (piece.allowed, piece.undecided, piece.result.use_within_ms) == (False, True, 0)
    assert (piece.result.verdict, piece.result.reason) == (Verdict.WITHHOLD, Reason.DEPENDENCY_UNAVAILABLE)
    assert ROWS[0].text not in piece.text
    assert asked(server) == [["l0"], ["l0"]]
    guarded.close()


@pytest.mark.parametrize("more", [0, 1])
def test_many_rows_are_asked_about_a_part_at_a_time(guarded: Guarded, server: ScriptedServer, more: int) -> None:
    """Limits: RESUME_TOGETHER_MAX rows a question; one past it is asked in another."""
    count = RESUME_TOGETHER_MAX + more
    rows = [row(f"s{at}", f"l{at}", f"text {at}") for at in range(count)]
    assert [piece.text for piece in guarded.resume(rows)] == [stored.text for stored in rows]
    assert [len(ids) for ids in asked(server)] == [RESUME_TOGETHER_MAX, *([1] if more else [])]


def test_a_commit_of_unknown_outcome_is_withheld_and_a_resume_tells(guarded: Guarded, server: ScriptedServer) -> None:
    """B6, F13: the guard has the text still, and asks for the same commit again; what it says then is stored."""

    def lost(request: Request, _: grpc.ServicerContext) -> Reply:
        raise Refused(grpc.StatusCode.INTERNAL, "outcome unknown")

    server.script = lost
    first, second = guarded.stream(answer_of("s0", "s1"))
    assert (first.undecided, second.undecided, guarded.guard.undecided) == (True, True, ("s0", "s1"))
    rows = _stored(guarded, first, second)
    before = [request for request in server.asked if isinstance(request, disclosure_pb2.CommitRequest)]

    def known(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        for entry in reply.results:
            entry.order.kind = disclosure_pb2.CommitOrder.KIND_REPEATED
            if entry.result.segment_id == "s1":
                purge(entry.result)
        return reply

    server.script = known
    server.asked.clear()
    pieces = guarded.resume(rows)
    assert [piece.text for piece in pieces] == [text_of("s0"), REFUSED_TEXT]
    again = [segment for request in server.asked for segment in request.segments]
    assert again == [segment for request in before for segment in request.segments][-2:]
    assert guarded.guard.undecided == ()
    assert _stored(guarded, *pieces) == [
        row("s0", "ledger-s0", text_of("s0")),
        row("s1", "ledger-s1", "", REFUSED_TEXT),
    ]
    assert [piece.text for piece in guarded.resume(rows)] == [rows[0].disclosure, rows[1].disclosure]


def _stored(guarded: Guarded, *pieces: object) -> list[Stored]:
    found = [guarded.guard.stored(piece) for piece in pieces]  # type: ignore[arg-type] # pieces, as the callers give
    return [stored for stored in found if stored is not None]


def test_another_guard_does_not_have_the_undecided_text(guarded: Guarded, server: ScriptedServer) -> None:
    """DSC-07, B3: without the guard that held it, an undecided segment stays its fixed text; nothing is asked."""
    server.script = lambda request, _: (_ for _ in ()).throw(Refused(grpc.StatusCode.INTERNAL, "lost"))
    (piece,) = guarded.stream(answer_of("s0"))
    server.reset()
    (again,) = guarded.resume(_stored(guarded, piece), guarded.another())
    assert (again.allowed, again.text) == (False, piece.text)
    assert server.asked == []


def test_a_refused_segment_is_not_asked_about_again(guarded: Guarded, server: ScriptedServer) -> None:
    """B3: its text was forgotten with its verdict."""

    def script(request: Request, context: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        assert isinstance(reply, disclosure_pb2.CommitResponse)
        for entry in reply.results:
            refuse(entry.result, common_pb2.REASON_SUPERSEDED)
            entry.ledger_id, entry.order.kind = "", disclosure_pb2.CommitOrder.KIND_REFUSED
            entry.ClearField("store_by")
        return reply

    server.script = script
    (piece,) = guarded.stream(answer_of("s0"))
    assert (piece.reason, piece.undecided, guarded.guard.undecided) == (Reason.SUPERSEDED, False, ())
    server.reset()
    (again,) = guarded.resume(_stored(guarded, piece))
    assert (again.verdict, again.text) == (Verdict.WITHHOLD, REFUSED_TEXT)
    assert server.asked == []


def test_of_undecided_text_a_guard_keeps_so_much_and_no_more() -> None:
    """Limits: so many segments and so many bytes; the oldest are forgotten first."""
    kept = Undecided()
    for at in range(UNDECIDED_SEGMENTS_MAX + 1):
        kept.keep(Segment(f"s{at}"), "x")
    assert (len(kept.held), "s0" in kept.held, kept.size) == (UNDECIDED_SEGMENTS_MAX, False, UNDECIDED_SEGMENTS_MAX)
    kept.keep(Segment("large"), "x" * UNDECIDED_BYTES_MAX)
    assert (list(kept.held), kept.size) == (["large"], UNDECIDED_BYTES_MAX)
    kept.keep(Segment("larger"), "x" * (UNDECIDED_BYTES_MAX + 1))
    assert (list(kept.held), kept.size) == ([], 0)
