"""One read for all who wait: how heads are read on PostgreSQL, tried with a read that a test lets go on."""

import asyncio

import pytest

from discreet.server.ports import StoreError
from discreet.server.stores.shared_read import SharedRead


class Reads:
    """Numbers its reads; each goes on when it is let."""

    def __init__(self) -> None:
        self.begun = 0
        self.gates: list[asyncio.Event] = []
        self.failing = False

    async def read(self) -> int:
        self.begun += 1
        number, gate = self.begun, asyncio.Event()
        self.gates.append(gate)
        await gate.wait()
        if self.failing:
            raise ConnectionError(f"read {number} failed")
        return number


async def turn() -> None:
    """Lets every task run up to where it waits."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_those_who_asked_before_it_was_sent_share_a_read() -> None:
    """B6: nobody gets an answer that was under way before the question; later ones wait for the next read, together."""
    reads = Reads()
    shared = SharedRead(reads.read)
    early = [asyncio.create_task(shared()) for _ in range(50)]
    await turn()
    assert reads.begun == 1
    late = [asyncio.create_task(shared()) for _ in range(50)]
    await turn()
    assert reads.begun == 1
    reads.gates[0].set()
    assert set(await asyncio.gather(*early)) == {1}
    await turn()
    assert reads.begun == 2
    assert not any(one.done() for one in late)
    reads.gates[1].set()
    assert set(await asyncio.gather(*late)) == {2}
    await turn()
    assert reads.begun == 2


async def test_a_failed_read_fails_those_who_shared_it_and_no_others() -> None:
    """A12: an error is told to all who waited for it; the next read is tried afresh."""
    reads = Reads()
    shared = SharedRead(reads.read)
    first = [asyncio.create_task(shared()) for _ in range(3)]
    await turn()
    second = asyncio.create_task(shared())
    reads.failing = True
    reads.gates[0].set()
    outcomes = await asyncio.gather(*first, return_exceptions=True)
    assert [str(one) for one in outcomes] == ["read 1 failed"] * 3
    reads.failing = False
    await turn()
    reads.gates[1].set()
    assert await second == 2


async def test_a_caller_that_gives_up_takes_nobody_with_it() -> None:
    """A deadline of one caller does not end the read that others wait for."""
    reads = Reads()
    shared = SharedRead(reads.read)
    callers = [asyncio.create_task(shared()) for _ in range(3)]
    await turn()
    callers[0].cancel()
    await turn()
    reads.gates[0].set()
    outcomes = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(one) for one in outcomes] == [asyncio.CancelledError, int, int]


async def test_closing_ends_the_read_under_way() -> None:
    """Nobody waits for ever for a store that is closed."""
    shared = SharedRead(Reads().read)
    early = asyncio.create_task(shared())
    await turn()
    late = asyncio.create_task(shared())
    await turn()
    await shared.close()
    for caller in (early, late):
        with pytest.raises(StoreError, match="closed"):
            await caller
