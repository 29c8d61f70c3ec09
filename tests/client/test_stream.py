"""Concurrent checks on one stream: matched by frame, failing alone, and withheld together when the stream breaks."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator

import grpc
import pytest

from discreet.client import AsyncClient, Segment
from discreet.v1 import disclosure_pb2
from tests.client.answers import Reply, Request, check_response, well_formed
from tests.client.asking import PRINCIPAL, SESSION, binding, segments
from tests.client.scripted import Refused, ScriptedServer

Frame = disclosure_pb2.CheckStreamRequest
Answer = disclosure_pb2.CheckStreamResponse


@pytest.fixture
async def client(server: ScriptedServer) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(server.target, deadline_s=10.0, stream=True) as found:
        yield found


def _asked(number: int) -> list[Segment]:
    return [Segment(f"t{number}", bindings=(binding(f"pep-{number}"),))]


async def test_concurrent_checks_share_one_stream_and_get_their_own_answers(
    client: AsyncClient, server: ScriptedServer
) -> None:
    """Frames are matched by id, in whatever order they are answered; all of them under one stream."""
    held: list[Answer] = []

    def backwards(frame: Frame, _: grpc.ServicerContext) -> Iterator[Answer]:
        held.append(Answer(frame_id=frame.frame_id, response=check_response(frame.check)))
        if len(held) == 50:
            yield from reversed(held)

    server.frame_script = backwards
    answers = await asyncio.gather(*(client.retrieve(_asked(number), PRINCIPAL, SESSION) for number in range(50)))
    assert [answer.results[0].segment_id for answer in answers] == [f"t{number}" for number in range(50)]
    assert all(answer.results[0].allowed for answer in answers)
    assert server.streams == 1


async def test_a_refused_frame_fails_alone(client: AsyncClient, server: ScriptedServer) -> None:
    """A bad frame has its own status; its neighbours are answered, and the stream goes on."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        if request.segments[0].id == "t3":
            raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "check.segments[0].kind: empty")
        return well_formed(request)

    server.script = script
    answers = await asyncio.gather(*(client.retrieve(_asked(number), PRINCIPAL, SESSION) for number in range(6)))
    assert [answer.results[0].allowed for answer in answers] == [number != 3 for number in range(6)]
    assert answers[3].error is not None
    assert str(answers[3].error) == "INVALID_ARGUMENT: check.segments[0].kind: empty"
    assert server.streams == 1


async def test_a_broken_stream_withholds_what_waits_and_the_next_check_opens_another(
    client: AsyncClient, server: ScriptedServer
) -> None:
    """POL-16, A12: checks on a stream that ends unanswered are withheld at once, and later ones are answered."""
    seen = []

    def breaking(frame: Frame, context: grpc.ServicerContext) -> Iterator[Answer]:
        seen.append(frame.frame_id)
        if len(seen) == 5:
            context.abort(grpc.StatusCode.UNAVAILABLE, "going down")
        return iter(())

    server.frame_script = breaking
    answers = await asyncio.gather(*(client.retrieve(_asked(number), PRINCIPAL, SESSION) for number in range(5)))
    assert all(answer.everything_withheld for answer in answers)
    assert {answer.error.code for answer in answers if answer.error} == {"UNAVAILABLE"}
    server.reset()
    again = await client.retrieve(_asked(7), PRINCIPAL, SESSION)
    assert again.results[0].allowed
    assert server.streams == 1


async def _one(client: AsyncClient) -> str:
    answer = await client.retrieve(segments(1), PRINCIPAL, SESSION, deadline_s=1.0)
    assert answer.everything_withheld
    assert answer.error is not None
    return answer.error.code


@pytest.mark.parametrize("frame_id", [0, 999, 2**64 - 1])
async def test_an_answer_to_a_frame_that_was_never_sent_ends_the_stream(
    client: AsyncClient, server: ScriptedServer, frame_id: int
) -> None:
    """POL-03: a server that answers what was not asked is believed in nothing it says on that stream."""
    server.frame_script = lambda frame, context: iter(
        [
            Answer(frame_id=frame_id, response=check_response(frame.check)),
            Answer(frame_id=frame.frame_id, response=check_response(frame.check)),
        ]
    )
    assert await _one(client) == "MALFORMED_ANSWER"
    server.reset()
    assert (await client.retrieve(segments(1), PRINCIPAL, SESSION)).results[0].allowed


@pytest.mark.parametrize(
    "answer",
    [Answer(), Answer(error=disclosure_pb2.FrameError()), Answer(error=disclosure_pb2.FrameError(code=77))],
    ids=["no outcome", "success as an error", "a status without a name"],
)
async def test_a_frame_without_a_proper_outcome_is_withheld(
    client: AsyncClient, server: ScriptedServer, answer: Answer
) -> None:
    """POL-03: neither an answer nor a status says nothing."""

    def script(frame: Frame, _: grpc.ServicerContext) -> Iterator[Answer]:
        answer.frame_id = frame.frame_id
        yield answer

    server.frame_script = script
    assert await _one(client) in {"MALFORMED_ANSWER", "UNKNOWN"}


async def test_a_second_answer_to_a_frame_changes_nothing(client: AsyncClient, server: ScriptedServer) -> None:
    """POL-03: the first answer to a frame counts; a late or second one meets nobody, and no other frame."""

    def twice(frame: Frame, _: grpc.ServicerContext) -> Iterator[Answer]:
        yield Answer(frame_id=frame.frame_id, response=check_response(frame.check))
        yield Answer(frame_id=frame.frame_id, response=disclosure_pb2.CheckResponse())

    server.frame_script = twice
    for number in range(3):
        assert (await client.retrieve(_asked(number), PRINCIPAL, SESSION)).results[0].allowed


async def test_a_silent_stream_is_given_up_with_the_first_frame_that_is_late(
    client: AsyncClient, server: ScriptedServer
) -> None:
    """POL-16: a stream on which nothing came for a frame's whole time is replaced for the next check."""
    silent = threading.Event()

    def script(frame: Frame, _: grpc.ServicerContext) -> Iterator[Answer]:
        silent.wait(20)
        return iter(())

    server.frame_script = script
    assert await _one(client) == "DEADLINE_EXCEEDED"
    server.reset()
    silent.set()
    assert (await client.retrieve(segments(1), PRINCIPAL, SESSION)).results[0].allowed
    assert server.streams == 1


async def test_a_slow_frame_is_late_alone_on_a_stream_that_lives(client: AsyncClient, server: ScriptedServer) -> None:
    """A frame past its deadline is withheld, and the stream that answers others stays."""

    def script(frame: Frame, _: grpc.ServicerContext) -> Iterator[Answer]:
        if frame.check.segments[0].id != "t0":
            yield Answer(frame_id=frame.frame_id, response=check_response(frame.check))

    server.frame_script = script
    slow = asyncio.create_task(client.retrieve(_asked(0), PRINCIPAL, SESSION, deadline_s=0.5))
    while not slow.done():
        assert (await client.retrieve(_asked(1), PRINCIPAL, SESSION)).results[0].allowed
    answer = await slow
    assert answer.everything_withheld
    assert answer.error is not None
    assert answer.error.code == "DEADLINE_EXCEEDED"
    assert server.streams == 1


def test_a_client_serves_one_loop_after_another(server: ScriptedServer) -> None:
    """A line belongs to the loop that opened it; under another loop the client opens its own."""
    for stream in (False, True):
        client = AsyncClient(server.target, stream=stream, deadline_s=10.0)
        for _ in range(2):
            answer = asyncio.run(client.retrieve(segments(), PRINCIPAL, SESSION))
            assert all(result.allowed for result in answer)
        asyncio.run(client.close())
