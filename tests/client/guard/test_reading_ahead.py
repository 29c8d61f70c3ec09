"""Under asyncio a guard reads ahead a bounded amount; whatever ends a stream leaves no task and lets nothing out."""

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc
import pytest

from discreet.client import AsyncClient, AsyncGuard, Cutting, Delta, End, Limits, by_agent
from tests.client.answers import Reply, Request, well_formed
from tests.client.asking import ANSWER, PRINCIPAL, SESSION, binding
from tests.client.guard.guarding import SECRET, Item, answer_of, later, paragraph, text_of
from tests.client.guard.test_streaming import refusing
from tests.client.scripted import ScriptedServer


def guard_of(client: AsyncClient, **limits: int) -> AsyncGuard:
    """A guard whose segments end where the agent says so."""
    cutting = Cutting(by_agent, limits=Limits(**limits))
    return client.guard(principal=PRINCIPAL, session_id=SESSION, answer_id=ANSWER, cutting=cutting)


@pytest.fixture
async def client(server: ScriptedServer) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(server.target, deadline_s=20.0) as found:
        yield found


class Source:
    """A model that writes segments without end, and counts them; closed when it is told so."""

    def __init__(self, size: int = 1) -> None:
        self.written = 0
        self.closed = False
        self.size = size

    async def __call__(self) -> AsyncIterator[Item]:
        try:
            while True:
                for _ in range(8):
                    await asyncio.sleep(0)
                self.written += 1
                yield Delta("x" * self.size, (binding(),))
                yield End(segment_id=f"s{self.written}")
        finally:
            self.closed = True


def others() -> set[str]:
    """What runs besides the test: coroutines by name, those of gRPC left out."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    names = {getattr(task.get_coro(), "__qualname__", "") for task in tasks}
    return {name for name in names if "AsyncHeldStream._read" in name or "Source" in name}


async def _until_still(source: Source) -> int:
    """How many segments were written when the source was not asked for more any longer."""
    before = -1
    while before != source.written:
        before = source.written
        for _ in range(200):
            await asyncio.sleep(0)
    return before


async def _until_alone() -> None:
    """Returns when nothing of a stream runs any more."""
    for _ in range(10_000):
        if not others():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"still there: {others()}")


@pytest.mark.parametrize("limits, size, ahead", [({"segments_max": 3}, 1, 3), ({"bytes_max": 100}, 40, 3)])
async def test_a_slow_consumer_holds_the_model_up(
    client: AsyncClient, limits: dict[str, int], size: int, ahead: int
) -> None:
    """F13: at most so many segments, or so many bytes and a segment, are held; one more is read when one leaves."""
    source = Source(size)
    async with guard_of(client, **limits).stream(source()) as pieces:
        assert await _until_still(source) == ahead
        for taken in range(1, 4):
            assert (await anext(pieces)).segment_id == f"s{taken}"
            assert await _until_still(source) == ahead + taken
    assert (source.closed, others()) == (True, set())


async def test_what_is_ready_together_is_committed_together(client: AsyncClient, server: ScriptedServer) -> None:
    """F13: text that came while nobody asked goes in one call, within the limits."""
    source = Source()
    async with guard_of(client, segments_max=3).stream(source()) as pieces:
        await _until_still(source)
        for _ in range(3):
            await anext(pieces)
    assert [segment.id for segment in server.asked[0].segments] == ["s1", "s2", "s3"]


async def test_text_is_read_while_a_commit_is_under_way(client: AsyncClient, server: ScriptedServer) -> None:
    """F13: the model is not held up by the sidecar, within the limits."""
    asked, go_on = threading.Event(), threading.Event()

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        asked.set()
        go_on.wait(20)
        return well_formed(request)

    server.script = script
    source = Source()
    async with guard_of(client, segments_max=5).stream(source()) as pieces:
        first = asyncio.ensure_future(anext(pieces))
        await asyncio.to_thread(asked.wait, 10)
        assert await _until_still(source) == 5
        go_on.set()
        assert (await first).allowed


@pytest.mark.parametrize("when", ["before", "within a commit"])
async def test_a_cancelled_consumer_leaves_no_task_and_gets_nothing(
    client: AsyncClient, server: ScriptedServer, when: str
) -> None:
    """F13: cancelled while it waits for text or for the sidecar; what was held never leaves."""
    asked, released = threading.Event(), []

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        asked.set()
        server.over.wait(20)
        return well_formed(request)

    server.script = script
    waiting = asyncio.Event()

    async def words() -> AsyncIterator[Item]:
        yield Delta(SECRET[0], (binding(),))
        if when != "before":
            yield End()
        waiting.set()
        await asyncio.Event().wait()

    async def consume() -> None:
        async with guard_of(client).stream(words()) as pieces:
            released.extend([piece async for piece in pieces])

    consumer = asyncio.create_task(consume())
    await waiting.wait()
    if when != "before":
        await asyncio.to_thread(asked.wait, 10)
    consumer.cancel()
    with pytest.raises(asyncio.CancelledError):
        await consumer
    assert (released, others()) == ([], set())
    server.over.set()


async def test_a_consumer_may_give_up_waiting_and_ask_again(client: AsyncClient, server: ScriptedServer) -> None:
    """F13, B6: a commit that nobody waited for is repeated under its key, and the piece leaves once, in its order."""
    asked, go_on = threading.Event(), threading.Event()

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        asked.set()
        go_on.wait(20)
        return well_formed(request)

    server.script = script
    async with guard_of(client).stream(later(answer_of("s0", "s1"))) as pieces:
        waiting = asyncio.ensure_future(anext(pieces))
        await asyncio.to_thread(asked.wait, 10)
        waiting.cancel()
        await asyncio.wait([waiting])
        go_on.set()
        assert [piece.segment_id async for piece in pieces] == ["s0", "s1"]
    assert server.asked[0].segments[0] == server.asked[1].segments[0]


async def test_an_error_that_comes_during_a_commit_lets_nothing_out(
    client: AsyncClient, server: ScriptedServer
) -> None:
    """DSC-01, F13: the commit that is under way succeeds, and what it allowed does not leave any more."""
    asked, go_on, failed = threading.Event(), threading.Event(), asyncio.Event()

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        asked.set()
        go_on.wait(20)
        return well_formed(request)

    server.script = script

    async def words() -> AsyncIterator[Item]:
        for item in paragraph("s0"):
            yield item
        await asyncio.to_thread(asked.wait, 10)
        failed.set()
        raise KeyError("the model failed")

    async with guard_of(client).stream(words()) as pieces:
        first = asyncio.ensure_future(anext(pieces))
        await failed.wait()
        await _until_alone()
        go_on.set()
        with pytest.raises(KeyError, match="the model failed"):
            await first
        with pytest.raises(KeyError):
            await anext(pieces)
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)
    assert others() == set()


async def test_a_source_that_is_cancelled_ends_the_stream_with_an_error(client: AsyncClient) -> None:
    """F13: an answer that was cut off is not taken for one that ended."""

    async def words() -> AsyncIterator[Item]:
        yield Delta(SECRET[0], (binding(),))
        raise asyncio.CancelledError

    async with guard_of(client).stream(words()) as pieces:
        with pytest.raises(RuntimeError, match="source of the text was cancelled"):
            await anext(pieces)


async def test_a_consumer_that_is_dropped_without_a_word_leaves_no_task(client: AsyncClient) -> None:
    """F13: a server that lets go of a response's generator ends the stream beneath it."""
    source = Source()

    async def body() -> AsyncIterator[str]:
        async with guard_of(client).stream(source()) as pieces:
            async for piece in pieces:
                yield piece.text

    texts = body()
    assert await anext(texts) == "x"
    assert others() != set()
    del texts
    gc.collect()
    await _until_alone()
    assert source.closed


async def test_what_will_not_leave_is_forgotten(client: AsyncClient, server: ScriptedServer) -> None:
    """B3, F13: the text of a refused segment goes with its verdict, that of a stream that was left with the stream."""
    server.script = refusing("s0")
    guard = guard_of(client)
    async with guard.stream(later([*answer_of("s1", "s0", "s2"), Delta(SECRET[0], (binding(),))])) as pieces:
        for _ in range(100):  # until all of it was read
            await asyncio.sleep(0)
        assert (await anext(pieces)).text == text_of("s1")
        held = [one.text for one in pieces._flow.holding._held]
        assert held[:2] == ["", text_of("s2")]
        assert "s2-0" not in repr(pieces._flow.holding._held)
    assert repr(pieces._flow.holding._held) == "deque([])"
    assert pieces._flow._cutter.finish() == []


async def test_a_source_that_will_not_stop_adds_nothing(client: AsyncClient, server: ScriptedServer) -> None:
    """F13: text that comes after the end is not taken in."""
    begun = asyncio.Event()

    async def stubborn() -> AsyncIterator[Item]:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        for item in paragraph("s0"):
            yield item

    async with guard_of(client).stream(stubborn()) as pieces:
        await begun.wait()
    with pytest.raises(StopAsyncIteration):
        await anext(pieces)
    assert (server.asked, others()) == ([], set())


async def test_iterating_outside_its_context_is_an_error(client: AsyncClient) -> None:
    """F13: only within it is it certain that nothing is left behind; and a stream is entered once."""
    guard = guard_of(client)
    pieces = guard.stream(later(paragraph("s0")))
    with pytest.raises(RuntimeError, match="async with"):
        await anext(pieces)
    async with pieces:
        assert [piece.text async for piece in pieces] == [text_of("s0")]
        with pytest.raises(RuntimeError, match="entered before"):
            await pieces.__aenter__()


def test_limits_are_positive() -> None:
    """A guard that may hold nothing could let nothing out."""
    for wrong in ({"segments_max": 0}, {"bytes_max": 0}):
        with pytest.raises(ValueError, match="below 1"):
            Limits(**wrong)
    with pytest.raises(ValueError, match="below 1"):
        Cutting(chars_max=0)
    wrong_cutting: Any = by_agent
    with pytest.raises(TypeError, match="give Cutting"):
        AsyncClient("unix:/x.sock").guard(principal="a", session_id="s", answer_id="t", cutting=wrong_cutting)
