"""F8: every decision is in exactly one count; counts are bounded in memory, in a fixed order, the same in parts."""

from __future__ import annotations

import pytest

from discreet.policy.decision import SegmentDecision
from discreet.policy.replay import Cause, Change, Key, Outcome, Tally, Told, change_of, count_call
from discreet.policy.replay import tally as tallying
from discreet.policy.replay.changes import key_of, record_of
from discreet.policy.words import Effect, Moment, Reason, Verdict
from tests.policy.decide.faults import records
from tests.policy.decide.world import World, edit, record, revoke, rule, snapshot, world
from tests.policy.replay.recording import read_back, recorded, replayed

SHUT = rule("shut", Effect.WITHHOLD)


def _one(given: World, *rules: object) -> SegmentDecision:
    return edit(given, rules=rules).one()


def test_each_pair_of_outcomes_has_one_change() -> None:
    """F8: allowed first of all; PURGE on either side is told apart; the same verdict otherwise told is no silence."""
    allowed, withheld = _one(world(), rule("open")), _one(world(), rule("open"), SHUT)
    other = _one(world(), rule("open"), rule("also-shut", Effect.WITHHOLD))
    purged = records(revoked=revoke())(world()).one()
    assert (allowed.verdict, withheld.verdict, purged.verdict) == tuple(Verdict)
    expected = {
        (allowed, withheld): Change.NEWLY_WITHHELD, (withheld, allowed): Change.NEWLY_ALLOWED,
        (purged, withheld): Change.PURGE, (withheld, purged): Change.PURGE, (allowed, purged): Change.PURGE,
        (purged, allowed): Change.NEWLY_ALLOWED, (withheld, other): Change.OTHERWISE,
    }  # fmt: skip
    assert {pair: change_of(*pair) for pair in expected} == expected
    assert all(change_of(one, one) is None for one in (allowed, withheld, other, purged))


def test_what_no_row_holds_is_no_change() -> None:
    """F8: the wording of a text, times of use and receipts are not compared; a rule that only watches is."""
    given, worded = world(), _one(world(), rule("open"), SHUT)
    assert change_of(worded, worded._replace(text="other words")) is None
    assert change_of(given.one(), edit(given, snapshot=snapshot(use_within_ms=1)).one()) is None
    watched = _one(given, rule("open"), rule("watch", Effect.WITHHOLD, observe=True))
    assert change_of(_one(given, rule("open")), watched) is Change.OTHERWISE


def test_a_change_is_told_by_moment_label_and_both_sides() -> None:
    """F8: who, what and by which rule: the record that decided on the side that withholds, else the first bound one."""
    given = edit(world(record("kb-1"), record("kb-2", suspended=True)))
    before, after = given.one(), edit(given, records=(record("kb-1"), record("kb-2"))).one()
    assert key_of(Change.NEWLY_ALLOWED, Moment.PUBLISH, before, after) == Key(
        Change.NEWLY_ALLOWED, "PUBLISH", "wiki", Told("WITHHOLD", "SUSPENDED", ""), Told("ALLOW", "NONE", "open")
    )
    assert (record_of(before, after), record_of(after, before), record_of(after, after)) == ("kb-2", "kb-2", "kb-1")


def test_a_call_is_counted_decision_by_decision() -> None:
    """F8, B4: each in one count, with its principal and the id that explains it."""
    given = world()
    first, second = (edit(given.segments[0], id=name) for name in ("s1", "s2"))
    both = edit(given, segments=(first, edit(second, kind="other")))
    candidate = edit(both, rules=(rule("open"), edit(SHUT, kinds=frozenset({"other"}))))
    outcome = Outcome()
    call = read_back(recorded(both))
    count_call(outcome, call, replayed(both, candidate=candidate.policy))
    tally = outcome.decisions
    assert (tally.total, tally.unchanged, tally.count(Change.NEWLY_WITHHELD), tally.without_replay) == (2, 1, 1, 0)
    ((key, group),) = tally.ordered(Change.NEWLY_WITHHELD)
    assert (key.after.rule, group.examples, group.principals.counts) == ("shut", ["decision-1"], {"ana": 1})


def _key(number: int) -> Key:
    told = Told("WITHHOLD", Reason.POLICY_RULE.short, f"rule-{number}")
    return Key(Change.NEWLY_ALLOWED, "PUBLISH", "wiki", told, Told("ALLOW", "NONE", "open"))


def _filled(numbers: range) -> Tally:
    tally = Tally()
    for number in numbers:
        tally.changed(_key(number % 7), f"reader-{number % 11}", f"kb-{number % 5}", f"d-{number}")
        tally.same()
        tally.not_replayable(list(Cause)[number % 3], "ana", f"d-{number}")
    return tally


def test_parts_add_up_to_the_whole() -> None:
    """F8: in order, whatever the parts: counts, names, the first examples."""
    whole = _filled(range(300))
    for size in (1, 7, 100):
        parts = Tally()
        for start in range(0, 300, size):
            parts.merge(_filled(range(start, min(300, start + size))))
        assert parts == whole
    assert whole.total == 900
    assert [group.count for _, group in whole.ordered(Change.NEWLY_ALLOWED)] == [43] * 6 + [42]
    assert [cause for cause, _ in whole.ordered_causes()] == list(Cause)[:3]
    assert all(len(group.examples) == tallying.EXAMPLES_MAX for group in whole.groups.values())


@pytest.mark.parametrize("extra", [0, 1])
def test_more_groups_and_names_than_are_told_apart_are_counted(monkeypatch: pytest.MonkeyPatch, extra: int) -> None:
    """F8: at the limit all are told, one past it it is counted by its change, and nothing is lost from the total."""
    monkeypatch.setattr(tallying, "GROUPS_MAX", 3)
    monkeypatch.setattr(tallying, "NAMES_MAX", 4)
    tally, merged = Tally(), Tally()
    for number in range(3 + extra):
        tally.changed(_key(number), "ana", "", f"d-{number}")
    for number in range(4 + extra):
        tally.changed(_key(0), f"reader-{number}", "", "d")
    merged.merge(tally)
    merged.merge(Tally())
    for found in (tally, merged):
        assert (len(found.groups), found.overflow) == (3, {Change.NEWLY_ALLOWED: 1} if extra else {})
        assert found.count(Change.NEWLY_ALLOWED) == found.total == 7 + 2 * extra
        names = found.groups[_key(0)].principals
        assert (len(names.counts), names.others) == (4, 1 + extra)
