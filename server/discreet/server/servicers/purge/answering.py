"""What an answer of a holder leads to: the rules, as a function of values. Knows no store and no message."""

from __future__ import annotations

from typing import Final, NamedTuple

from discreet.policy.facts import Micros
from discreet.policy.words import PurgeOutcome, PurgeState
from discreet.server.ports_authority import PartRow

STILL_HELD: Final = "still held"
"""The failure of an item that was said to be purged and was found again."""
STORE_LEEWAY_US: Final = 5_000_000
"""How far a holder's clock may lag: "not there" counts only so long after `store_by`."""
BACKOFF_US: Final = 60_000_000
BACKOFF_MAX_US: Final = 3_600_000_000
_DOUBLINGS_MAX: Final = 6

_DONE: Final = frozenset({PurgeState.PURGED, PurgeState.NOT_FOUND})
_NO_RECHECK: Final = "this item is not to be looked for now: answer PURGED, NOT_FOUND or FAILED"


class Step(NamedTuple):
    """Where an item stands after an answer, and when its holder is asked again."""

    state: PurgeState
    available_at: Micros
    recheck: bool = False
    failure: str = ""


class Unfit(NamedTuple):
    """The answer is none that this item asks for."""

    why: str


def step(
    part: PartRow, recheck_after: int | None, outcome: PurgeOutcome, reason: str, now: Micros
) -> Step | Unfit | None:
    """What the answer leads to; None where it changes nothing, since it was given before.

    An answer that something is still there always counts, whatever was said before: an item is never done while its
    holder says that it is not.
    """
    if outcome is PurgeOutcome.FAILED:
        return _failed(part, reason, now)
    if outcome is PurgeOutcome.PRESENT:
        return _present(part, now)
    if part.state in _DONE:
        return None
    if outcome is PurgeOutcome.ABSENT:
        asked = part.state is PurgeState.UNCONFIRMED and part.recheck and part.available_at <= now
        return Step(PurgeState.PURGED, now) if asked else Unfit(_NO_RECHECK)
    return _gone(part, recheck_after, outcome, now)


def _failed(part: PartRow, reason: str, now: Micros) -> Step | None:
    if part.state is PurgeState.FAILED and part.available_at > now:
        return None
    wait = min(BACKOFF_US << min(part.answers, _DOUBLINGS_MAX), BACKOFF_MAX_US)
    return Step(PurgeState.FAILED, Micros(now + wait), failure=reason)


def _present(part: PartRow, now: Micros) -> Step | Unfit | None:
    if part.state is PurgeState.OPEN and part.failure == STILL_HELD:
        return None
    if part.state in (PurgeState.OPEN, PurgeState.FAILED):
        return Unfit(_NO_RECHECK)
    return Step(PurgeState.OPEN, now, failure=STILL_HELD)


def _gone(part: PartRow, recheck_after: int | None, outcome: PurgeOutcome, now: Micros) -> Step | None:
    """PURGED or NOT_FOUND, of an item that is not done."""
    waiting = part.state is PurgeState.UNCONFIRMED and part.available_at > now
    if part.recheck or (waiting and outcome is PurgeOutcome.NOT_FOUND):
        return None
    store_by = part.item.store_by
    if outcome is PurgeOutcome.NOT_FOUND and store_by is not None and now < store_by + STORE_LEEWAY_US:
        return Step(PurgeState.UNCONFIRMED, Micros(store_by + STORE_LEEWAY_US))
    if recheck_after is not None:
        return Step(PurgeState.UNCONFIRMED, Micros(now + recheck_after), recheck=True)
    return Step(PurgeState.PURGED if outcome is PurgeOutcome.PURGED else PurgeState.NOT_FOUND, now)
