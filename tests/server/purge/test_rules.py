"""What each answer leads to in each state, as a function of values."""

from __future__ import annotations

import itertools

import pytest

from discreet.policy.facts import Micros
from discreet.policy.words import PurgeItemKind, PurgeOutcome, PurgeState
from discreet.server.ports_authority import ItemRow, PartRow
from discreet.server.servicers.purge.answering import STILL_HELD, STORE_LEEWAY_US, Step, Unfit, step

NOW = Micros(1_000_000_000_000_000)
HOUR = 3_600_000_000
STORED = (PurgeState.OPEN, PurgeState.FAILED, PurgeState.UNCONFIRMED, PurgeState.PURGED, PurgeState.NOT_FOUND)
DONE = (PurgeState.PURGED, PurgeState.NOT_FOUND)


def part(
    state: PurgeState, *, available: int = 0, recheck: bool = False, store_by: int | None = None, failure: str = ""
) -> PartRow:
    """An item of a part. Times are from now on."""
    by = None if store_by is None else Micros(NOW + store_by)
    item = ItemRow("order", 1, PurgeItemKind.SEGMENT, "d", "l", store_by=by)
    return PartRow(item, "holder", state, Micros(NOW + available), NOW, 1, recheck, failure, None)


@pytest.mark.parametrize("state", STORED)
@pytest.mark.parametrize("outcome", list(PurgeOutcome))
def test_no_answer_but_a_good_one_makes_an_item_done(state: PurgeState, outcome: PurgeOutcome) -> None:
    """RET-08: over every state, time, recheck and store time: done only where the holder said that it is gone."""
    for available, recheck, store_by, after in itertools.product(
        (-1, 1), (False, True), (None, -HOUR, 1), (None, HOUR)
    ):
        found = part(state, available=available, recheck=recheck, store_by=store_by)
        led = step(found, after, outcome, "why", NOW)
        if not isinstance(led, Step) or led.state not in DONE:
            continue
        assert outcome in (PurgeOutcome.PURGED, PurgeOutcome.NOT_FOUND, PurgeOutcome.ABSENT)
        assert state not in DONE
        if outcome is PurgeOutcome.ABSENT:
            assert (state, recheck, available) == (PurgeState.UNCONFIRMED, True, -1)
        else:
            assert after is None
        if outcome is PurgeOutcome.NOT_FOUND:
            assert store_by != 1


@pytest.mark.parametrize("state", STORED)
def test_a_word_that_it_is_still_there_always_counts(state: PurgeState) -> None:
    """RET-08: FAILED and PRESENT open what was done."""
    assert step(part(state), None, PurgeOutcome.FAILED, "why", NOW) is not None
    led = step(part(state), None, PurgeOutcome.PRESENT, "", NOW)
    if state in (PurgeState.OPEN, PurgeState.FAILED):
        assert isinstance(led, Unfit)
    else:
        assert led == Step(PurgeState.OPEN, NOW, failure=STILL_HELD)
    assert step(part(PurgeState.OPEN, failure=STILL_HELD), None, PurgeOutcome.PRESENT, "", NOW) is None


def test_the_store_time_has_a_leeway_for_the_holders_clock() -> None:
    """RET-01: at the boundary "not there" does not count yet."""
    for store_by, wanted in (
        (-STORE_LEEWAY_US + 1, PurgeState.UNCONFIRMED),
        (-STORE_LEEWAY_US, PurgeState.NOT_FOUND),
        (None, PurgeState.NOT_FOUND),
    ):
        led = step(part(PurgeState.OPEN, store_by=store_by), None, PurgeOutcome.NOT_FOUND, "", NOW)
        assert isinstance(led, Step)
        assert led.state is wanted


def test_after_the_recheck_time_an_item_is_asked_for_by_its_digest() -> None:
    """F3: what the policy demands follows on either word that it is gone."""
    for outcome in (PurgeOutcome.PURGED, PurgeOutcome.NOT_FOUND):
        led = step(part(PurgeState.OPEN), HOUR, outcome, "", NOW)
        assert led == Step(PurgeState.UNCONFIRMED, Micros(NOW + HOUR), recheck=True)
