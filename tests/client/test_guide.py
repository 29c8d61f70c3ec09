"""The guide for agents holds: its code runs as it stands there, against a real server."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest

from discreet.client import Filtered, Kept
from discreet.v1 import common_pb2, disclosure_pb2
from tests.client.answers import Reply, Request, purge, refuse, refuse_entry, result_of, well_formed
from tests.client.asking import RECORD_DIGEST
from tests.client.scripted import ScriptedServer

GUIDE = Path(__file__).parents[2] / "docs/guides/agents.md"


@dataclass(frozen=True)
class Chunk:
    """What the guide's retriever finds."""

    record_id: str
    version: str = "v1"
    record_digest: str = RECORD_DIGEST
    place: str = "page 3"


@dataclass(frozen=True)
class Stored:
    """A segment as the guide's agent stores it."""

    ledger_id: str
    text: str = "stored text"


@dataclass
class Agent:
    """What the guide leaves to its reader: a retriever, a model, a line to the user, a store."""

    found: list[Chunk]
    sent: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    def names(self) -> dict[str, Any]:
        return {
            "search": lambda question: self.found,
            "generate": self.generate,
            "send": self.sent.append,
            "delete": lambda segment: self.deleted.append(segment.ledger_id),
        }

    def generate(self, question: str, found: Filtered[Chunk]) -> Iterator[tuple[str, list[Kept[Chunk]]]]:
        for kept in found:
            yield f"What {kept.candidate.record_id} says.", [kept]


@pytest.fixture
def agent(server: ScriptedServer) -> Iterator[tuple[Agent, dict[str, Any]]]:
    """The guide's functions, as its code defines them, on the scripted server."""
    mine = Agent([Chunk("a"), Chunk("b"), Chunk("c")])
    names = mine.names()
    for block in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL):
        code = block.replace("unix:/run/discreet/agent.sock", server.target)
        exec(compile(code, str(GUIDE), "exec"), names)
    yield mine, names
    names["client"].close()


def test_the_loop_shows_what_is_committed_and_fixed_texts_for_the_rest(
    agent: tuple[Agent, dict[str, Any]], server: ScriptedServer
) -> None:
    """B1, B3, B4, B12, F13: `b` is refused at RETRIEVE, `c` at the commit; the greeting is unbound talk."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        if isinstance(request, disclosure_pb2.CheckRequest):
            refuse(result_of(reply, 1), common_pb2.REASON_NOT_AVAILABLE)
        else:
            assert isinstance(reply, disclosure_pb2.CommitResponse)
            refuse_entry(reply.results[2], common_pb2.REASON_SUPERSEDED)
        return reply

    server.script = script
    mine, names = agent
    names["answer"]("what changed?", "ana", "session-1", "turn-1")
    assert mine.sent == ["Here is what I found.", "What a says.", "The policy's own text."]
    commit = server.asked[-1]
    bound = commit.segments[1].bindings[0]
    assert (bound.digest, bound.locator, bound.receipt) == (RECORD_DIGEST, "page 3", "receipt-0-0")
    assert bound.granted_under == "epoch.7.1"


def test_the_loop_says_one_fixed_text_where_everything_is_withheld(
    agent: tuple[Agent, dict[str, Any]], server: ScriptedServer
) -> None:
    """A17, F11: nothing is generated, nothing committed."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        for at in range(len(reply.results)):
            refuse(result_of(reply, at), common_pb2.REASON_NOT_AVAILABLE)
        return reply

    server.script = script
    mine, names = agent
    names["answer"]("what changed?", "ana", "session-1", "turn-1")
    assert mine.sent == ["The policy's own text."]
    assert len(server.asked) == 1


def test_history_is_shown_hidden_or_purged_by_verdicts_of_now(
    agent: tuple[Agent, dict[str, Any]], server: ScriptedServer
) -> None:
    """B7, B8, B10: only the explicit revoke deletes."""

    def script(request: Request, _: grpc.ServicerContext) -> Reply:
        reply = well_formed(request)
        refuse(result_of(reply, 1), common_pb2.REASON_SUSPENDED)
        purge(result_of(reply, 2))
        return reply

    server.script = script
    mine, names = agent
    names["show_again"]([Stored("l-0"), Stored("l-1"), Stored("l-2")], "ana", "session-1")
    assert mine.sent == ["stored text", "The policy's own text.", "The policy's own text."]
    assert mine.deleted == ["l-2"]
