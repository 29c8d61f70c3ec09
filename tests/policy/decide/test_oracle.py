"""The product's gates against a naive reading of the requirements, on random worlds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.words import Effect, Moment, Reason, Verdict
from tests.policy.decide.oracle import Oracle
from tests.policy.decide.random_worlds import Maker, random_world
from tests.policy.decide.world import World, edit, rule

WORLDS = 1_200


def _expected(world: World) -> list[tuple[Verdict, Reason]]:
    return [Oracle(world, segment).answer() for segment in world.segments]


def _decided(world: World) -> list[tuple[Verdict, Reason]]:
    return [(result.verdict, result.reason) for result in world.ask().results]


def test_decisions_agree_with_a_naive_reading_of_the_gates() -> None:
    """A4, B2, B4, B8, B11: verdict and reason of some 2,400 random segments are those of a plain re-implementation."""
    seen: Counter[Reason] = Counter()
    for seed in range(WORLDS):
        world = random_world(seed)
        decided = _decided(world)
        assert decided == _expected(world), f"seed {seed}"
        seen.update(reason for _, reason in decided)
    assert seen.total() >= 2_000
    never = {Reason.NO_BINDING, Reason.NOT_RETRIEVED, Reason.SCOPE_EXPIRED, Reason.POLICY_ERROR} - set(seen)
    assert not never, "the worlds are too tame to test these"
    assert min(seen[Reason.NONE], seen[Reason.RETENTION_REVOKED], seen[Reason.STALE], seen[Reason.BASIS_MISMATCH]) > 20


def test_replays_agree_with_a_naive_reading_of_the_gates() -> None:
    """B1, B11: at REPLAY the purge is judged first, then whose entry it is, then every gate again."""
    for seed in range(200):
        world = random_world(seed)
        (segment,) = world.segments[:1]
        held = edit(world, segments=(segment,)).replayed(principal_id="ana", session_id="session-1")
        other = edit(held, session_id="session-2") if seed % 5 == 0 else held
        entry = held.ledger["L1"]
        expected = Oracle(other, segment, entry.roots).at_replay(entry.principal_id, entry.session_id)
        assert _decided(other) == [expected], f"seed {seed}"


def test_segments_are_judged_alone() -> None:
    """B4: what stands beside a segment changes nothing of its verdict, reason or gate."""
    for seed in range(200):
        world = random_world(seed)
        together = world.ask().results
        alone = [edit(world, segments=(segment,)).one() for segment in world.segments]
        assert list(together) == alone, f"seed {seed}"


@given(st.integers(0, 2**32))
def test_a_purge_follows_from_a_due_revoke_alone(seed: int) -> None:
    """B7, B8: over random facts and policies, PURGE means that something it rests on is under a due revoke."""
    world = random_world(seed)
    records = {one.ref: one for one in world.records}
    for segment, result in zip(world.segments, world.ask().results, strict=True):
        bound = [records[r] for b in segment.bindings if (r := (b.record_id, b.version)) in records]
        roots = [*bound, *(records[ref] for one in bound for ref in one.roots if ref in records)]
        due = [one for one in roots if one.revoked is not None and one.revoked.purge_not_before <= world.now]
        if result.verdict is Verdict.PURGE:
            assert due
            assert result.reason is Reason.RETENTION_REVOKED


@given(st.integers(0, 2**32), st.sampled_from(list(Effect)))
def test_no_policy_changes_a_purge_and_none_opens_a_gate(seed: int, effect: Effect) -> None:
    """B11, F12: with every rule and demand exchanged, what a gate before the rules stopped stays stopped, alike."""
    world = random_world(seed)
    exchanged = edit(world, rules=(rule("any", effect),))
    for before, after in zip(world.ask().results, exchanged.ask().results, strict=True):
        if before.reason not in {Reason.NONE, Reason.POLICY_RULE, Reason.POLICY_ERROR}:
            assert (after.verdict, after.reason) == (before.verdict, before.reason)
        assert (after.verdict is Verdict.PURGE) == (before.verdict is Verdict.PURGE)


@given(st.integers(0, 2**32), st.integers(0, 2**32))
def test_a_further_withholding_rule_never_opens(seed: int, other: int) -> None:
    """F12: adding a withholding rule, whatever its condition, never turns WITHHOLD or PURGE into ALLOW."""
    world = random_world(seed)
    stricter = edit(world, rules=(*world.rules, Maker(other).rule("one-more", Effect.WITHHOLD)))
    for before, after in zip(world.ask().results, stricter.ask().results, strict=True):
        assert after.verdict is not Verdict.ALLOW or before.verdict is Verdict.ALLOW


def test_a_worlds_moment_is_never_replay_before_it_is_committed() -> None:
    """The random worlds ask at the moments that take segments; the replays above are made from them."""
    assert {random_world(seed).moment for seed in range(40)} == {Moment.RETRIEVE, Moment.PUBLISH}
