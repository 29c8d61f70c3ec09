"""The product's gates against a naive reading of the requirements, on random worlds."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.facts import Target
from discreet.policy.words import Effect, Moment, Reason, Verdict
from tests.policy.decide.oracle import Oracle
from tests.policy.decide.random_worlds import Maker, random_world
from tests.policy.decide.world import World, edit, holds, rule

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
    wanted = {Reason.NO_BINDING, Reason.NOT_RETRIEVED, Reason.SCOPE_EXPIRED, Reason.POLICY_ERROR, Reason.INCOMPLETE}
    never = wanted - set(seen)
    assert not never, "the worlds are too tame to test these"
    often = (Reason.NONE, Reason.RETENTION_REVOKED, Reason.LEGAL_HOLD, Reason.PARENT_UNUSABLE, Reason.STALE)
    assert min(seen[reason] for reason in (*often, Reason.BASIS_MISMATCH, Reason.FROZEN)) >= 20


def test_replays_agree_with_a_naive_reading_of_the_gates() -> None:
    """B1, B11, F6: by ledger id the purge is judged first, then whose entry it is, then every gate again."""
    for seed in range(300):
        world = random_world(seed)
        (segment,) = world.segments[:1]
        moment = Moment.EXPORT if seed % 2 else Moment.REPLAY
        committed = edit(world, segments=(segment,))
        held = committed.replayed(principal_id="ana", session_id="session-1", moment=moment)
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
        built_on = [ref for parent in segment.parents if parent in world.ledger for ref in world.ledger[parent].roots]
        behind = [ref for one in bound for ref in one.roots] + built_on
        roots = [*bound, *(records[ref] for ref in behind if ref in records)]
        revokes = [one.revoked or world.standing.revoked_sources.get(one.source_label) for one in roots]
        if result.verdict is Verdict.PURGE:
            assert [revoke for revoke in revokes if revoke is not None and revoke.purge_not_before <= world.now]
            assert (result.reason, bool(result.purge_order_id)) == (Reason.RETENTION_REVOKED, True)
        else:
            assert result.purge_order_id == ""


@given(st.integers(0, 2**32), st.integers(0, 2**32), st.booleans())
def test_nothing_but_a_revoke_purges(seed: int, other: int, stored: bool) -> None:
    """B8, F3: whatever stands and whatever policies say, with no revoke in force nothing is purged, at no moment."""
    world, more = random_world(seed), random_world(other)
    unrevoked = tuple(edit(one, revoked=None) for one in world.records)
    standing = edit(more.standing, revoked_sources={})
    for rules, snapshot in ((world.rules, world.snapshot), (more.rules, more.snapshot)):
        given = edit(world, records=unrevoked, standing=standing, rules=rules, snapshot=snapshot)
        asked = edit(given, segments=given.segments[:1]).replayed() if stored else given
        assert Verdict.PURGE not in {result.verdict for result in asked.ask().results}


@given(st.integers(0, 2**32), st.sampled_from(["kb-0", "kb-1", "news-1", "quote-0", "quote-1", "sum-1"]))
def test_a_hold_undoes_a_purge_and_opens_nothing(seed: int, record_id: str) -> None:
    """F3, B8: what is placed under a hold is shown to nobody and purged by nobody; what it does not cover stays."""
    world = random_world(seed)
    kept = edit(world, standing=edit(world.standing, holds={**world.standing.holds, **holds(Target("", record_id))}))
    for before, after in zip(world.ask().results, kept.ask().results, strict=True):
        assert after.verdict in {before.verdict, Verdict.WITHHOLD}
        if (before.verdict, before.reason) != (after.verdict, after.reason):
            assert after.reason is Reason.LEGAL_HOLD


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
