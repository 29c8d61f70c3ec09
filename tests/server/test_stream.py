"""CheckStream: each frame decided by itself, bad ones failing alone; the frames themselves as bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.servicers.stream import FRAMES_UNDER_WAY_MAX
from discreet.server.wire.frames import joined, refused, split
from discreet.v1 import disclosure_pb2 as pb
from tests.server.support import CALL_S, Line, Running, binding, check, document, segment, verdicts

METHOD = "/discreet.v1.DisclosureService/CheckStream"


def frame(frame_id: int, request: pb.CheckRequest | None = None) -> bytes:
    """A frame's bytes."""
    return pb.CheckStreamRequest(frame_id=frame_id, check=request or check()).SerializeToString()


def opened(line: Line) -> grpc.aio.StreamStreamMultiCallable[bytes, bytes]:
    """The stream's method on a line."""
    return line.channel.stream_stream(METHOD)


async def ask(line: Line, frames: Iterable[bytes]) -> dict[int, pb.CheckStreamResponse]:
    """The answers of a stream by frame id."""
    call = opened(line)(_sent(frames), timeout=20)
    answers = [pb.CheckStreamResponse.FromString(data) async for data in call]
    assert await call.code() == grpc.StatusCode.OK
    assert len({one.frame_id for one in answers}) == len(answers)
    return {one.frame_id: one for one in answers}


async def _sent(frames: Iterable[bytes]) -> AsyncIterator[bytes]:
    for data in frames:
        yield data


async def test_frames_of_several_principals_are_answered_each_by_itself(running: Running) -> None:
    """Each frame has its own request id, principal and verdict."""
    await running.lines.collector.put(document(), document("handbook/staff", scopes=["staff"]))
    asked = {
        1: check(principal="ana"),
        2: check(segment("s1", binding("handbook/staff")), principal="bo"),
        3: check(principal="cy"),
    }
    answers = await ask(running.lines.agent, [frame(i, one) for i, one in asked.items()])
    found = {i: verdicts(one.response) for i, one in answers.items()}
    assert found == {1: [("ALLOW", "NONE")], 2: [("WITHHOLD", "NOT_AVAILABLE")], 3: [("ALLOW", "NONE")]}
    assert len({one.response.request_id for one in answers.values()}) == 3
    assert {one.principal_id for one in await running.lines.auditor.decisions()} == {"ana", "bo", "cy"}


async def test_a_bad_frame_fails_alone(running: Running) -> None:
    """Malformed, without an id, of another tenant, cut off.

    An error with the status for that frame, and the stream goes on.
    """
    await running.lines.collector.put(document())
    frames = [
        frame(1),
        frame(2, check(locale="fr")),
        frame(3) + b"\xb8\x3e\x01",
        b"\x08\x04",
        b"\x08\x05\x12\xff\x01",
        frame(6, check(segment("s", binding(locator="x\u200b")))),
        frame(7),
    ]
    answers = await ask(running.lines.agent, frames)
    assert {i for i, one in answers.items() if one.WhichOneof("outcome") == "response"} == {1, 7}
    assert {one.error.code for i, one in answers.items() if i not in {1, 7}} == {
        grpc.StatusCode.INVALID_ARGUMENT.value[0]
    }
    assert answers[2].error.message.startswith("locale: ")
    assert answers[6].error.message.startswith("segments[0].bindings[0].locator: ")


async def test_frames_without_an_id_are_refused(running: Running) -> None:
    """An answer that could not be matched is worth nothing."""
    answers = await ask(running.lines.agent, [pb.CheckStreamRequest(check=check()).SerializeToString()])
    assert answers[0].error.message.startswith("frame_id: ")


async def test_many_more_frames_than_run_side_by_side_are_all_answered(running: Running) -> None:
    """One past the bound and far past it: held back, not dropped."""
    await running.lines.collector.put(document())
    count = FRAMES_UNDER_WAY_MAX * 3 + 1
    answers = await ask(running.lines.agent, (frame(i) for i in range(1, count + 1)))
    assert set(answers) == set(range(1, count + 1))
    assert all(verdicts(one.response) == [("ALLOW", "NONE")] for one in answers.values())


async def test_an_agents_stream_is_no_operators(running: Running) -> None:
    """The method table holds for streams."""
    call = opened(running.lines.operator)(_sent([frame(1)]), timeout=CALL_S)
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        [one async for one in call]
    assert caught.value.code() == grpc.StatusCode.PERMISSION_DENIED


async def test_a_stream_ends_with_the_drain_and_frames_under_way_are_answered(running: Running) -> None:
    """RPC-09: an open stream does not hold the server up; what was asked before is answered."""
    await running.lines.collector.put(document())
    sending: asyncio.Queue[bytes] = asyncio.Queue()

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield await sending.get()

    call = opened(running.lines.agent)(endless(), timeout=20)
    answers = call.__aiter__()
    sending.put_nowait(frame(1))
    first = pb.CheckStreamResponse.FromString(await anext(answers))
    assert verdicts(first.response) == [("ALLOW", "NONE")]
    methods = running.server.methods
    assert methods is not None
    methods.streaming.drain()
    assert [one async for one in answers] == []
    assert await call.code() == grpc.StatusCode.OK


@given(st.integers(1, 2**64 - 1), st.binary(max_size=300))
def test_frames_are_cut_and_joined_as_protobuf_does(frame_id: int, payload: bytes) -> None:
    """The bytes are those that the generated classes read and write."""
    reply = pb.CheckResponse(request_id=payload.hex()).SerializeToString()
    message = pb.CheckStreamResponse.FromString(joined(frame_id, reply))
    assert (message.frame_id, message.response.request_id) == (frame_id, payload.hex())
    sent = pb.CheckStreamRequest(frame_id=frame_id, check=pb.CheckRequest(session_id=payload.hex()))
    cut = split(sent.SerializeToString())
    assert (cut.frame_id, cut.problem) == (frame_id, None)
    assert cut.check == sent.check.SerializeToString()


@given(st.binary(max_size=60))
def test_no_bytes_break_the_cutting(data: bytes) -> None:
    """Random bytes are a frame with a problem, or a frame."""
    cut = split(data)
    assert cut.problem is not None or (cut.frame_id > 0 and cut.check is not None)
    assert pb.CheckStreamResponse.FromString(refused(cut.frame_id, 3, "why")).frame_id == cut.frame_id
