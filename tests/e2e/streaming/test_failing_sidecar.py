"""The sidecar dies, stands still, or the line to it breaks in the middle of a stream: withheld, and told later."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from discreet.client import Binding, Segment
from discreet.v1 import common_pb2, index_pb2
from tests.e2e.streaming.between import CutLine
from tests.e2e.streaming.stage import READER, RULES, Part, Script, Stage, service
from tests.e2e.streaming.wire import Event, Wire
from tests.server.messages import digest, document, ref
from tests.server.support import POLICY, TENANT, Lines, Spawned, eventually, make_repo, spawn

NAMES = ("Pa", "Qb", "Rc", "Sd")


@dataclass(slots=True)
class Own:
    """A sidecar of the test's own, a line to it that can be cut, and the service that asks through it."""

    place: Path
    server: Spawned
    line: CutLine
    stage: Stage
    answer: str

    async def again(self) -> None:
        """Starts another sidecar on the same database, under the same address."""
        self.server = await spawn(self.place, self.place / "policy")

    @property
    def lines(self) -> Lines:
        """What operators and auditors say to the sidecar."""
        return self.server.lines

    async def begin(self, **headers: str) -> Wire:
        """Asks for the answer."""
        return await self.stage.ask(self.answer, **headers)

    async def committed(self) -> int:
        """How many segments of the answer the audit has as allowed by a commit."""
        found = await self.lines.auditor.decisions(tenant=TENANT, principal_id=READER)
        return sum(d.answer_id == self.answer and d.decision.verdict == common_pb2.VERDICT_ALLOW for d in found)


@asynccontextmanager
async def _own(place: Path, deadline_s: float) -> AsyncIterator[Own]:
    # Verdicts hold long, so that a slow machine does not end them on the way.
    patient = POLICY["discreet.yaml"].replace("use-within: 2s", "use-within: 1m")
    make_repo(place / "policy", {**POLICY, "rules.yaml": RULES, "discreet.yaml": patient})
    server = await spawn(place, place / "policy")
    line = CutLine(place / "line.sock", place / "s" / "agent.sock")
    await line.open()
    parts = [Part(tuple(f"{name}{at}x" for at in range(5)), f"handbook/{name.lower()}") for name in NAMES]
    await server.lines.collector.put(*(document(part.record_id) for part in parts))
    script = Script(parts)
    own: Own | None = None
    try:
        async with service(place, line.target, script, deadline_s=deadline_s) as stage:
            own = Own(place, server, line, stage, f"answer-{os.urandom(4).hex()}")
            await eventually(lambda: _answers(own))
            yield own
    finally:
        await line.cut()
        await (own.server if own is not None else server).terminate()


def _is_withheld(own: Own, event: Event, number: int, wire: Wire) -> None:
    """The built-in text is in the part's place, no byte of it was sent or stored, and nobody comes back behind it."""
    assert (event.name, event.id) == ("withheld", "")
    assert "could not be checked" in event.text
    for piece in own.stage.script.parts[number].pieces:
        assert piece.encode() not in wire.raw
        assert piece.encode() not in own.stage.stored()


def _texts(own: Own) -> list[str]:
    return [part.text for part in own.stage.script.parts]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_a_sidecar_that_dies_or_stands_still_lets_nothing_out_and_later_tells(place: Path, how: int) -> None:
    """POL-16, A12, B3, F13: from then on every segment is withheld; back again, the resume shows what may be shown."""
    async with _own(place, deadline_s=2.0) as own:

        async def stricken() -> None:
            await wire.has(1)
            own.server.process.send_signal(how)
            if how == signal.SIGKILL:
                await own.server.process.wait()

        own.stage.script.at["written", 1] = stricken
        wire = await own.begin()
        events = await wire.end()
        assert events[0].text == _texts(own)[0]
        for number in range(1, 4):
            _is_withheld(own, events[number], number, wire)
        assert events[4].name == "end"
        if how == signal.SIGKILL:
            await own.again()
        else:
            own.server.process.send_signal(signal.SIGCONT)
        await eventually(lambda: _answers(own))
        back = await own.begin(last_event_id=events[0].id)
        told = await back.end()
        assert [event.text for event in told] == [*_texts(own)[1:], ""]
        assert [event.segment for event in told[:3]] == [event.segment for event in events[1:4]]
        whole = await own.begin()
        assert [event.text for event in await whole.end()] == [*_texts(own), ""]


async def _answers(own: Own) -> bool:
    """Whether the service's client gets answers again."""
    chunk = Segment("s", bindings=(Binding("handbook/pa", "1", digest("handbook/pa@1")),))
    return not (await own.stage.client.retrieve([chunk], READER, "another session")).everything_withheld


@pytest.mark.parametrize("then", ["nothing", "revoke", "suspend"])
async def test_a_line_cut_in_the_middle_of_a_commit_withholds_and_a_resume_gives_the_truth(
    place: Path, then: str
) -> None:
    """B6, F13, DSC-05: the commit is in the ledger and its answer is lost: not shown, not twice there, told later."""
    async with _own(place, deadline_s=2.0) as own:

        async def deaf() -> None:
            await wire.has(1)
            own.line.deaf = True
            cutting.append(asyncio.create_task(_cut_after_the_commit(own)))

        cutting: list[asyncio.Task[None]] = []
        own.stage.script.at["written", 1] = deaf
        own.stage.script.at["begun", 2] = lambda: wire.has(2)
        wire = await own.begin()
        await wire.has(2)
        await cutting[0]
        assert await own.committed() == 2
        _is_withheld(own, wire.events[1], 1, wire)
        await own.line.open()
        events = await wire.end()
        await eventually(lambda: _answers(own))
        assert [event.name for event in events] == ["shown", "withheld", events[2].name, events[3].name, "end"]
        if then != "nothing":
            await _change(own, then)
        back = await own.begin(last_event_id=events[0].id)
        told = await back.end()
        assert told[0].segment == events[1].segment
        if then == "nothing":
            assert told[0].text == _texts(own)[1]
        else:
            assert told[0].name == ("purged" if then == "revoke" else "withheld")
            for piece in own.stage.script.parts[1].pieces:
                assert piece.encode() not in back.raw
                assert piece.encode() not in own.stage.stored()


async def _cut_after_the_commit(own: Own) -> None:
    async def committed() -> bool:
        return await own.committed() == 2

    await eventually(committed)
    await own.line.cut()


async def _change(own: Own, then: str) -> None:
    record = ref("handbook/qb")
    await own.lines.operator.call(
        index_pb2.RevokeRetentionRequest(tenant=TENANT, record=record, reason="withdrawn", ticket="T-1")
        if then == "revoke"
        else index_pb2.SuspendRequest(tenant=TENANT, record=record, reason="looked into")
    )
