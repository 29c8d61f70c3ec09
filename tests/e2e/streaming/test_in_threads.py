"""The guard for code that waits in threads, on a real sidecar: what the service's tests show of its twin."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator

import pytest

from discreet.client import Binding, Client, Cutting, Delta, End, by_agent
from tests.e2e.streaming.stage import READER, SESSION, Changes, Sidecar
from tests.server.messages import digest
from tests.server.support import TENANT

WORDS = ("Zq7alpha ", "Zq7beta ", "Zq7gamma ", "Zq7delta.")
POINTS = ["before", "half", "written", "never", "after"]


def _now(sidecar: Sidecar, topic: str, change: str) -> None:
    """Makes a change from a plain thread; returns when it is made."""

    async def make() -> None:
        async with sidecar.lines() as lines:
            await getattr(Changes(sidecar, lines, topic), change)()

    asyncio.run(make())


@pytest.mark.parametrize("change", ["revoke", "suspend", "withdraw", "hold", "policy"])
def test_a_change_at_any_point_lets_nothing_out(sidecar: Sidecar, change: str) -> None:
    """F13, DSC-01, B4, B6, DSC-05: only text whose commit came first is shown, and after the change not again."""
    client = Client(f"unix:{sidecar.of('agent')}", tenant=TENANT, deadline_s=20.0)
    for point in POINTS:
        topic = os.urandom(4).hex()
        _now(sidecar, topic, "stock")
        secret = Binding(f"handbook/{topic}", "1", digest(f"handbook/{topic}@1"))
        plain = Binding("handbook/open", "1", digest("handbook/open@1"))

        def reach(where: str, point: str = point, topic: str = topic) -> None:
            if where == point:
                _now(sidecar, topic, change)

        def bits(plain: Binding = plain, secret: Binding = secret) -> Iterator[Delta | End]:
            yield from (Delta("Open one.", (plain,)), End())
            reach("before")
            for at, word in enumerate(WORDS):
                if at == 2:
                    reach("half")
                yield Delta(word, (secret,))
            reach("written")
            yield End()
            yield from (Delta("Open two.", (plain,)), End())

        guard = client.guard(principal=READER, session_id=SESSION, answer_id=topic, cutting=Cutting(by_agent))
        with guard.stream(bits()) as pieces:
            shown = list(pieces)
        stands = point in {"never", "after"}
        assert [piece.allowed for piece in shown] == [True, stands, True]
        assert (shown[1].text == "".join(WORDS)) is stands
        rows = [row for row in map(guard.stored, shown) if row is not None]
        reach("after")
        again = list(guard.resume(rows))
        assert [piece.allowed for piece in again] == [True, point == "never", True]
        assert again[1].purge is (change == "revoke" and point == "after")
        if point != "never":
            assert not any(word.strip() in repr(again) for word in WORDS)
    client.close()
