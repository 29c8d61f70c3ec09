"""F8: under the revision that made it, a decision comes out byte by byte, or it is not replayable: never changed."""

from __future__ import annotations

from collections import Counter

import pytest

from discreet.policy.codec.recorded import agreement
from discreet.policy.decision import Decided
from discreet.policy.replay import Cause, Under, change_of, replay, wants
from discreet.policy.replay import play as playing
from discreet.policy.words import Moment, Verdict
from tests.policy.decide.faults import FAULTS, Fault, passing
from tests.policy.decide.random_worlds import random_world
from tests.policy.decide.world import World, at, edit, figure_world, record, world
from tests.policy.replay.recording import committed, kept, read_back, recorded, replayed

WORLDS = 300


def _ledger_world(seed: int) -> World:
    """A world of the seed, its first segment committed and asked for again."""
    made = random_world(seed)
    one = edit(made, segments=made.segments[:1])
    return one.replayed(moment=Moment.EXPORT if seed % 2 else Moment.REPLAY)


@pytest.mark.parametrize("of", [random_world, _ledger_world])
def test_random_calls_come_out_byte_by_byte(of: object) -> None:
    """F8, A4: every gate, at every moment, on worlds that are mostly in order: what is decided again is what was."""
    assert callable(of)
    causes: Counter[Cause | None] = Counter()
    verdicts: Counter[Verdict] = Counter()
    for seed in range(WORLDS):
        given = of(seed)
        for one in replayed(given):
            causes[one.cause] += 1
            if one.cause is None:
                assert one.before is not None
                assert one.after is not None
                assert change_of(one.before, one.after) is None
                verdicts[one.before.verdict] += 1
    assert set(causes) <= {None, Cause.CLAIMED_SCOPES}, causes
    assert causes[None] > 0.9 * causes.total()
    assert set(verdicts) == set(Verdict)


@pytest.mark.parametrize("fault", [None, *FAULTS], ids=str)
def test_every_fault_comes_out_byte_by_byte(fault: Fault | None) -> None:
    """F8: whatever stopped a segment, the whole row is written again from what it says and the facts of then."""
    given = passing() if fault is None else fault.change(passing())
    row = recorded(given)
    call = read_back(row)
    assert call.data == row
    decided = given.ask()
    found = agreement(call, decided, given.policy, kept(given).facts, facts_left_out=False)
    assert found == (True, (True,) * len(decided.results))
    assert [one.cause for one in replayed(given, row)] == [None] * len(decided.results)


def test_a_repeated_commit_is_judged_on_its_later_read() -> None:
    """F8, B6: what an earlier call had committed comes out as at REPLAY, on the facts and at the time of that read."""
    earlier = edit(world(record("kb-7"))).replayed()
    later = edit(earlier, now=at(5), records=(edit(record("kb-7"), revision=14, suspended=True),))
    fresh = edit(figure_world(), segments=(edit(figure_world().segments[0], id="s2"),))
    row, reads = committed(fresh, later)
    call = read_back(row)
    under = Under.of(fresh.policy)
    results = replay(call, under, under, [one.facts for one in reads])
    assert [(one.cause, one.before.verdict.short if one.before else "") for one in results] == [
        (None, "WITHHOLD"),
        (None, "ALLOW"),
    ]
    assert [want.ids.ledger_ids for want in wants(call)] == [(), ("L1",)]


def test_facts_that_are_not_those_of_the_row_are_noticed() -> None:
    """F8: another revision, state or grant than the row names is never the ground of a comparison."""
    given = figure_world()
    call, under = read_back(recorded(given)), Under.of(given.policy)
    (quote,) = given.records
    others = [
        edit(given, records=(edit(quote, revision=11),)),
        edit(given, records=()),
        edit(given, grants=edit(given.grants, revision=6)),
        edit(given, standing=edit(given.standing, revision=2)),
    ]
    for other in others:
        assert [one.cause for one in replay(call, under, under, [other.facts])] == [Cause.FACTS_MISSING]


def test_what_is_decided_otherwise_than_recorded_is_never_compared() -> None:
    """F8: a row that its own revision does not give, by a defect or a forger's hand, is not replayable."""
    given = figure_world()
    decided = given.ask()
    forged = Decided(tuple(one._replace(rule="another") for one in decided.results), decided.records_read)
    assert [one.cause for one in replayed(given, recorded(given, forged))] == [Cause.NOT_REPRODUCED]
    assert [one.cause for one in replayed(given, recorded(given, instance="instance-2"))] == [None]


def test_the_ids_asked_for_are_those_of_the_call() -> None:
    """F8: what a replay fetches is what the server fetched: each record once, in the order of the request."""
    for seed in range(50):
        given = random_world(seed)
        call = read_back(recorded(given))
        assert call.request == edit(given.request, principal=call.request.principal)
        (want,) = wants(call)
        assert want.ids == playing.ids_of(given.request)
