"""How long a verdict holds, what is repeated, and how the line is kept: deadlines, retries, levels, streams."""

import asyncio
import threading
import time
from datetime import UTC, datetime

import grpc
import pytest

from discreet.client import AsyncClient, Client, Reason, Segment, ServerUnreachable, Verdict
from discreet.client.channel import KEEPALIVE_MS, OPTIONS, checked_target
from discreet.client.levels import ServerLevel, leave_out
from discreet.client.result import steady_clock
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, check_response, purge, result_of, well_formed
from tests.client.asking import ANSWER, PRINCIPAL, SESSION, Surface, segments
from tests.client.scripted import Refused, ScriptedServer

STORE_BY = datetime(2096, 10, 2, 7, 6, 40, tzinfo=UTC)


def test_an_allow_past_its_time_counts_as_withhold(server: ScriptedServer) -> None:
    """B1, A12: a verdict holds for `use_within`, counted from when the question left; its end is WITHHOLD."""
    now = [100.0]
    client = Client(server.target, clock=lambda: now[0])
    result = client.retrieve(segments(1), PRINCIPAL, SESSION).results[0]
    now[0] = 160.0
    assert (result.allowed, result.expired()) == (True, False)
    assert result.now() is result
    now[0] = 160.001
    assert (result.allowed, result.expired()) == (False, True)
    assert result.verdict is Verdict.ALLOW
    assert result.text
    late = result.now()
    assert (late.verdict, late.reason, late.receipts) == (Verdict.WITHHOLD, Reason.DEPENDENCY_UNAVAILABLE, ())
    assert result.expired(lambda: 99.0)
    client.close()


def test_the_time_of_the_call_itself_counts(server: ScriptedServer) -> None:
    """B1: an answer that lay in a buffer for as long as it holds is not taken for a fresh one."""
    now = [100.0]

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        now[0] += 61
        return well_formed(request)

    server.script = script
    client = Client(server.target, clock=lambda: now[0], deadline_s=300.0)
    assert client.retrieve(segments(1), PRINCIPAL, SESSION).everything_withheld
    client.close()


def test_a_commit_may_be_stored_until_store_by(surface: Surface) -> None:
    """B7, B10: what is in the ledger may be stored by `store_by`, or not at all."""
    result = surface.commit(segments(1)).results[0]
    assert result.store_by == STORE_BY
    assert result.may_store()
    assert not result.may_store(STORE_BY)
    assert not surface.retrieve(segments(1)).results[0].may_store()


def test_a_check_at_publish_is_advice_and_never_allows(surface: Surface) -> None:
    """B1, B6: it says what a commit would allow; `allowed` stays false."""
    result = surface.ask("check_publish", segments(1), PRINCIPAL, SESSION).results[0]
    assert result.verdict is Verdict.ALLOW
    assert not result.allowed
    assert result.text
    assert not result.may_store()


def test_replay_asks_by_ledger_id_and_hands_on_verdicts(surface: Surface, server: ScriptedServer) -> None:
    """B1, B7, B8, B10: a stored segment is shown again, hidden, or purged, each by its own verdict."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        purge(result_of(reply, 1))
        return reply

    server.script = script
    answer = surface.replay(["l-1", "l-2"])
    request = server.asked[0]
    assert isinstance(request, disclosure_pb2.CheckRequest)
    assert list(request.ledger_ids) == ["l-1", "l-2"]
    assert not request.segments
    assert answer["l-1"].allowed
    assert answer["l-2"].purge
    assert not answer["l-1"].purge


def test_export_is_a_moment_of_its_own(surface: Surface, server: ScriptedServer) -> None:
    """B1, B10, F6: taking a stored segment away is asked by ledger ids, at EXPORT; PURGE names its order."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        purge(result_of(reply, 1))
        result_of(reply, 1).purge_order_id = "order-1"
        return reply

    server.script = script
    answer = surface.ask("export", ["l-1", "l-2"], PRINCIPAL, SESSION)
    request = server.asked[0]
    assert isinstance(request, disclosure_pb2.CheckRequest)
    assert (list(request.ledger_ids), request.moment) == (["l-1", "l-2"], common_pb2.MOMENT_EXPORT)
    assert (answer["l-1"].allowed, answer["l-1"].purge_order_id) == (True, "")
    assert (answer["l-2"].purge, answer["l-2"].purge_order_id) == (True, "order-1")


def test_a_segment_made_from_others_needs_no_binding_of_its_own(surface: Surface, server: ScriptedServer) -> None:
    """B7, B12: a summary rests on its parents, which go with the commit."""
    summary = Segment("sum", digest=segments(1)[0].digest, parents=("l-1", "l-2"))
    assert surface.commit([summary])["sum"].allowed
    assert list(server.asked[0].segments[0].parents) == ["l-1", "l-2"]


@pytest.mark.parametrize("method", ["retrieve", "commit"])
def test_an_unavailable_call_is_repeated_within_the_deadline(
    surface_kind: str, server: ScriptedServer, method: str
) -> None:
    """A12, B6: a check changes nothing and a commit is known by its key, so both are asked again."""
    surface = Surface("asyncio" if surface_kind == "stream" else surface_kind, server.target, deadline_s=5.0)
    failures = iter(range(2))

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        if next(failures, None) is not None:
            raise Refused(grpc.StatusCode.UNAVAILABLE, "starting")
        return well_formed(request)

    server.script = script
    answer = getattr(surface, method)(segments())
    surface.close()
    assert all(result.allowed for result in answer)
    assert len(server.asked) == 3


def test_a_commit_of_unknown_outcome_is_repeated_and_shows_by_the_last_verdict_alone(
    surface: Surface, server: ScriptedServer
) -> None:
    """B6: a server that gave up on time may have committed; the repetition tells, under the same key."""
    failures = iter(range(3))

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        if next(failures, None) is not None:
            raise Refused(grpc.StatusCode.DEADLINE_EXCEEDED, "outcome unknown")
        assert isinstance(reply, disclosure_pb2.CommitResponse)
        for entry in reply.results:
            entry.order.kind = disclosure_pb2.CommitOrder.KIND_REPEATED
        purge(reply.results[1].result)
        return reply

    server.script = script
    answer = surface.commit(segments())
    assert [result.verdict for result in answer] == [Verdict.ALLOW, Verdict.PURGE, Verdict.ALLOW]
    assert answer["s0"].order is not None
    assert answer["s0"].order.name == "REPEATED"
    assert len(server.asked) == 4
    assert len({request.SerializeToString(deterministic=True) for request in server.asked}) == 1


def test_a_commit_taken_by_another_is_withheld_and_not_repeated(surface: Surface, server: ScriptedServer) -> None:
    """B6: the same key with other text is ALREADY_EXISTS, which no repetition mends."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        raise Refused(grpc.StatusCode.ALREADY_EXISTS, "another digest")

    server.script = script
    assert surface.commit(segments()).everything_withheld
    assert len(server.asked) == 1


def test_every_call_carries_the_callers_deadline(surface_kind: str, server: ScriptedServer) -> None:
    """POL-16: the server is told when nobody will read the answer any more."""
    surface = Surface("asyncio" if surface_kind == "stream" else surface_kind, server.target)
    surface.retrieve(segments(), deadline_s=3.0)
    surface.commit(segments(), deadline_s=7.0)
    surface.close()
    assert server.deadlines[0] == pytest.approx(3.0, abs=0.5)
    assert server.deadlines[1] == pytest.approx(7.0, abs=0.5)


def test_keepalive_keeps_to_what_every_server_permits() -> None:
    """RPC-08: at most one ping in 5 minutes, and none without a call: no server's default punishes that."""
    options = dict(OPTIONS)
    assert options["grpc.keepalive_time_ms"] == KEEPALIVE_MS > 300_000
    assert options["grpc.keepalive_permit_without_calls"] == 0
    assert "grpc.http2.max_pings_without_data" not in options


@pytest.mark.parametrize(
    "target", ["10.0.0.7:50051", "example.org:443", "dns:///sidecar:50051", "localhost.example.org:1", "0.0.0.0:1"]
)
def test_plain_text_stays_on_this_machine(target: str) -> None:
    """Security: without credentials only Unix sockets and loopback are spoken to."""
    with pytest.raises(ValueError, match="credentials"):
        Client(target)
    assert checked_target(target, grpc.ssl_channel_credentials()) == target


@pytest.mark.parametrize(
    "target", ["unix:/run/a.sock", "unix:///run/a.sock", "localhost:1", "127.0.0.1:1", "[::1]:1", "ipv4:127.0.0.1:1"]
)
def test_local_targets_need_no_credentials(target: str) -> None:
    """Security: these do not leave the machine."""
    assert checked_target(target, None) == target


def test_fields_newer_than_the_server_are_left_out_at_every_depth() -> None:
    """The server refuses unknown fields, so that a newer client leaves them out; older ones stay."""
    request = disclosure_pb2.CheckRequest(need_advice=True, session_id="s")
    request.segments.add(id="a", kind="answer").bindings.add(record_id="r", locator="l")
    level_of = {"discreet.v1.CheckRequest.need_advice": 2, "discreet.v1.Binding.locator": 3}
    binding = request.segments[0].bindings[0]
    left = []
    for level in (3, 2, 1):
        leave_out(request, level, level_of)
        left.append((request.need_advice, binding.locator, binding.record_id))
    assert left == [(True, "l", "r"), (True, "", "r"), (False, "", "r")]


@pytest.mark.parametrize("api_level, kept", [(1, False), (2, True), (0, False)])
def test_the_servers_level_is_asked_once_and_only_if_it_matters(
    surface: Surface, server: ScriptedServer, api_level: int, kept: bool
) -> None:
    """A newer client asks an older server what it knows, before its first question; at present nothing is newer."""
    surface.retrieve(segments())
    assert server.infos == 0
    server.api_level = api_level
    surface.client._level = ServerLevel({"discreet.v1.CheckRequest.need_advice": 2})
    surface.retrieve(segments(), need_advice=True)
    surface.retrieve(segments(), need_advice=True)
    assert server.infos == (1 if api_level else 2)
    assert [request.need_advice for request in server.asked[1:]] == [kept, kept]


def test_server_info_says_who_is_there_or_raises(surface: Surface, socket_dir: object) -> None:
    """The one question that is no check may fail aloud."""
    info = surface.ask("server_info")
    assert (info.version, info.api_level, info.tenants) == ("0.1.0", 1, ("acme",))
    nobody = Surface(surface.kind, f"unix:{socket_dir}/nobody.sock", deadline_s=0.3)
    with pytest.raises(ServerUnreachable, match="UNAVAILABLE"):
        nobody.ask("server_info")
    nobody.close()


def test_a_closed_client_says_so(surface_kind: str, server: ScriptedServer) -> None:
    """Use after close is the caller's error and is told as one."""
    client = Client(server.target)
    client.close()
    with pytest.raises(ValueError, match="closed"):
        client.retrieve(segments(), PRINCIPAL, SESSION)


def test_many_threads_share_a_client(server: ScriptedServer) -> None:
    """One client serves a threaded agent, and each caller gets the answer to its own question."""
    client = Client(server.target, deadline_s=20.0)
    answers: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        asked = [Segment(f"t{number}-{at}", bindings=segments(1)[0].bindings) for at in range(20)]
        answers[number] = [result.segment_id for result in client.retrieve(asked, PRINCIPAL, SESSION) if result.allowed]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    client.close()
    assert answers == {number: [f"t{number}-{at}" for at in range(20)] for number in range(16)}


def test_the_clock_never_goes_back() -> None:
    """The clock of verdicts runs on while the machine sleeps, and is not set by anyone."""
    first, second = steady_clock(), steady_clock()
    assert second >= first


async def test_a_cancelled_caller_stays_cancelled(server: ScriptedServer) -> None:
    """Cancellation is the caller's own, and is not turned into an answer."""
    asked = threading.Event()

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        asked.set()
        server.over.wait(20)
        return well_formed(request)

    server.script = script
    async with AsyncClient(server.target, deadline_s=20.0) as client:
        question = asyncio.create_task(client.commit(segments(), PRINCIPAL, SESSION, ANSWER))
        await asyncio.to_thread(asked.wait, 5)
        started = time.monotonic()
        question.cancel()
        with pytest.raises(asyncio.CancelledError):
            await question
        assert time.monotonic() - started < 5
    server.over.set()


async def test_closing_withholds_what_is_under_way(server: ScriptedServer) -> None:
    """POL-16: a line that is closed beneath a question gives WITHHOLD, not an exception."""
    asked = threading.Event()

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        asked.set()
        server.over.wait(20)
        return check_response(request) if isinstance(request, disclosure_pb2.CheckRequest) else well_formed(request)

    server.script = script
    for stream in (False, True):
        asked.clear()
        client = AsyncClient(server.target, deadline_s=20.0, stream=stream)
        question = asyncio.create_task(client.retrieve(segments(), PRINCIPAL, SESSION))
        await asyncio.to_thread(asked.wait, 5)
        await client.close()
        answer = await question
        assert answer.everything_withheld
        assert answer.error is not None
        assert answer.error.code == "CANCELLED"
    server.over.set()
