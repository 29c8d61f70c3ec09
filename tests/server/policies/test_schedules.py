"""Two followers in every order of their steps cannot publish an older commit over a newer, nor undo a rollback."""

from __future__ import annotations

from pathlib import Path

import pytest

from discreet.server.policies import follower
from discreet.server.policies.aside import aside
from discreet.server.policies.sources import Source
from discreet.server.ports import Store
from tests.contract.databases import Database
from tests.server.policies.schedules import (
    BACK,
    EVERY,
    FORWARD,
    SHARED,
    Stage,
    compiled_once,
    play_all,
    schedules,
)


@pytest.fixture(autouse=True)
def _compile_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same sets need not be compiled thousands of times."""
    monkeypatch.setattr(follower, "compile_files", compiled_once)


def test_the_schedules_are_every_one() -> None:
    """Each order of the steps, a move and a rollback, up to the followers' names: 8!/(3!3!2), 12!/(5!5!2)."""
    assert len(set(schedules(3))) == 560
    assert sum(1 for _ in schedules(5)) == len(set(schedules(5))) == 16_632
    assert all(sorted(one) == sorted("111222mr") for one in schedules(3))


async def test_orders_of_the_shared_steps_hold() -> None:
    """F2: head read, ref read, transaction, with a move of the ref and a rollback at every point.

    Every third of all 560 orders; `tests/server/policies/schedules.py` as a program plays each of them.
    """
    assert await play_all(SHARED, FORWARD, 3, lambda _: None) == 187


@pytest.mark.parametrize(
    "steps, moves_to, stride, count", [(SHARED, BACK, 5, 112), (EVERY, FORWARD, 211, 79), (EVERY, BACK, 311, 54)]
)
async def test_orders_of_every_step_hold(steps: tuple[str, ...], moves_to: str, stride: int, count: int) -> None:
    """F2, GIT-01: also paused before the files are read and before they are compiled, and with a forced push back.

    Orders spread over all 16,632; `tests/server/policies/schedules.py` as a program plays each of them.
    """
    assert await play_all(steps, moves_to, stride, lambda _: None) == count


@pytest.mark.parametrize("moves_to", [FORWARD, BACK])
async def test_orders_hold_on_every_store(database: Database, store: Store, moves_to: str, tmp_path: Path) -> None:
    """F2: the compare-and-set is that of each database: orders spread over those of the shared steps."""
    stage = Stage(store, tmp_path)
    for schedule in schedules(3, stride=37):
        await stage.play(schedule, SHARED, moves_to)


@pytest.mark.parametrize(
    "broken",
    [
        "the number in force is read after the ref",
        "pins are not looked at",
        "the compare-and-set is left out",
    ],
)
async def test_the_check_itself_finds_what_is_broken(monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """F12: with any of the three taken out of the follower, some order fails."""
    from discreet.server.policies import publication

    if broken == "pins are not looked at":
        monkeypatch.setattr(publication, "pin_of", lambda revision, pins: None)
    elif broken == "the compare-and-set is left out":
        whole = publication.publish

        def unchecked(index, signed, row, origin, expected, **more):  # type: ignore[no-untyped-def] # as the real one
            held = index.policies.in_force()
            return whole(index, signed, row, origin, held.number if held is not None else 0, **more)

        monkeypatch.setattr(publication, "publish", unchecked)
    else:
        # As if the head were read last: what is in force then is expected, whenever the ref was read.
        monkeypatch.setattr(follower.Policies, "_follow", _late_head)
    with pytest.raises(AssertionError, match=r"schedule [12mr]{8}, ref to"):
        for moves_to in (FORWARD, BACK):
            await play_all(SHARED, moves_to, 11, lambda _: None)


async def _late_head(self: follower.Policies, source: Source) -> bool:
    """The follower's look with its first two steps exchanged."""
    target = await aside(source.resolve)
    held = await self._store.policy_name(0)
    self._read()
    if self._handled is not None and target.key == self._handled.key and await self._settled(held):
        return True
    compiled = await self._compile(source, target)
    return compiled is None or await self._bring_into_force(target, compiled, held.number if held else 0)
