"""The guide on streaming holds: its code runs as it stands there, and its numbers are the client's."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest

from discreet.client import Delta, Stored, by_agent, by_paragraph, by_sentence
from discreet.client.cutting import SEGMENT_CHARS_MAX
from discreet.client.holding import (
    AHEAD_BYTES_MAX,
    AHEAD_SEGMENTS_MAX,
    UNDECIDED_BYTES_MAX,
    UNDECIDED_SEGMENTS_MAX,
)
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, purge, refuse, refuse_entry, result_of, well_formed
from tests.client.asking import ANSWER, PRINCIPAL, SESSION, binding
from tests.client.scripted import ScriptedServer
from tests.client.test_publishing import REFUSED_TEXT

GUIDE = Path(__file__).parents[3] / "docs/guides/streaming.md"


@dataclass
class Agent:
    """What the guide leaves to its reader: a model, a line to the user, a store."""

    sent: list[tuple[str, str]] = field(default_factory=list)
    rows: dict[str, Stored] = field(default_factory=dict)

    def names(self) -> dict[str, Any]:
        return {"generate": self.generate, "send": self.send, "store": self.store}

    async def generate(self, question: str) -> AsyncIterator[Delta]:
        for word in ("It ", "rose. ", "It ", "fell. ", "It ", "stayed."):
            yield Delta(word, (binding(),))

    async def send(self, segment_id: str, text: str) -> None:
        self.sent.append((segment_id, text))

    def store(self, row: Stored | None) -> None:
        if row is not None:
            self.rows[row.segment_id] = row


@pytest.fixture
def guide(server: ScriptedServer) -> Iterator[tuple[Agent, Any]]:
    """The guide's functions on the scripted server, run to their ends."""
    agent = Agent()
    names = agent.names()
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        code = block.replace("unix:/run/discreet/agent.sock", server.target)
        exec(compile(code, str(GUIDE), "exec"), names)
    with asyncio.Runner() as runner:
        yield agent, lambda name, *given: runner.run(names[name](*given))
        runner.run(names["client"].close())


def _refusing_the_second(request: Request, _: grpc.ServicerContext) -> Reply:
    reply = well_formed(request)
    if isinstance(reply, disclosure_pb2.CommitResponse):
        for entry in reply.results:
            if entry.result.segment_id.startswith("s2-"):
                refuse_entry(entry, common_pb2.REASON_SUPERSEDED)
    return reply


def test_the_guide_streams_and_comes_back(guide: tuple[Agent, Any], server: ScriptedServer) -> None:
    """F13, B3, B10, DSC-05: what is allowed is sent, stored and reported; of it, what may be shown later comes back."""
    agent, run = guide
    server.script = _refusing_the_second
    run("stream", "what happened?", PRINCIPAL, SESSION, ANSWER)
    assert [text for _, text in agent.sent] == ["It rose. ", REFUSED_TEXT, "It stayed."]
    assert [row.text for row in agent.rows.values()] == ["It rose. ", "", "It stayed."]
    assert [len(report.ledger_ids) for report in server.reports] == [2]
    first, second, third = agent.rows.values()

    def later(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        purge(result_of(reply, 0))
        refuse(result_of(reply, 1), common_pb2.REASON_SUSPENDED)
        return reply

    server.script = later
    agent.sent.clear()
    assert run("come_back", [first, second, third], second.segment_id, PRINCIPAL, SESSION, ANSWER)
    assert agent.sent == [
        (first.segment_id, REFUSED_TEXT),
        (third.segment_id, REFUSED_TEXT),
    ]
    assert [row.text for row in agent.rows.values()] == ["", "", "It stayed."]
    agent.sent.clear()
    assert not run("come_back", [first, second, third], "guessed", PRINCIPAL, SESSION, ANSWER)
    assert not run("come_back", [first, second, third], first.segment_id, "bo", SESSION, ANSWER)
    assert agent.sent == []


def test_the_numbers_of_the_guide_are_the_clients() -> None:
    """Limits are told where they are met."""
    text = GUIDE.read_text()
    assert f"{SEGMENT_CHARS_MAX:,} characters" in text
    assert f"at most {AHEAD_SEGMENTS_MAX} segments or {AHEAD_BYTES_MAX // 1024} KiB" in text
    assert f"at most {UNDECIDED_SEGMENTS_MAX} segments, {UNDECIDED_BYTES_MAX // 1024} KiB" in text
    for splitter in (by_agent, by_paragraph, by_sentence):
        assert f"`{splitter.__name__}`" in text
