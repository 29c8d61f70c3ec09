"""A sidecar that answers what no client may trust: the service writes nothing of the segment that it is about."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import grpc
import pytest

from discreet.v1 import disclosure_pb2
from tests.client.answers import Reply, Request, commit_response, result_of
from tests.client.scripted import ScriptedServer
from tests.client.test_hostile_answers import ALONE, COMMIT
from tests.e2e.streaming.stage import Part, Script, Stage, service
from tests.e2e.streaming.wire import Wire

NAMES = ("Pa", "Qb", "Rc")
Spoil = Callable[[disclosure_pb2.CommitResponse], object]


def _of_result(spoil: Callable[[disclosure_pb2.SegmentResult], object]) -> Spoil:
    return lambda reply: spoil(result_of(reply, 0))


def _of_entry(spoil: Callable[[disclosure_pb2.CommitResult], object]) -> Spoil:
    return lambda reply: spoil(reply.results[0])


WHOLE: dict[str, Spoil] = {
    "one result too few": lambda reply: reply.results.pop(),
    "one result too many": lambda reply: reply.results.append(reply.results[0]),
    "no results": lambda reply: reply.ClearField("results"),
    "another segment's id": lambda reply: setattr(reply.results[0].result, "segment_id", "other"),
    "no token": lambda reply: reply.ClearField("token"),
    "no policy": lambda reply: reply.ClearField("policy"),
}
SPOILS: dict[str, Spoil] = {
    **{name: _of_result(spoil) for name, spoil in ALONE.items()},
    **{f"entry: {name}": _of_entry(spoil) for name, spoil in COMMIT.items()},
    **{f"whole: {name}": spoil for name, spoil in WHOLE.items()},
}


@pytest.fixture
async def stage(place: Path) -> AsyncIterator[tuple[Stage, ScriptedServer]]:
    """The service on a sidecar whose answers a test writes."""
    server = ScriptedServer(f"unix:{place}/scripted.sock")
    parts = [Part(tuple(f"{name}{at}x" for at in range(5)), f"handbook/{name}") for name in NAMES]
    async with service(place, server.target, Script(parts), deadline_s=10.0) as found:
        yield found, server
    server.stop()


async def test_what_is_odd_lets_no_byte_out(stage: tuple[Stage, ScriptedServer]) -> None:
    """POL-03, B3, F13, DSC-01: for every oddity an answer, read from a raw socket; the public segments arrive."""
    running, server = stage
    first, secret, last = running.script.parts
    for name, spoil in SPOILS.items():
        server.script = _spoiling(secret.record_id, spoil)
        wire = await _answered(running)
        assert [event.name for event in wire.events] == ["shown", "withheld", "shown", "end"], name
        assert (wire.events[0].text, wire.events[2].text) == (first.text, last.text)
        assert len(wire.events[1].text) > 10
        for piece in secret.pieces:
            assert piece.encode() not in wire.raw, name
            assert piece.encode() not in running.stored(), name


async def _answered(running: Stage) -> Wire:
    """A whole answer, whose segments are committed one by one."""
    asked: list[Wire] = []
    running.script.at["begun", 1] = lambda: asked[0].has(1)
    running.script.at["begun", 2] = lambda: asked[0].has(2)
    asked.append(await running.ask(os.urandom(4).hex()))
    await asked[0].end()
    return asked[0]


def _spoiling(record_id: str, spoil: Spoil) -> Callable[[Request, grpc.ServicerContext], Reply]:
    """A script that commits everything, and spoils the answer to what rests on the record."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        assert isinstance(request, disclosure_pb2.CommitRequest)
        reply = commit_response(request)
        if any(binding.record_id == record_id for segment in request.segments for binding in segment.bindings):
            assert len(request.segments) == 1
            spoil(reply)
        return reply

    return script
